from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.adapters.kube import Kube
from loadtest.adapters.loadtests import KubeLoadTests, _with_removals, parse
from loadtest.api import names
from loadtest.api.status import LoadTestStatus, Phase, Progress
from loadtest.ports import Outdated, Ref, Unavailable
from tests.unit.adapters.memory_api import MemoryApi, merge_patch
from tests.unit.api.cases.base import WITH_RELEASE, merged

REF = Ref("performance", "test", "uid-of-test")


def body(spec: Any = WITH_RELEASE, **meta: Any) -> dict[str, Any]:
    made = {"namespace": "performance", "name": "test", "uid": "u", "resourceVersion": "7", "generation": 3} | meta
    return {"metadata": made, "spec": spec}


def test_a_good_spec_gives_the_run_that_it_asks_for() -> None:
    read = parse(body())
    assert read.invalid is None
    assert read.spec is not None
    assert (read.owner, read.generation, read.resource_version) == ("performance/test", 3, "7")
    assert parse(body()).desired_run == read.desired_run
    assert parse(body(uid="v")).desired_run != read.desired_run
    assert parse(body(merged(WITH_RELEASE, {"rerun": "again"}))).desired_run != read.desired_run
    assert parse(body(merged(WITH_RELEASE, {"load": {"usersPerInjector": 5}}))).desired_run != read.desired_run
    assert parse(body(merged(WITH_RELEASE, {"suspend": True, "abort": True}))).desired_run == read.desired_run


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, "spec.target: Field required"),
        (None, "spec.target: Field required"),
        (merged(WITH_RELEASE, {"load": {"stages": []}}), "spec.load.stages"),
        (merged(WITH_RELEASE, {"load": {"stages": "many"}}), "spec.load.stages"),
        (merged(WITH_RELEASE, {"unknown": 1}), "spec.unknown"),
        (merged(WITH_RELEASE, {"deadline": "soon"}), "spec.deadline"),
        (merged(WITH_RELEASE, {"target": {"url": "ftp://x"}}), "spec.target.url"),
        (merged(WITH_RELEASE, {"load": {"stages": [{"injectors": True, "duration": "1m"}]}}),
         "spec.load.stages.0.injectors"),
    ],
)  # fmt: skip
def test_a_spec_that_does_not_parse_is_a_problem_that_names_the_field(spec: Any, says: str) -> None:
    read = parse(body(spec))
    assert read.spec is None
    assert read.invalid is not None
    assert read.invalid.reason == "InvalidSpec"
    assert read.invalid.message.startswith(says)
    assert read.desired_run != parse(body()).desired_run


def test_a_bad_spec_that_was_edited_is_another_run() -> None:
    assert parse(body({"a": 1})).desired_run != parse(body({"a": 2})).desired_run


def test_what_a_newer_version_wrote_into_the_status_is_read_over() -> None:
    read = parse(body() | {"status": {"phase": "Running", "runId": "x", "fieldOfTomorrow": {"a": 1}}})
    assert (read.status.phase, read.status.run_id) == (Phase.RUNNING, "x")


def test_deletion_and_the_leave_to_give_up_are_seen() -> None:
    assert not parse(body()).deleting
    read = parse(body(deletionTimestamp="2026-01-01T00:00:00Z", annotations={names.ANNOTATION_GIVE_UP_RESTORE: "true"}))
    assert (read.deleting, read.abandoned) == (True, True)
    assert not parse(body(annotations={names.ANNOTATION_GIVE_UP_RESTORE: "yes"})).abandoned


values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(objects, objects)
def test_a_patch_turns_the_old_status_into_the_new_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merge_patch(old, _with_removals(old, new)) == new


@given(objects)
def test_a_patch_of_nothing_new_changes_nothing(old: dict[str, Any]) -> None:
    assert merge_patch(old, _with_removals(old, old)) == old


async def test_a_status_is_written_whole_and_only_over_what_was_read(api: MemoryApi, kube: Kube) -> None:
    old = LoadTestStatus(phase=Phase.RUNNING, run_id="r", progress=Progress(percent=5, variant="seven"))
    api.put("loadtests", "performance", "test", spec=WITH_RELEASE, status=old.to_wire())
    loadtests = KubeLoadTests(kube)
    read = await loadtests.read(REF)
    assert read is not None
    new = read.status.model_copy(update={"phase": Phase.RESTORING, "progress": None})
    saved = await loadtests.write_status(read, new)
    assert saved.status == new
    assert "progress" not in api.of("loadtests")["test"]["status"]
    with pytest.raises(Outdated):
        await loadtests.write_status(read, new)
    del api.objects["loadtests", "performance", "test"]
    with pytest.raises(Outdated):
        await loadtests.write_status(saved, new)


async def test_a_loadtest_that_took_the_name_of_another_is_not_taken_for_it(api: MemoryApi, kube: Kube) -> None:
    loadtests = KubeLoadTests(kube)
    assert await loadtests.read(REF) is None
    api.put("loadtests", "performance", "test", spec=WITH_RELEASE, metadata={"uid": "another"})
    assert await loadtests.read(REF) is None


async def test_only_the_status_of_an_ended_run_is_given_to_others(api: MemoryApi, kube: Kube) -> None:
    loadtests = KubeLoadTests(kube)
    assert await loadtests.ended("performance", "earlier") is None
    for phase, there in ((Phase.RUNNING, False), (Phase.SUCCEEDED, True), (Phase.ABORTED, True)):
        status = LoadTestStatus(phase=phase, run_id="r")
        api.put("loadtests", "performance", "earlier", spec=WITH_RELEASE, status=status.to_wire())
        assert (await loadtests.ended("performance", "earlier") == status) == there


async def test_an_event_is_posted_about_the_loadtest(api: MemoryApi, kube: Kube) -> None:
    read = parse(body(name="n" * 253))
    await KubeLoadTests(kube).event(read, "Warning", "StageInvalid", "w" * 5000)
    (event,) = api.of("events").values()
    assert (event["type"], event["reason"], len(event["message"])) == ("Warning", "StageInvalid", 1000)
    assert event["involvedObject"]["uid"] == "u"
    assert len(event["metadata"]["name"]) <= 253


@pytest.mark.parametrize("status", [403, 404, 422, 500])
async def test_an_event_that_cannot_be_posted_stops_nothing(api: MemoryApi, kube: Kube, status: int) -> None:
    api.failures["POST", "events"] = (status, "{}")
    await KubeLoadTests(kube).event(parse(body()), "Normal", "Admitted", "m")
    assert api.of("events") == {}


async def test_a_server_that_fails_is_unavailable(api: MemoryApi, kube: Kube) -> None:
    api.failures["GET", "loadtests"] = (500, "{}")
    with pytest.raises(Unavailable):
        await KubeLoadTests(kube).read(REF)
