from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from loadtest.api import names
from loadtest.core import pods
from loadtest.core.injector_pods import master_pod, worker_pod
from loadtest.core.manifests import helm_job
from tests.unit.core.builders import plan, resource

Json = dict[str, Any]
SINCE = "2026-01-01T12:00:00Z"


def kube_pod(phase: str = "Running", state: Json | None = None, **status: Any) -> Json:
    containers = [{"name": "main", "state": {"running": {}} if state is None else state, "restartCount": 2}]
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": SINCE}
    return {
        "metadata": {"name": "p", "uid": "u", "labels": {"app": "runner", "pod-template-hash": "abc"}},
        "spec": {"containers": [{"name": "main", "env": [
            {"name": "THREADS", "value": "7"},
            {"name": "EMPTY"},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ]}]},
        "status": {
            "phase": phase, "podIP": "10.0.0.9", "conditions": [ready], "containerStatuses": containers, **status,
        },
    }  # fmt: skip


def waiting(reason: str, message: str = "") -> Json:
    return kube_pod("Pending", {"waiting": {"reason": reason, "message": message}})


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: cpu"}

TROUBLE: list[tuple[str, Json, tuple[str, str] | None]] = [
    ("it runs", kube_pod(), None),
    ("it is being created", waiting("ContainerCreating"), None),
    ("it waits for its init containers", waiting("PodInitializing"), None),
    ("it is completed", kube_pod("Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}}), None),
    ("it has no status yet", {"metadata": {"name": "p"}, "spec": {}}, None),
    ("its image cannot be pulled", waiting("ErrImagePull", "not found"),
     ("ImagePullFailed", "ErrImagePull: not found")),
    ("pulling its image has been put off", waiting("ImagePullBackOff"), ("ImagePullFailed", "pod p: ImagePullBackOff")),
    ("its image has no name", waiting("InvalidImageName"), ("ImagePullFailed", "InvalidImageName")),
    ("its image is not on the node", waiting("ErrImageNeverPull"), ("ImagePullFailed", "ErrImageNeverPull")),
    ("it crashes again and again", waiting("CrashLoopBackOff", "back-off 40s"), ("CrashLoop", "back-off 40s")),
    ("it wants a Secret that is not there", waiting("CreateContainerConfigError", 'secret "keys" not found'),
     ("ContainerConfigError", 'secret "keys" not found')),
    ("no node takes it", kube_pod("Pending", {}, conditions=[UNSCHEDULABLE]), ("Unschedulable", "0/1 nodes: cpu")),
    ("it ended with an error", kube_pod("Failed", {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
     ("ContainerExited", "container main ended, OOMKilled, exit code 137")),
    ("it was evicted", kube_pod("Failed", {}, reason="Evicted", message="The node was low on resource: memory."),
     ("PodFailed", "Evicted The node was low on resource: memory.")),
    ("its init container fails",
     kube_pod("Pending", {"waiting": {"reason": "PodInitializing"}},
              initContainerStatuses=[{"name": "init", "state": {"terminated": {"exitCode": 1}}}]),
     ("ContainerExited", "container init ended, Error, exit code 1")),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in TROUBLE], ids=[row[0] for row in TROUBLE])
def test_the_trouble_of_a_pod_is_told_when(body: Json, expected: tuple[str, str] | None) -> None:
    found = pods.problem_of(body)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert found.reason == expected[0]
        assert expected[1] in found.message


def test_a_pod_of_the_target_shows_its_plain_environment_and_since_when_it_is_ready() -> None:
    seen = pods.target_pod(kube_pod())
    assert seen.env == {"THREADS": "7", "EMPTY": ""}, "a value from a Secret is not read"
    assert seen.ready_since == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert seen.fingerprint() == {"uid": "u", "restarts": 2, "templateHash": "abc"}
    assert pods.target_pod(kube_pod("Pending")).ready_since is None


def deployment(**status: Any) -> Json:
    return {
        "metadata": {"name": "runner", "generation": 4},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "runner"}}},
        "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1} | status,
    }


def test_a_deployment_has_the_live_pods_that_its_selector_matches() -> None:
    other = kube_pod()
    other["metadata"]["labels"] = {"app": "redis"}
    seen = pods.workload(deployment(), [kube_pod(), other, kube_pod("Succeeded"), kube_pod("Failed")])
    assert (seen.generation, seen.observed_generation) == (4, 3)
    assert (seen.desired, seen.total, seen.updated, seen.ready, len(seen.pods)) == (3, 2, 1, 1, 1)
    assert seen.failure is None


def test_a_deployment_without_a_status_has_nothing_ready() -> None:
    body = deployment()
    del body["status"]
    seen = pods.workload(body, [])
    assert (seen.observed_generation, seen.total, seen.updated, seen.ready) == (0, 0, 0, 0)


def test_a_deployment_that_may_not_create_pods_says_so() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
    seen = pods.workload(deployment(conditions=[condition]), [])
    assert seen.failure is not None
    assert (seen.failure.reason, seen.failure.message) == ("RolloutInProgress", "Deployment runner: exceeded quota")
    assert pods.workload(deployment(conditions=[condition | {"status": "False"}]), []).failure is None


def test_pods_of_a_selector_are_complete_as_they_stand() -> None:
    going = kube_pod()
    going["metadata"] = going["metadata"] | {"name": "q", "deletionTimestamp": SINCE}
    seen = pods.bare_workload([kube_pod(), going, kube_pod("Failed")], "selector")
    assert (seen.desired, seen.updated, seen.ready, len(seen.pods)) == (1, 1, 1, 2)


def test_injector_pods_are_known_by_the_labels_they_were_made_with() -> None:
    made = {"image": "injector", "pull_policy": "Never"}
    body = worker_pod(resource(None), plan(), 3, 2, 17, "10.0.0.1", **made)
    seen = pods.injector_pod(body | {"status": kube_pod()["status"]})
    assert (seen.position, seen.generation, seen.index, seen.is_master) == (3, 2, 17, False)
    assert (seen.running, seen.ended, seen.terminating, seen.ip) == (True, False, False, "10.0.0.9")
    master = pods.injector_pod(master_pod(resource(None), plan(), 1, 1, token_sha256="0" * 64, **made))
    assert (master.is_master, master.running, master.ip) == (True, False, "")


def test_an_injector_that_cannot_use_the_scenario_says_why() -> None:
    body = worker_pod(resource(None), plan(), 1, 1, 0, "10.0.0.1", image="i", pull_policy="Never")
    ended = {"exitCode": 4, "reason": "Error", "message": "shop.py: line 3: ModuleNotFoundError: No module named 'x'\n"}
    seen = pods.injector_pod(body | {"status": kube_pod("Failed", {"terminated": ended})["status"]})
    assert seen.crashed
    assert seen.problem is not None
    assert seen.problem.reason == "InvalidScenario"
    assert seen.problem.message.endswith("shop.py: line 3: ModuleNotFoundError: No module named 'x'")
    other = {"exitCode": 1, "reason": "Error", "message": "a secret"}
    seen = pods.injector_pod(body | {"status": kube_pod("Failed", {"terminated": other})["status"]})
    assert seen.problem is not None
    assert "secret" not in seen.problem.message


@pytest.mark.parametrize(
    ("status", "running", "ended"),
    [
        (kube_pod()["status"], True, False),
        (waiting("ContainerCreating")["status"], False, False),
        (kube_pod("Running", {"terminated": {"exitCode": 0}})["status"], False, False),
        (kube_pod("Succeeded", {"terminated": {"exitCode": 0}})["status"], False, True),
        (kube_pod("Failed", {})["status"], False, True),
        ({}, False, False),
    ],
)
def test_an_injector_runs_while_its_container_does(status: Json, running: bool, ended: bool) -> None:
    seen = pods.injector_pod({"metadata": {"name": "p", "creationTimestamp": SINCE}, "status": status})
    assert (seen.running, seen.ended) == (running, ended)


@pytest.mark.parametrize(
    ("conditions", "running", "reason"),
    [
        (None, True, None),
        ([{"type": "SuccessCriteriaMet", "status": "True"}], True, None),
        ([{"type": "Complete", "status": "False"}], True, None),
        ([{"type": "Complete", "status": "True"}], False, None),
        ([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "m"}], False, "HelmFailed"),
    ],
)
def test_a_helm_job_runs_until_its_controller_says_that_it_ended(
    conditions: list[Json] | None, running: bool, reason: str | None
) -> None:
    state = {"metadata": {"name": "state", "uid": "s"}}
    body = helm_job(
        resource(None), plan(), "apply", "apply-1-1", "seven-threads",
        state=state, image="operator", pull_policy="Never", account="loadtest-helm", lease_seconds=1200,
    )  # fmt: skip
    seen = pods.helm_job(body | {"status": {"conditions": conditions}}, [])
    assert seen.key == body["metadata"]["labels"][names.LABEL_KEY] == "apply-1-1"
    assert seen.running == running
    assert (seen.problem.reason if seen.problem else None) == reason


def test_a_running_helm_job_has_the_trouble_of_its_pod_and_an_ended_one_has_not() -> None:
    running: Json = {"metadata": {"name": "job", "labels": {}}, "status": {}}
    ended = running | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    stuck = waiting("ImagePullBackOff")
    assert (problem := pods.helm_job(running, [kube_pod(), stuck]).problem) is not None
    assert problem.reason == "ImagePullFailed"
    assert pods.helm_job(ended, [stuck]).problem is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        ("2026-01-01T12:00:00Z", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("2026-01-01T12:00:00.250000Z", datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)),
    ],
)
def test_times_of_the_api_server(text: str | None, expected: datetime | None) -> None:
    assert pods.timestamp(text) == expected
