from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.adapters.kube import Kube
from loadtest.adapters.targets import KubeTargets, outcomes
from loadtest.api import names
from loadtest.core.observed import Lease, Outcome, Target
from loadtest.ports import Outdated, Refused, Unavailable
from loadtest.settings import Settings
from tests.unit.adapters.memory_api import MemoryApi
from tests.unit.core.builders import HOLDER, RUN, bare_plan, plan, resource, running, spec

SETTINGS = Settings(
    namespace="operators", watch_namespaces=(), operator_image="operator:1", injector_image="injector:1",
    image_pull_policy="IfNotPresent", token_key=b"k" * 16, health_port=0, json_logs=False,
    helm_service_account="loadtest-helm",
)  # fmt: skip
ME = resource(spec(), running())
PLAN = plan()
OTHER = "performance/other/uid-2/fedcba9876543210"
LEASE = "loadtest-runner"

SNAPSHOT = {
    "op": "snapshot", "outcome": "ok", "reason": "", "message": "", "changed": False,
    "release": {"revision": 3, "status": "deployed", "valuesSha256": "v", "manifestSha256": "m", "chart": "runner-1"},
    "unsupported": [{"setting": "sessionBackend", "path": "session.backend"}], "finishedAt": "2026-01-01T12:00:00Z",
}  # fmt: skip


async def nowhere(name: str) -> tuple[str, ...]:
    """A resolver that knows no name."""
    return ()


@pytest.fixture
def targets(kube: Kube) -> KubeTargets:
    return KubeTargets(kube, SETTINGS, nowhere)


def lease(api: MemoryApi, holder: str | None, **spec_: Any) -> dict[str, Any]:
    return api.put("leases", "runner", LEASE, spec={"holderIdentity": holder, **spec_})


def test_an_outcome_is_read_as_its_job_wrote_it() -> None:
    assert outcomes({"snapshot-1": json.dumps(SNAPSHOT)})["snapshot-1"] == Outcome(
        "snapshot-1", "snapshot", ok=True, revision=3, values_sha256="v", manifest_sha256="m", chart="runner-1",
        unsupported=("sessionBackend (values path session.backend)",),
        finished_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    )  # fmt: skip
    failed = {"op": "apply", "outcome": "error", "reason": "HelmFailed", "message": "m"}
    found = outcomes({"apply-1-1": json.dumps(failed)})["apply-1-1"]
    assert (found.ok, found.reason, found.message, found.revision) == (False, "HelmFailed", "m", None)


@pytest.mark.parametrize(
    "text",
    [
        "", "no JSON", "[]", "null", "7", '"ok"', "{}", '{"op": "apply"}', '{"outcome": "ok"}',
        '{"op": "apply", "outcome": "ok", "release": "runner"}',
        '{"op": "apply", "outcome": "ok", "finishedAt": "yesterday"}',
        '{"op": "apply", "outcome": "ok", "finishedAt": 7}',
        '{"op": "apply", "outcome": "ok", "unsupported": [{}]}',
        '{"op": "apply", "outcome": "ok", "unsupported": 7}',
        '{"op": "apply", "outcome": "ok", "release": {"revision": "three"}}',
    ],
)  # fmt: skip
def test_what_is_no_outcome_is_left_out_and_hides_no_other(text: str) -> None:
    assert set(outcomes({"apply-1-1": text, "snapshot-1": json.dumps(SNAPSHOT)})) == {"snapshot-1"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SNAPSHOT, "revision", "setting", "path"]), inner, max_size=6)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=20) | json_values.map(json.dumps), max_size=4))
def test_no_text_in_the_state_can_stop_the_operator(data: dict[str, str]) -> None:
    found = outcomes(data)
    assert set(found) <= set(data)
    assert all(isinstance(entry.revision, int | None) and isinstance(entry.reason, str) for entry in found.values())


async def test_everything_beside_the_target_is_observed(api: MemoryApi, targets: KubeTargets) -> None:
    api.put("namespaces", "", "runner")
    lease(api, HOLDER, renewTime="2026-01-01T12:00:00.000000Z")
    api.put("configmaps", "runner", names.state(RUN), data={"snapshot-1": json.dumps(SNAPSHOT)})
    labels = names.labels(RUN, "uid-1") | {names.LABEL_KEY: "apply-1-1"}
    api.put("jobs", "runner", "job", metadata={"labels": labels}, status={})
    stuck = {"name": "helm", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    api.put("pods", "runner", "pod", metadata={"labels": names.labels(RUN, "uid-1") | {"job-name": "job"}},
            spec={"containers": []}, status={"containerStatuses": [stuck]})  # fmt: skip
    mine = {"annotations": {"meta.helm.sh/release-name": "runner"}}
    selector = {"selector": {"matchLabels": {"app": "runner"}}, "replicas": 1}
    api.put("deployments", "runner", "runner", metadata=mine, spec=selector)
    api.put("deployments", "runner", "redis", spec=selector)
    seen = await targets.observe(ME, PLAN)
    assert seen.lease == Lease(HOLDER, datetime(2026, 1, 1, 12, tzinfo=UTC))
    assert (seen.prepared, set(seen.outcomes), set(seen.jobs), seen.gone) == (
        True,
        {"snapshot-1"},
        {"apply-1-1"},
        False,
    )
    problem = seen.jobs["apply-1-1"].problem
    assert problem is not None
    assert problem.reason == "ImagePullFailed"
    assert [workload.name for workload in seen.workloads] == ["runner"], "only the Deployments of the release"


async def test_a_target_whose_namespace_goes_is_gone(api: MemoryApi, targets: KubeTargets) -> None:
    assert (await targets.observe(ME, PLAN)).gone
    api.put("namespaces", "", "runner", metadata={"deletionTimestamp": "2026-01-01T12:00:00Z"})
    assert (await targets.observe(ME, PLAN)).gone
    api.failures["GET", "namespaces"] = (403, "{}")
    assert not (await targets.observe(ME, PLAN)).gone, "who may not ask takes it to be there"


async def test_pods_of_a_target_without_a_release_are_those_of_its_selector(
    api: MemoryApi, targets: KubeTargets
) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name, label in (("a", "web"), ("b", "other")):
        api.put("pods", "shop", name, metadata={"labels": {"app": label}}, spec={"containers": []}, status=status)
    of = bare_plan({"target": {"selector": {"matchLabels": {"app": "web"}}, "namespace": "shop"}})
    assert set((await targets.observe(ME, of)).pods) == {"a"}
    assert (await targets.observe(ME, bare_plan())).workloads == ()


@pytest.mark.parametrize(
    ("there", "uid", "state", "exists", "left"),
    [
        (True, "uid-2", False, True, False),
        (True, "uid-3", False, False, False),
        (False, "", False, False, False),
        (False, "", True, False, True),
    ],
)
async def test_another_holder_of_the_lease_is_looked_up(
    api: MemoryApi, targets: KubeTargets, there: bool, uid: str, state: bool, exists: bool, left: bool
) -> None:
    api.put("namespaces", "", "runner")
    lease(api, OTHER)
    if there:
        api.put("loadtests", "performance", "other", metadata={"uid": uid})
    if state:
        api.put("configmaps", "runner", names.state("fedcba9876543210"))
    found = (await targets.observe(ME, PLAN)).lease
    assert (found.holder, found.holder_exists, found.holder_left_state) == (OTHER, exists, left)


async def test_a_lease_of_nobody_we_know_is_free_of_a_holder_who_could_return(
    api: MemoryApi, targets: KubeTargets
) -> None:
    api.put("namespaces", "", "runner")
    lease(api, "somebody")
    found = (await targets.observe(ME, PLAN)).lease
    assert (found.holder, found.holder_exists, found.holder_left_state) == ("somebody", False, False)


async def test_a_lease_is_created_renewed_and_given_back(api: MemoryApi, targets: KubeTargets) -> None:
    await targets.acquire(ME, PLAN, Target())
    first = api.of("leases")[LEASE]["spec"]
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == (HOLDER, 1200)
    await targets.acquire(ME, PLAN, Target(lease=Lease(HOLDER)))
    second = api.of("leases")[LEASE]["spec"]
    assert second["acquireTime"] == first["acquireTime"]
    assert second["renewTime"] > first["renewTime"]
    await targets.release(ME, PLAN)
    assert api.of("leases") == {}
    await targets.release(ME, PLAN)


@pytest.mark.parametrize(
    ("holder", "seen", "taken"),
    [(None, None, True), ("", None, True), (OTHER, OTHER, True), (OTHER, None, False), (OTHER, "an/other/u/r", False)],
)
async def test_a_lease_is_taken_over_only_from_whom_the_decision_was_about(
    api: MemoryApi, targets: KubeTargets, holder: str | None, seen: str | None, taken: bool
) -> None:
    lease(api, holder)
    if taken:
        await targets.acquire(ME, PLAN, Target(lease=Lease(seen)))
        assert api.of("leases")[LEASE]["spec"]["holderIdentity"] == HOLDER
    else:
        with pytest.raises(Outdated):
            await targets.acquire(ME, PLAN, Target(lease=Lease(seen)))
        assert api.of("leases")[LEASE]["spec"]["holderIdentity"] == holder


async def test_a_lease_of_somebody_else_is_never_given_back(api: MemoryApi, targets: KubeTargets) -> None:
    lease(api, OTHER)
    await targets.release(ME, PLAN)
    assert LEASE in api.of("leases")


async def test_the_state_owns_all_that_stands_beside_the_target(api: MemoryApi, targets: KubeTargets) -> None:
    await targets.prepare(ME, PLAN)
    await targets.prepare(ME, PLAN)
    await targets.helm(ME, PLAN, "apply", "apply-1-1", "seven-threads")
    maps, jobs = api.of("configmaps"), api.of("jobs")
    assert set(maps) == {names.state(RUN), names.helm_request(RUN)}
    state_uid = maps[names.state(RUN)]["metadata"]["uid"]
    for body in (maps[names.helm_request(RUN)], *jobs.values()):
        assert [owner["uid"] for owner in body["metadata"]["ownerReferences"]] == [state_uid]
    await targets.clean(PLAN)
    assert (api.of("jobs"), set(api.of("configmaps"))) == ({}, {names.state(RUN), names.helm_request(RUN)})
    await targets.clean(PLAN)
    assert api.of("configmaps") == {}, "the state goes last, when no Job can write into it any more"


async def test_no_job_is_started_without_the_state_it_writes_into(api: MemoryApi, targets: KubeTargets) -> None:
    with pytest.raises(Outdated):
        await targets.helm(ME, PLAN, "restore", "restore-1", "")
    assert api.of("jobs") == {}


@pytest.mark.parametrize(
    ("status", "reason", "says"),
    [
        (404, "TargetGone", "namespace runner does not exist"),
        (403, "Forbidden", "install charts/loadtest-target in namespace runner"),
        (422, "OperatorError", "HTTP 422"),
    ],
)
async def test_a_namespace_that_says_no_ends_the_run_with_a_remedy(
    api: MemoryApi, targets: KubeTargets, status: int, reason: str, says: str
) -> None:
    api.failures["POST", "configmaps"] = (status, "{}")
    with pytest.raises(Refused, match=says) as refusal:
        await targets.prepare(ME, PLAN)
    assert refusal.value.reason == reason


async def test_a_server_that_fails_is_tried_again(api: MemoryApi, targets: KubeTargets) -> None:
    api.failures["POST", "leases"] = (500, "{}")
    with pytest.raises(Unavailable):
        await targets.acquire(replace(ME), PLAN, Target())
