"""Anything at all for a spec, a requests file or a record is read, or refused with an error of ours."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loadtest.adapters.loadtests import parse as parse_loadtest
from loadtest.core.expand import InvalidSpec, RunPlan, expand
from loadtest.results import record as records
from loadtest.results.figures import stage_result
from loadtest_injector import requests_file
from loadtest_injector.histogram import Histogram
from tests.unit.api.cases.base import BARE, WITH_RELEASE
from tests.unit.core.builders import RUN
from tests.unit.results.records import endpoint, histogram, stored

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
    | st.sampled_from(["0s", "-1m", "1000h", "20", "{a}", "/a/{a}/", "GET", "grpc", 10**9, -1, 2**63, 1e308])
)  # fmt: skip
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
# The same examples each time: what a new one finds is for a longer search, not for somebody else's change.
FUZZ = settings(max_examples=200, derandomize=True)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, itself left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in inside for found in ((*path, key), *places(inner, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn, good: Any) -> Any:
    """A good value in which one to three places hold something else, or nothing."""
    bad = json.loads(json.dumps(good))
    for _ in range(draw(st.integers(1, 3))):
        found = places(bad)
        if not found:
            break
        *parents, last = draw(st.sampled_from(found))
        inside = bad
        for parent in parents:
            inside = inside[parent]
        if draw(st.booleans()):
            inside[last] = draw(JSON)
        else:
            del inside[last]
    return bad


def loadtest(spec: Any) -> dict[str, Any]:
    meta = {"namespace": "performance", "name": "x", "uid": "uid-1", "resourceVersion": "1", "generation": 1}
    return {"metadata": meta, "spec": spec}


@FUZZ
@given(st.one_of(damaged(WITH_RELEASE), damaged(BARE), st.dictionaries(st.text(max_size=8), JSON, max_size=3)))
def test_any_spec_is_read_and_planned_or_refused_with_a_message(spec: Any) -> None:
    resource = parse_loadtest(loadtest(spec))
    assert (resource.spec is None) == (resource.invalid is not None)
    if resource.spec is None:
        assert resource.invalid is not None
        assert resource.invalid.message.startswith("spec")
        return
    try:
        plan = expand(RUN, resource.spec)
    except InvalidSpec:
        return
    assert RunPlan.from_json(plan.to_json()) == plan
    assert all(stage.users >= 1 and stage.workers >= 1 and stage.seconds >= 1 for stage in plan.stages)


JOURNEY = {
    "schema_name": "s",
    "requests": [
        {"method": "GET", "url": "/questionnaire/"},
        {"method": "POST", "url": "/p/", "data": {"a": "b"}, "redirect_route": "/p/{id}/"},
        {"method": "GET", "url": "/p/{id}/"},
    ],
}


@FUZZ
@given(st.one_of(damaged(JOURNEY).map(json.dumps), JSON.map(json.dumps), st.text(), st.binary()), st.booleans())
def test_any_requests_file_is_a_journey_or_refused(text: str | bytes, launch: bool) -> None:
    try:
        journey = requests_file.parse(text, launch=launch)
    except requests_file.RequestsFileError:
        return
    assert all(entry.method in {"GET", "POST"} and entry.name.startswith("/") for entry in journey.entries)


WHOLE = stored(
    endpoint(histogram([5, 900, 1000, 70_000])), endpoint(histogram([7]), method="POST", name="/b/", success=False)
)


@FUZZ
@given(st.one_of(damaged(WHOLE), st.dictionaries(st.text(max_size=8), JSON, max_size=3)))
def test_any_record_is_read_whole_or_refused(bad: Any) -> None:
    try:
        found = records.parse(copy.deepcopy(bad))
    except records.BadRecord:
        return
    stage_result(found)


@FUZZ
@given(damaged(histogram([5, 900, 1000, 70_000]).to_json()))
def test_any_histogram_holds_what_it_counts_or_is_refused(bad: Any) -> None:
    try:
        found = Histogram.from_json(bad)
    except (ValueError, KeyError, TypeError):
        return
    assert found.count == sum(found.buckets.values())
    assert found.percentile("100") is None or found.count
