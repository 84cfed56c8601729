"""Kubernetes objects -> observed values: pods, Deployments, Jobs, as plain functions of their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from loadtest.api import names
from loadtest.api.conditions import Reason
from loadtest.core.observed import HelmJob, InjectorPod, Problem, TargetPod, Workload

Json = Mapping[str, Any]

_WAITING = {
    "ErrImagePull": "ImagePullFailed",
    "ImagePullBackOff": "ImagePullFailed",
    "InvalidImageName": "ImagePullFailed",
    "ErrImageNeverPull": "ImagePullFailed",
    "CrashLoopBackOff": "CrashLoop",
    "CreateContainerConfigError": "ContainerConfigError",
    "CreateContainerError": "ContainerConfigError",
    "RunContainerError": "ContainerConfigError",
}
"""The kubelet's reasons for a container that waits -> our reason."""

SCENARIO_CODE = 4
"""An injector ends with this code where it cannot use the scenario (`loadtest_injector.termination`)."""
_PER_UNIT = {"": Decimal(1000), "m": Decimal(1), "u": Decimal("1e-3"), "n": Decimal("1e-6")}
"""Thousandths of a core by the suffix of a quantity of CPU."""

FIRST_SIGNAL_CODE = 128
"""Exit codes from here on say that a signal ended the program, such as 137 for SIGKILL."""


def timestamp(text: str | None) -> datetime | None:
    """An RFC 3339 time of the API server."""
    return datetime.fromisoformat(text) if text else None


def problem_of(pod: Json) -> Problem | None:
    """Why a pod is not running, sorted into our reasons, or None where nothing is known to be wrong."""
    name = pod["metadata"]["name"]
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return Problem("Unschedulable", f"pod {name}: {condition.get('message', 'no node takes it')}")
    for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        state = container.get("state") or {}
        waiting = state.get("waiting") or {}
        if reason := _WAITING.get(waiting.get("reason", "")):
            return Problem(reason, f"pod {name}: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": "))
        ended = state.get("terminated") or {}
        if ended.get("exitCode"):
            why = ended.get("reason") or "Error"
            return Problem(
                "ContainerExited",
                f"pod {name}: container {container['name']} ended, {why}, exit code {ended['exitCode']}",
            )
    if status.get("phase") == "Failed":
        return Problem("PodFailed", f"pod {name}: {status.get('reason', 'Failed')} {status.get('message', '')}".strip())
    return None


def target_pod(pod: Json) -> TargetPod:
    """A pod of the target. The environment is that of all its containers, values from elsewhere left out."""
    meta, status = pod["metadata"], pod.get("status") or {}
    ready: Json = next((c for c in status.get("conditions") or () if c.get("type") == "Ready"), {})
    containers = status.get("containerStatuses") or ()
    return TargetPod(
        name=meta["name"],
        uid=meta["uid"],
        ready=ready.get("status") == "True",
        terminating=bool(meta.get("deletionTimestamp")),
        template_hash=(meta.get("labels") or {}).get("pod-template-hash", ""),
        env={
            variable["name"]: variable.get("value", "")
            for container in pod["spec"]["containers"]
            for variable in container.get("env") or ()
            if "valueFrom" not in variable
        },
        restarts=sum(container.get("restartCount", 0) for container in containers),
        ready_since=timestamp(ready.get("lastTransitionTime")) if ready.get("status") == "True" else None,
        problem=problem_of(pod),
        cpu_millicores=cpu_millicores(pod["spec"]["containers"]),
    )


def cpu_millicores(containers: Iterable[Json]) -> int | None:
    """CPU that they may count on, in thousandths of a core; None where one has neither limit nor request."""
    total = 0
    for container in containers:
        resources = container.get("resources") or {}
        text = (resources.get("limits") or {}).get("cpu") or (resources.get("requests") or {}).get("cpu")
        if text is None:
            return None
        number = text.rstrip("mun")
        total += int(Decimal(number) * _PER_UNIT[text[len(number) :]])
    return total


def workload(deployment: Json, pods: Iterable[Json]) -> Workload:
    """A Deployment with those of `pods` that its selector matches; pods that have ended do not count."""
    meta, spec, status = deployment["metadata"], deployment["spec"], deployment.get("status") or {}
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    failure = next(
        (
            Problem("RolloutInProgress", f"Deployment {meta['name']}: {condition.get('message', condition['reason'])}")
            for condition in status.get("conditions") or ()
            if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True"
        ),
        None,
    )
    return Workload(
        name=meta["name"],
        generation=meta.get("generation", 0),
        observed_generation=status.get("observedGeneration", 0),
        desired=spec.get("replicas", 1),
        total=status.get("replicas", 0),
        updated=status.get("updatedReplicas", 0),
        ready=status.get("readyReplicas", 0),
        pods=tuple(target_pod(pod) for pod in pods if matches(pod, wanted) and not has_ended(pod)),
        failure=failure,
    )


def matches(pod: Json, labels: Mapping[str, str]) -> bool:
    """Whether the pod carries all of `labels`."""
    own = pod["metadata"].get("labels") or {}
    return all(own.get(key) == value for key, value in labels.items())


def has_ended(pod: Json) -> bool:
    """Whether every container of the pod has ended for good."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def bare_workload(pods: Iterable[Json], name: str) -> Workload:
    """Pods that a label selector names, as one workload without a Deployment: complete as it stands."""
    live = tuple(target_pod(pod) for pod in pods if not has_ended(pod))
    count = len([pod for pod in live if not pod.terminating])
    return Workload(
        name=name,
        generation=0,
        observed_generation=0,
        desired=count,
        total=count,
        updated=count,
        ready=count,
        pods=live,
    )


def injector_pod(pod: Json) -> InjectorPod:
    """A Locust pod of ours, from its labels and status."""
    meta, status = pod["metadata"], pod.get("status") or {}
    labels = meta.get("labels") or {}
    running = status.get("phase") == "Running" and any(
        "running" in (container.get("state") or {}) for container in status.get("containerStatuses") or ()
    )
    return InjectorPod(
        name=meta["name"],
        position=int(labels.get(names.LABEL_POSITION, "0")),
        generation=int(labels.get(names.LABEL_GENERATION, "1")),
        index=int(worker) if (worker := labels.get(names.LABEL_WORKER, "")).isdigit() else -1,
        running=running,
        ended=has_ended(pod),
        terminating=bool(meta.get("deletionTimestamp")),
        ip=status.get("podIP", ""),
        created_at=timestamp(meta.get("creationTimestamp")),
        problem=_scenario_problem(pod) or problem_of(pod),
        crashed=any(0 < ended.get("exitCode", 0) < FIRST_SIGNAL_CODE for ended in _terminated(status)),
    )


def _terminated(status: Json) -> Iterable[Json]:
    for container in status.get("containerStatuses") or ():
        yield (container.get("state") or {}).get("terminated") or {}


def _scenario_problem(pod: Json) -> Problem | None:
    """What an injector said before it ended because it cannot use the scenario."""
    said = [
        ended["message"].strip()
        for ended in _terminated(pod.get("status") or {})
        if ended.get("exitCode") == SCENARIO_CODE and ended.get("message")
    ]
    return Problem(Reason.INVALID_SCENARIO, f"pod {pod['metadata']['name']}: {said[0]}") if said else None


def helm_job(job: Json, pods: Iterable[Json]) -> HelmJob:
    """A helm Job of ours. It runs until the Job controller has set Complete or Failed."""
    meta, status = job["metadata"], job.get("status") or {}
    ended = next(
        (
            c
            for c in status.get("conditions") or ()
            if c.get("type") in {"Complete", "Failed"} and c.get("status") == "True"
        ),
        None,
    )
    problem = None
    if ended and ended["type"] == "Failed":
        problem = Problem(
            "HelmFailed", f"Job {meta['name']}: {ended.get('reason', '')} {ended.get('message', '')}".strip()
        )
    elif not ended:
        problem = next((p for pod in pods if (p := problem_of(pod))), None)
    return HelmJob(
        key=(meta.get("labels") or {}).get(names.LABEL_KEY, ""),
        running=ended is None,
        problem=problem,
        created_at=timestamp(meta.get("creationTimestamp")),
        ready=bool(status.get("ready")),
    )
