from __future__ import annotations

import asyncio
import json
import socket
from datetime import UTC, datetime, timedelta

import pytest

from loadtest.adapters import kube as kube_module
from loadtest.adapters.kube import Kube, Missing, Rejected, ServerClock, path
from loadtest.ports import Outdated, Unavailable
from tests.unit.adapters.memory_api import MemoryApi, kube_to

BODY = {"metadata": {"name": "x"}, "data": {"a": "1"}}
STATUS = json.dumps({"kind": "Status", "message": "it says why"})


@pytest.mark.parametrize(
    ("status", "error", "forbidden"),
    [
        (400, Rejected, None),
        (413, Rejected, None),
        (422, Rejected, None),
        (404, Missing, None),
        (401, Unavailable, True),
        (403, Unavailable, True),
        (429, Unavailable, False),
        (500, Unavailable, False),
        (503, Unavailable, False),
        (504, Unavailable, False),
    ],
)
async def test_answers_of_the_api_server_become_what_the_loop_acts_on(
    api: MemoryApi, kube: Kube, status: int, error: type[Exception], forbidden: bool | None
) -> None:
    api.failures["POST", "configmaps"] = (status, STATUS)
    with pytest.raises(error, match=rf"POST api/v1/namespaces/ns/configmaps: it says why \(HTTP {status}\)") as caught:
        await kube.create("configmaps", "ns", BODY)
    if forbidden is not None:
        assert isinstance(caught.value, Unavailable)
        assert caught.value.forbidden == forbidden


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '"text"', '{"code": 500}'])
async def test_an_answer_that_is_no_status_is_an_error_all_the_same(api: MemoryApi, kube: Kube, text: str) -> None:
    api.failures["GET", "configmaps"] = (500, text)
    with pytest.raises(Unavailable, match="HTTP 500"):
        await kube.get("configmaps", "ns", "x")


async def test_an_object_is_created_once(api: MemoryApi, kube: Kube) -> None:
    assert await kube.create("configmaps", "ns", BODY) is True
    assert await kube.create("configmaps", "ns", BODY | {"data": {"a": "2"}}) is False
    assert api.of("configmaps")["x"]["data"] == {"a": "1"}


async def test_what_is_not_there_is_none_and_a_missing_namespace_is_empty(api: MemoryApi, kube: Kube) -> None:
    assert await kube.get("configmaps", "ns", "x") is None
    api.failures["GET", "pods"] = (404, STATUS)
    assert await kube.list("pods", "ns") == []


async def test_objects_are_listed_by_their_labels(api: MemoryApi, kube: Kube) -> None:
    api.put("pods", "ns", "mine", metadata={"labels": {"a": "1", "b/c": "2"}})
    api.put("pods", "ns", "other", metadata={"labels": {"a": "1"}})
    api.put("pods", "elsewhere", "mine", metadata={"labels": {"a": "1", "b/c": "2"}})
    found = await kube.list("pods", "ns", {"a": "1", "b/c": "2"})
    assert [(body["metadata"]["namespace"], body["metadata"]["name"]) for body in found] == [("ns", "mine")]
    assert len(await kube.list("pods", "ns")) == 2


async def test_a_version_that_is_out_of_date_is_told(api: MemoryApi, kube: Kube) -> None:
    old = api.put("leases", "ns", "x")
    api.put("leases", "ns", "x")
    with pytest.raises(Outdated):
        await kube.replace("leases", "ns", "x", old)
    with pytest.raises(Outdated):
        await kube.patch("leases", "ns", "x", old)


async def test_a_patch_is_a_merge_patch_of_the_object_or_of_its_status(api: MemoryApi, kube: Kube) -> None:
    api.put("loadtests", "ns", "x", status={"a": 1, "b": {"c": 2, "d": 3}})
    answer = await kube.patch("loadtests", "ns", "x", {"status": {"a": None, "b": {"c": 5}}}, status=True)
    assert answer["status"] == {"b": {"c": 5, "d": 3}}
    assert api.requests[-1][1] == "/apis/loadtest.eqrunner.dev/v1alpha1/namespaces/ns/loadtests/x/status"
    assert api.content_types[-1] == "application/merge-patch+json"


async def test_deleting_what_is_gone_or_another_is_fine(api: MemoryApi, kube: Kube) -> None:
    await kube.delete("pods", "ns", "x")
    api.put("pods", "ns", "x")
    await kube.delete("pods", "ns", "x", uid="that-of-an-older-one")
    assert "x" in api.of("pods")
    await kube.delete("pods", "ns", "x", grace=1, uid="uid-of-x")
    assert api.of("pods") == {}
    assert api.requests[-1][2] == {
        "propagationPolicy": "Background", "gracePeriodSeconds": 1, "preconditions": {"uid": "uid-of-x"}
    }  # fmt: skip


async def test_several_are_deleted_at_once(api: MemoryApi, kube: Kube) -> None:
    for name in "abc":
        api.put("pods", "ns", name)
    await kube.delete_all("pods", "ns", ["a", "c", "gone"])
    assert set(api.of("pods")) == {"b"}


async def test_a_server_that_does_not_answer_is_unavailable(
    api: MemoryApi, kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_module, "TIMEOUT_SECONDS", 0.1)
    api.delay = 5
    began = asyncio.get_running_loop().time()
    with pytest.raises(Unavailable, match="TimeoutError"):
        await kube.get("configmaps", "ns", "x")
    assert asyncio.get_running_loop().time() - began < 3


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = kube_to(f"http://127.0.0.1:{port}")
    try:
        with pytest.raises(Unavailable, match="GET api/v1/namespaces/ns/pods"):
            await nobody.list("pods", "ns", {"a": "b"})
    finally:
        await nobody.close()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("pods", "ns", None), "api/v1/namespaces/ns/pods"),
        (("pods", "ns", "x"), "api/v1/namespaces/ns/pods/x"),
        (("jobs", "ns", "x"), "apis/batch/v1/namespaces/ns/jobs/x"),
        (("loadtests", "ns", "x"), "apis/loadtest.eqrunner.dev/v1alpha1/namespaces/ns/loadtests/x"),
        (("leases", "ns", "x"), "apis/coordination.k8s.io/v1/namespaces/ns/leases/x"),
        (("pods", "ns", "../secrets/x"), "api/v1/namespaces/ns/pods/..%2Fsecrets%2Fx"),
        (("pods", "a/b", "x?y"), "api/v1/namespaces/a%2Fb/pods/x%3Fy"),
    ],
)
def test_paths_stay_what_they_are_whatever_a_name_holds(where: tuple[str, str, str | None], expected: str) -> None:
    assert path(*where) == expected


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_time_is_the_api_servers_whatever_becomes_of_our_own_clock() -> None:
    wall, elapsed = [NOON + timedelta(hours=1)], [0.0]
    clock = ServerClock(lambda: wall[0], lambda: elapsed[0])
    assert clock.now() == NOON + timedelta(hours=1), "before the first answer there is nothing better"
    clock.heard("Thu, 01 Jan 2026 12:00:00 GMT")
    wall[0] -= timedelta(hours=3)
    elapsed[0] = 90.0
    assert clock.now() == NOON + timedelta(seconds=90)


@pytest.mark.parametrize("date", [None, "", "soon", "Thu, 01 Jan 2026 15:00:00 -0000"])
def test_an_answer_without_a_date_says_nothing_of_the_time(date: str | None) -> None:
    clock = ServerClock(lambda: NOON, lambda: 0.0)
    clock.heard(date)
    assert clock.now() == NOON


@pytest.mark.parametrize(("told", "seconds"), [("12:00:01", 0), ("12:00:02", 0), ("11:59:59", 0), ("12:00:05", 5)])
def test_whole_seconds_of_a_header_do_not_make_time_stagger(told: str, seconds: int) -> None:
    clock = ServerClock(lambda: NOON, lambda: 0.0)
    clock.heard(f"Thu, 01 Jan 2026 {told} GMT")
    assert clock.now() == NOON + timedelta(seconds=seconds)


async def test_every_answer_tells_the_time(kube: Kube) -> None:
    kube.clock._known -= timedelta(hours=5)
    await kube.get("configmaps", "ns", "x")
    assert abs(kube.clock.now() - datetime.now(UTC)) < timedelta(minutes=5)
