"""What the answers of the metrics API and of a Prometheus are read as."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest_injector.measure import pods, prometheus, redis
from loadtest_injector.measure.series import BAD_ANSWER, Missed, Series
from loadtest_injector.measure.sources import PodsSource, PrometheusSource, SourceError, parse_sources
from loadtest_injector.measure.window import Window

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
WINDOW = Window(5_000_000_000, 65_000_000_000, START)
SOURCE = PodsSource("runner", "runner", ("runner-a", "runner-b"))


def metrics(name: str, at: str, window: str, *usage: tuple[str, str]) -> dict[str, Any]:
    containers = [{"name": f"c{n}", "usage": {"cpu": cpu, "memory": size}} for n, (cpu, size) in enumerate(usage)]
    return {"metadata": {"name": name}, "timestamp": at, "window": window, "containers": containers}


def test_an_interval_is_that_of_all_containers_of_an_ordered_pod() -> None:
    answer = {
        "items": [
            metrics("runner-b", "2026-01-01T00:00:12Z", "10.174s", ("250m", "64Mi"), ("1500000n", "1024Ki")),
            metrics("another", "2026-01-01T00:00:12Z", "10s", ("1", "1Gi")),
        ]
    }
    ((place, ended_at, point),) = pods.intervals(answer, SOURCE, WINDOW)
    assert (place, ended_at) == (1, START + 12)
    named = dict(zip(("atMicros", *pods.FIELDS), point, strict=True))
    assert named == {
        "atMicros": 12_000_000,
        "spanMicros": 10_174_000,
        "pod": 1,
        "cpuNanocores": 251_500_000,
        "memoryBytes": 65 * 2**20,
    }


@pytest.mark.parametrize(
    "answer",
    [{}, {"items": [{}]}, {"items": [metrics("runner-a", "yesterday", "1s")]},
     {"items": [metrics("runner-a", "2026-01-01T00:00:12Z", "1s", ("much", "1Ki"))]},
     {"items": [metrics("runner-a", "2026-01-01T00:00:12Z", "", ("1n", "1Ki"))]}],
)  # fmt: skip
def test_what_is_no_list_of_pod_metrics_is_a_point_that_is_missing(answer: Any) -> None:
    with pytest.raises(Missed) as missed:
        list(pods.intervals(answer, SOURCE, WINDOW))
    assert missed.value.reason == BAD_ANSWER


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (pods.nanocores, "0", 0),
        (pods.nanocores, "2", 2_000_000_000),
        (pods.nanocores, "1500m", 1_500_000_000),
        (pods.nanocores, "7u", 7_000),
        (pods.nanocores, "1995897189n", 1_995_897_189),
        (pods.size, "0", 0),
        (pods.size, "4549076Ki", 4_549_076 * 1024),
        (pods.size, "3Gi", 3 * 2**30),
        (pods.size, "129M", 129_000_000),
        (pods.span_micros, "10.174s", 10_174_000),
        (pods.span_micros, "1m0s", 60_000_000),
        (pods.span_micros, "1m0.5s", 60_500_000),
    ],
)
def test_quantities_are_read_exactly(read: Any, text: str, value: int) -> None:
    assert read(text) == value


def matrix(*values: tuple[float, str]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": list(values)}]}}


def test_points_of_a_query_keep_their_times_in_thousandths() -> None:
    answer = matrix((START, "0.0125"), (START + 15, "-2"), (START + 30.5, "1e3"))
    assert prometheus.read_points(answer, WINDOW) == [(0, 12), (15_000_000, -2_000), (30_500_000, 1_000_000)]


def test_nan_infinities_and_what_no_number_holds_are_missing_and_never_zero() -> None:
    answer = matrix((START, "NaN"), (START + 1, "+Inf"), (START + 2, "-Inf"), (START + 3, "1e300"), (START + 4, "0"))
    assert prometheus.read_points(answer, WINDOW) == [(4_000_000, 0)]


def test_a_query_that_gives_nothing_has_no_points() -> None:
    answer = {"status": "success", "data": {"resultType": "matrix", "result": []}}
    assert prometheus.read_points(answer, WINDOW) == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"status": "error", "error": "parse error", "data": {}}, "parse error"),
        ({"status": "success", "data": {"resultType": "vector", "result": []}}, "vector"),
        ({"status": "success", "data": {"resultType": "matrix", "result": [{}, {}]}}, "2 series"),
        ({"status": "success", "data": {"resultType": "matrix", "result": [{}]}}, "not the answer"),
        ([], "not the answer"),
        ({}, "not the answer"),
    ],
)
def test_another_answer_says_what_it_was(answer: Any, says: str) -> None:
    with pytest.raises(Missed, match=says) as missed:
        prometheus.read_points(answer, WINDOW)
    assert missed.value.reason == BAD_ANSWER


@pytest.mark.parametrize(("step", "points"), [(1, 61), (7, 9), (60, 2), (61, 1)])
def test_a_query_has_a_point_at_the_windows_start_and_each_step(step: int, points: int) -> None:
    source = PrometheusSource("a", "http://a", "up", step, 0, token=False, ca=False)
    assert prometheus.expected(source, WINDOW) == points


@given(st.integers(0, 10**12), st.integers(1, 10**11))
def test_redis_is_asked_at_both_edges_and_never_more_than_a_second_apart(start: int, length: int) -> None:
    asked = list(redis.instants(start, start + length))
    assert (asked[0], asked[-1]) == (start, start + length)
    assert all(0 < after - before <= redis.INTERVAL_NANOS for before, after in pairwise(asked))


def test_a_series_counts_its_problems_by_kind_and_keeps_no_more_than_ten() -> None:
    series = Series("a", "redis", ("x",))
    for number in range(100):
        series.miss(Missed("SourceUnavailable", f"error {number % 20}"))
    problems = series.to_json()["problems"]
    assert [problem["count"] for problem in problems] == [5] * 10


@pytest.mark.parametrize(
    ("measurements", "field"),
    [
        ({}, "measurements"),
        ([{}] * 17, "measurements"),
        ([5], "measurements[0]"),
        ([{"name": "a"}], "measurements[0]"),
        ([{"name": "a", "redis": {}, "pods": {}}], "measurements[0]"),
        ([{"name": "a", "redis": []}], "measurements[0]"),
        ([{"redis": {"host": "a", "port": 1}}], "measurements[0].name"),
        ([{"name": "a", "redis": {"port": 1}}], "measurements[0].redis.host"),
        ([{"name": "a", "redis": {"host": "a", "port": True}}], "measurements[0].redis.port"),
        ([{"name": "a", "pods": {"namespace": "a", "pods": "a"}}], "measurements[0].pods.pods"),
        ([{"name": "a", "pods": {"pods": []}}], "measurements[0].pods.namespace"),
        ([{"name": "a", "prometheus": {"url": "a", "query": "b", "stepSeconds": 0}}],
         "measurements[0].prometheus.stepSeconds"),
        ([{"name": "a", "cloudMonitoring": {"project": "a"}}], "measurements[0].cloudMonitoring.filter"),
        ([{"name": "a", "redis": {"host": "a", "port": 1}}] * 2, "measurements"),
    ],
)  # fmt: skip
def test_a_wrong_measurement_is_refused_by_the_name_of_its_field(measurements: Any, field: str) -> None:
    with pytest.raises(SourceError) as refused:
        parse_sources(measurements)
    assert refused.value.field == field
