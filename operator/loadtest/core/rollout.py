"""The rollout gate: is the variant live on every pod of the target, and has it settled?

`helm --wait` is not enough: it passes with maxUnavailable pods missing, and does not wait for old pods to go. The
gate asks for observedGeneration, updated = ready = desired, no other pod left, the variant's environment in every
pod's spec, and `settle` seconds since the last pod became ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from loadtest.core.observed import Problem, TargetPod, Workload


@dataclass(frozen=True)
class Gate:
    """The gate's answer.

    Attributes:
        open: load may start.
        broken: no waiting will open it: the rollout is complete, but the pods do not show the variant.
        wait: seconds after which to look again, where that is known.
    """

    open: bool
    reason: str = ""
    message: str = ""
    broken: bool = False
    wait: float = 1.0


def gate(
    workloads: Sequence[Workload],
    env: Mapping[str, str],
    replicas: int | None,
    settle: float,
    now: datetime,
    *,
    allow_scaling: bool = False,
) -> Gate:
    """Judge the target's workloads against the environment and replicas that a variant asks for.

    Args:
        workloads: the Deployments of the release, or none where the target has no release and no selector.
        env: environment that every pod that knows the variable must show.
        replicas: pods wanted in all, None where the variant does not say.
        settle: seconds to wait after the last pod became ready.
        now: time of the observation.
        allow_scaling: an autoscaler may hold another number of pods than `replicas`.
    """
    for workload in workloads:
        if problem := _unfinished(workload):
            return Gate(open=False, reason=problem.reason, message=problem.message)
    if problem := _not_shown(workloads, env):
        return Gate(open=False, reason=problem.reason, message=problem.message, broken=True)
    if replicas is not None and not allow_scaling and not any(len(w.pods) == replicas for w in workloads):
        counts = ", ".join(f"{w.name} has {len(w.pods)}" for w in workloads) or "the release has no Deployment"
        return Gate(open=False, reason="RolloutInProgress", message=f"waiting for {replicas} pods: {counts}")
    ready = [pod.ready_since for workload in workloads for pod in workload.pods if pod.ready_since]
    left = settle - (now - max(ready)).total_seconds() if ready else 0.0
    if left > 0:
        return Gate(
            open=False, reason="Settling", message=f"the rollout is complete, settling for {left:.0f} s", wait=left
        )
    return Gate(open=True, reason="VariantLive", message="every pod of the target shows the variant")


def _unfinished(workload: Workload) -> Problem | None:
    """Why this Deployment's rollout is not complete, or None."""
    name = f"Deployment {workload.name}"
    if workload.failure:
        return workload.failure
    if workload.observed_generation < workload.generation:
        return Problem("RolloutInProgress", f"{name}: the Deployment controller has not seen the change yet")
    counts = f"{workload.updated} updated, {workload.ready} ready, {workload.total} in all, of {workload.desired}"
    if not workload.updated == workload.ready == workload.total == workload.desired:
        return _pod_problem(workload) or Problem("RolloutInProgress", f"{name}: {counts}")
    if leaving := [pod.name for pod in workload.pods if pod.terminating]:
        return Problem("RolloutInProgress", f"{name}: {len(leaving)} old pods are still going, such as {leaving[0]}")
    if len(workload.pods) != workload.desired or len({pod.template_hash for pod in workload.pods}) > 1:
        return Problem("RolloutInProgress", f"{name}: {len(workload.pods)} pods seen, of {workload.desired}")
    if unready := [pod.name for pod in workload.pods if not pod.ready]:
        return Problem("RolloutInProgress", f"{name}: pod {unready[0]} is not ready")
    return None


def _pod_problem(workload: Workload) -> Problem | None:
    return next((pod.problem for pod in workload.pods if pod.problem and not pod.terminating), None)


def _not_shown(workloads: Sequence[Workload], env: Mapping[str, str]) -> Problem | None:
    """The first variable that the pods do not show as wanted; pods that do not know a variable are not asked for it."""
    pods = [pod for workload in workloads for pod in workload.pods]
    for name, wanted in env.items():
        knowing = [pod for pod in pods if name in pod.env]
        if not knowing:
            return Problem("VariantNotLive", f"no pod of the target has the environment variable {name}")
        if wrong := next((pod for pod in knowing if pod.env[name] != wanted), None):
            return Problem(
                "VariantNotLive", f"pod {wrong.name} has {name}={wrong.env[name]}, and the variant asks for {wanted}"
            )
    return None


def changed_pods(before: Mapping[str, Mapping[str, object]], after: Mapping[str, TargetPod]) -> Problem | None:
    """What happened to the target's pods between the start of a stage and its end, or None.

    Args:
        before: pod name -> `TargetPod.fingerprint()` at the start.
        after: the pods at the end.
    """
    live = {name: pod for name, pod in after.items() if not pod.terminating}
    if gone := sorted(set(before) - set(live)):
        return Problem("TargetChanged", f"{len(gone)} pods of the target went during the stage, such as {gone[0]}")
    if new := sorted(set(live) - set(before)):
        return Problem("TargetChanged", f"{len(new)} pods of the target came during the stage, such as {new[0]}")
    for name, fingerprint in before.items():
        if (now := live[name].fingerprint()) != dict(fingerprint):
            what = "restarted" if now["restarts"] != fingerprint.get("restarts") else "was replaced"
            return Problem("TargetChanged", f"pod {name} of the target {what} during the stage")
    return None
