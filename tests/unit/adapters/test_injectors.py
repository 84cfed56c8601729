from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from loadtest.adapters import locust
from loadtest.adapters.injectors import KubeInjectors, current_master
from loadtest.adapters.kube import Kube
from loadtest.adapters.locust import LocustMasters
from loadtest.api import names
from loadtest.core.observed import InjectorPod
from loadtest.ports import Outdated, Refused, Unavailable
from tests.unit.adapters.memory_api import MemoryApi
from tests.unit.adapters.test_targets import SETTINGS
from tests.unit.core.builders import RUN, injectors, master_pod, observed, plan, resource, running, spec, worker_pod

ME = resource(spec(), running())
PLAN = plan()
STATUS = {"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": [{"name": "locust", "state": {"running": {}}}]}


@pytest.fixture
async def pool(kube: Kube) -> AsyncIterator[KubeInjectors]:
    masters = LocustMasters(SETTINGS.token_key)
    yield KubeInjectors(kube, masters, SETTINGS)
    await masters.close()


async def test_injectors_are_created_once_and_seen_by_their_labels(api: MemoryApi, pool: KubeInjectors) -> None:
    for _ in range(2):
        await pool.create_master(ME, PLAN, 1, 1)
        await pool.create_worker(ME, PLAN, 1, 1, 0, "10.0.0.1")
    api.put("pods", "performance", "a-helm-job", metadata={"labels": names.labels(RUN, "uid-1")})
    seen = await pool.observe(ME, PLAN)
    assert {(pod.name, pod.index) for pod in seen.pods} == {
        (names.master(RUN, 1, 1), -1), (names.worker(RUN, 1, 1, 0), 0)
    }  # fmt: skip
    assert (seen.master, seen.unreachable) == (None, ""), "a master without an address is not asked"
    await pool.delete(ME, tuple(pod.name for pod in seen.pods))
    assert set(api.of("pods")) == {"a-helm-job"}


async def test_a_master_is_fenced_in_before_it_is_made(api: MemoryApi, kube: Kube) -> None:
    pool = KubeInjectors(kube, LocustMasters(b"k" * 16), replace(SETTINGS, network_policies=True))
    with pytest.raises(Outdated):
        await pool.create_master(ME, PLAN, 1, 1)
    assert api.of("pods") == {}, "a run whose scenario is gone makes no master"
    api.put("configmaps", "performance", names.scenario(RUN))
    for generation in (1, 2):
        await pool.create_master(ME, PLAN, 1, generation)
    assert set(api.of("networkpolicies")) == {f"ldt-{RUN}-master", f"ldt-{RUN}-worker"}
    made = [path.rpartition("/")[2] for method, path, _ in api.requests if method == "POST"]
    assert made[:3] == ["networkpolicies", "networkpolicies", "pods"]


async def test_a_running_master_that_does_not_answer_is_told_apart_from_none(
    api: MemoryApi, pool: KubeInjectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locust, "CONTROL_PORT", 1)
    await pool.create_master(ME, PLAN, 1, 1)
    api.of("pods")[names.master(RUN, 1, 1)]["status"] = STATUS
    seen = await pool.observe(ME, PLAN)
    assert seen.master is None
    assert "127.0.0.1" in seen.unreachable


QUOTA = '{"message": "pods \\"x\\" is forbidden: exceeded quota: small"}'


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (403, QUOTA, "QuotaExceeded"),
        (403, '{"message": "violates PodSecurity"}', "Forbidden"),
        (404, "{}", "InjectorsNotReady"),
        (422, '{"message": "spec.nodeSelector: Invalid value"}', "InjectorsNotReady"),
        (500, "{}", None),
    ],
)
async def test_a_pod_that_may_not_be_made_ends_the_run_with_its_reason(
    api: MemoryApi, pool: KubeInjectors, status: int, text: str, reason: str | None
) -> None:
    api.failures["POST", "pods"] = (status, text)
    with pytest.raises(Refused if reason else Unavailable) as refusal:
        await pool.create_master(ME, PLAN, 1, 1)
    assert getattr(refusal.value, "reason", None) == reason


FIRST, SECOND = master_pod(), master_pod(2, name="m-2-1")


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ((), None),
        ((worker_pod(),), None),
        ((FIRST, worker_pod()), FIRST),
        ((SECOND, FIRST), SECOND),
        ((FIRST, replace(SECOND, running=False)), FIRST),
        ((FIRST, replace(SECOND, terminating=True)), FIRST),
        ((replace(FIRST, ip=""),), None),
        ((FIRST, replace(FIRST, name="m-1-2", generation=2)), replace(FIRST, name="m-1-2", generation=2)),
    ],
)
def test_the_current_master_is_the_running_one_of_the_latest_repeat(
    pods: tuple[InjectorPod, ...], expected: InjectorPod | None
) -> None:
    assert current_master(pods) == expected


@pytest.mark.parametrize("call", ["start", "record"])
async def test_without_a_master_there_is_nobody_to_ask(pool: KubeInjectors, call: str) -> None:
    o = observed(injectors=injectors(worker_pod()))
    order: dict[str, Any] = {}
    with pytest.raises(Unavailable, match="no Locust master is running"):
        await (pool.start_stage(o, 1, 0, 1, order) if call == "start" else pool.record(o, 1, 0, 1))
