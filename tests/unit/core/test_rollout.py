from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from loadtest.core.observed import Problem, TargetPod, Workload
from loadtest.core.rollout import Gate, changed_pods, gate
from tests.unit.core.builders import ENV, NOW, ago, pod, workload

TWO = (pod("runner-a"), pod("runner-b"))


def judge(*workloads: Workload, replicas: int | None = None, settle: float = 15.0, **changes: Any) -> Gate:
    return gate(workloads, changes.pop("env", ENV), replicas, settle, NOW, **changes)


def test_the_gate_opens_on_a_complete_and_settled_rollout_that_shows_the_variant() -> None:
    found = judge(workload(*TWO), replicas=2)
    assert (found.open, found.reason) == (True, "VariantLive")


def test_the_gate_is_open_where_there_are_no_pods_to_watch_and_nothing_to_show() -> None:
    assert judge(env={}).open


SHUT: list[tuple[str, Workload, dict[str, Any], str, str]] = [
    ("the controller has not seen the change", workload(*TWO, observed_generation=1), {}, "RolloutInProgress",
     "has not seen the change"),
    ("pods are not updated", workload(*TWO, updated=1), {}, "RolloutInProgress", "1 updated, 2 ready, 2 in all, of 2"),
    ("pods are not ready", workload(*TWO, ready=1), {}, "RolloutInProgress", "2 updated, 1 ready"),
    ("old pods are still there", workload(*TWO, total=3), {}, "RolloutInProgress", "3 in all"),
    ("the autoscaler wants more pods", workload(*TWO, desired=3), {}, "RolloutInProgress", "of 3"),
    ("an old pod is still going, though it counts no more",
     workload(*TWO, pod("old", terminating=True), desired=2, total=2, updated=2, ready=2), {}, "RolloutInProgress",
     "1 old pods are still going, such as old"),
    ("a pod has not been seen yet", workload(TWO[0], desired=2, total=2, updated=2, ready=2), {}, "RolloutInProgress",
     "1 pods seen, of 2"),
    ("pods are of two templates", workload(TWO[0], pod("runner-c", template_hash="h2")), {}, "RolloutInProgress",
     "2 pods seen, of 2"),
    ("a pod that was counted as ready is not", workload(TWO[0], pod("runner-c", ready=False)), {},
     "RolloutInProgress", "pod runner-c is not ready"),
    ("the ReplicaSet cannot create pods", workload(*TWO, failure=Problem("RolloutFailed", "quota")), {},
     "RolloutFailed", "quota"),
    ("a new pod's image cannot be pulled",
     workload(TWO[0], pod("new", ready=False, problem=Problem("ImagePullFailed", "no such image")), ready=1), {},
     "ImagePullFailed", "no such image"),
    ("there are fewer pods than the variant asks for", workload(*TWO), {"replicas": 3}, "RolloutInProgress",
     "waiting for 3 pods: runner has 2"),
    ("the pods have only just become ready", workload(TWO[0], pod("new", ready_since=ago(5))), {}, "Settling",
     "settling for 10 s"),
    ("a pod shows another value", workload(TWO[0], pod("new", env=ENV | {"WEB_SERVER_THREADS": "2"})), {},
     "VariantNotLive", "pod new has WEB_SERVER_THREADS=2, and the variant asks for 7"),
    ("no pod knows the variable", workload(pod(env={}), pod("new", env={})), {}, "VariantNotLive",
     "no pod of the target has the environment variable WEB_SERVER_TYPE"),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "asked", "reason", "says"), [row[1:] for row in SHUT], ids=[row[0] for row in SHUT])
def test_the_gate_stays_shut_while(seen: Workload, asked: dict[str, Any], reason: str, says: str) -> None:
    found = judge(seen, **asked)
    assert (found.open, found.reason) == (False, reason)
    assert says in found.message
    assert found.broken == (reason == "VariantNotLive"), "only pods that show something else will not change by waiting"


def test_the_problem_of_a_pod_that_goes_anyway_is_no_reason() -> None:
    old = pod("old", ready=False, terminating=True, problem=Problem("CrashLoop", "dies"))
    found = judge(workload(TWO[0], old, ready=1))
    assert found.reason == "RolloutInProgress"


def test_settling_says_how_long_to_wait() -> None:
    assert judge(workload(pod(ready_since=ago(2))), settle=15.0).wait == pytest.approx(13.0)


def test_an_autoscaled_target_may_have_another_number_of_pods() -> None:
    assert judge(workload(*TWO), replicas=3, allow_scaling=True).open


def test_a_variable_is_asked_only_of_pods_that_know_it() -> None:
    sidecar = workload(pod("redis", env={}))
    assert judge(workload(*TWO), replace(sidecar, name="redis"), replicas=2).open


PRINTS = {entry.name: entry.fingerprint() for entry in TWO}


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (TWO, None),
        ((*TWO, pod("old", terminating=True)), None),
        ((TWO[0], replace(TWO[1], ready=False)), None),
        (TWO[:1], "1 pods of the target went during the stage, such as runner-b"),
        ((TWO[0], replace(TWO[1], terminating=True)), "went during the stage"),
        ((*TWO, pod("runner-c")), "1 pods of the target came during the stage, such as runner-c"),
        ((TWO[0], replace(TWO[1], restarts=1)), "pod runner-b of the target restarted during the stage"),
        ((TWO[0], replace(TWO[1], uid="other")), "pod runner-b of the target was replaced during the stage"),
        ((TWO[0], replace(TWO[1], template_hash="h2")), "was replaced during the stage"),
    ],
)
def test_pods_that_changed_between_start_and_end_of_a_stage_are_named(
    after: tuple[TargetPod, ...], says: str | None
) -> None:
    found = changed_pods(PRINTS, {entry.name: entry for entry in after})
    if says is None:
        assert found is None
    else:
        assert found is not None
        assert found.reason == "TargetChanged"
        assert says in found.message
