from __future__ import annotations

import csv
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.api.figures import Figures, Latency, OldDefinition
from loadtest.results.figures import PERCENTILES, pooled, stage_result
from loadtest.results.record import Problem
from loadtest.results.rounding import rounded
from tests.unit.results.records import endpoint, exact, histogram, record, weighted

MANY = 100_000
SHAPES: dict[str, Callable[[random.Random], float]] = {
    "log-normal": lambda rng: rng.lognormvariate(11, 0.6),
    "bimodal": lambda rng: rng.gauss(20_000, 2_000) if rng.random() < 0.7 else rng.gauss(900_000, 50_000),
    "heavy tail": lambda rng: 3_000 * rng.paretovariate(1.1),
    "a few values": lambda rng: rng.choice([1_000, 1_001, 250_000]),
}


def draw(shape: str, count: int, seed: int = 1) -> list[int]:
    rng = random.Random(seed)  # noqa: S311 - the same numbers each time
    return [min(3_600_000_000, max(1, round(SHAPES[shape](rng)))) for _ in range(count)]


def latency(figures: Figures | None) -> Latency:
    assert figures is not None
    assert figures.latency_micros is not None
    return figures.latency_micros


def old(figures: Figures | None) -> OldDefinition:
    assert figures is not None
    assert figures.old_definition is not None
    return figures.old_definition


def assert_exact(found: Latency, values: list[int]) -> None:
    for field, percent in PERCENTILES.items():
        true = exact(values, percent)
        assert true <= getattr(found, field) <= true * Fraction(1001, 1000), f"{field}: {true}"
    assert (found.min, found.max) == (min(values), max(values))
    assert found.mean == rounded(Fraction(sum(values), len(values)))


@pytest.mark.parametrize("shape", SHAPES)
def test_percentiles_are_those_of_every_single_request_to_a_thousandth(shape: str) -> None:
    values = draw(shape, MANY)
    assert_exact(latency(stage_result(record(endpoint(histogram(values))))), values)


@pytest.mark.parametrize("count", [1, 2, 3, 99, 100, 101, 999, 1000, 1001])
def test_percentiles_of_few_requests_have_the_right_rank(count: int) -> None:
    values = list(range(1, count + 1))
    assert_exact(latency(stage_result(record(endpoint(histogram(values))))), values)


@given(st.lists(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=50), min_size=1, max_size=5))
def test_pooled_figures_are_those_of_one_histogram_of_all_requests(windows: list[list[int]]) -> None:
    figures = pooled([record(endpoint(histogram(values))) for values in windows])
    values = [value for window in windows for value in window]
    assert figures is not None
    assert figures.requests == len(values)
    assert latency(figures) == latency(stage_result(record(endpoint(histogram(values)))))
    if 0 not in values:
        assert_exact(latency(figures), values)


def failures(kind: str, count: int, message: str = "no") -> dict[str, Any]:
    return {"method": "GET", "name": "/", "kind": kind, "message": message, "count": count}


def test_failures_are_counted_by_kind_and_pooled() -> None:
    first = record(failures=[failures("status", 2), failures("timeout", 1), failures("status", 3, "else")])
    assert stage_result(first).failure_kinds == {"status": 5, "timeout": 1}
    assert stage_result(record()).failure_kinds is None
    both = pooled([first, record(failures=[failures("reset", 1), failures("status", 1)])])
    assert both is not None
    assert both.failure_kinds == {"status": 6, "timeout": 1, "reset": 1}


def test_the_injectors_own_delay_is_pooled_and_absent_where_a_record_has_none() -> None:
    first, second = (record(delays=histogram(values).to_json()) for values in ([10, 20, 30], [40_000]))
    both, short = pooled([first, second]), stage_result(first).injector_delay_micros
    assert both is not None
    assert both.injector_delay_micros is not None
    assert short is not None
    assert (short.p50, short.p99, short.max) == (20, 30, 30)
    assert both.injector_delay_micros.max == 40_000
    half = pooled([first, record()])
    assert half is not None
    assert half.injector_delay_micros is None


OPEN = {"arrivals": 10, "begun": 7, "carriedIn": 1, "backlogPeak": 4, "intended": histogram([5, 9]).to_json()}


def test_an_open_load_tells_its_arrivals_and_both_latencies() -> None:
    first = record(endpoint(histogram([3, 4])), load="Open", open=OPEN)
    result = stage_result(first)
    assert (result.load, result.backlog_peak) == ("Open", 4)
    assert (result.arrivals, result.dropped_arrivals, result.carried_arrivals) == (10, 3, 1)
    assert result.intended_latency_micros is not None
    assert (result.intended_latency_micros.p50, latency(result).p50) == (5, 3)
    both = pooled([first, first])
    assert both is not None
    assert (both.arrivals, both.dropped_arrivals, both.carried_arrivals) == (20, 6, 2)
    assert both.intended_latency_micros is not None
    assert both.intended_latency_micros.max == 9


def test_a_closed_load_says_so_and_has_no_arrivals() -> None:
    result = stage_result(record(endpoint(histogram([3, 4]))))
    assert result.load == "Closed"
    assert (result.arrivals, result.backlog_peak, result.intended_latency_micros) == (None, None, None)


def test_notes_stand_in_the_status_and_leave_the_stage_valid() -> None:
    busy = {"reason": "WorkerBusy", "message": "worker a was at 80.0 % CPU"}
    result = stage_result(record(notes=[busy]))
    assert (result.valid, result.notes) == ("True", ["WorkerBusy: worker a was at 80.0 % CPU"])
    assert stage_result(record()).notes is None


def test_a_scenario_without_launches_has_none_and_not_zero() -> None:
    bare = record(counters={})
    assert (stage_result(bare).launches, stage_result(bare).submissions) == (None, None)
    both = pooled([record(), bare])
    assert both is not None
    assert (both.launches, both.submissions) == (None, None)


def test_endpoints_and_methods_are_pooled_and_not_averaged() -> None:
    gets, posts = draw("log-normal", 5_000), draw("heavy tail", 5_000)
    halves = [endpoint(histogram(gets[:100]), name="/a/"), endpoint(histogram(gets[100:]), name="/b/")]
    figures = stage_result(record(*halves, endpoint(histogram(posts), "POST")))
    assert_exact(latency(figures), gets + posts)
    for method, values in ((figures.gets, gets), (figures.posts, posts)):
        assert method is not None
        assert method.requests == len(values)
        assert method.latency_micros is not None
        assert_exact(method.latency_micros, values)


def test_nine_fast_workers_and_one_slow_have_a_p95_that_no_mean_of_p95s_tells() -> None:
    """The published example: the mean of the ten p95s is 251 ms, and one request in twenty took longer than 1,034."""
    fast = weighted({35_000: 94_000, 70_000: 6_000})
    slow = weighted({600_000: 40_000, 1_034_000: 20_000, 1_880_000: 40_000})
    workers = [fast] * 9 + [slow]
    means = [latency(stage_result(record(endpoint(worker)))).p95 for worker in workers]
    assert sum(means) / len(means) / 1000 == pytest.approx(251, rel=0.001)
    assert latency(pooled([record(endpoint(worker)) for worker in workers])).p95 / 1000 == pytest.approx(
        1034, rel=0.001
    )


SEED_STAGES = [
    (2_956_643, 55, 88, 103, 140, 201),
    (4_389_345, 61, 104, 124, 173, 250),
    (5_743_555, 70, 137, 171, 265, 431),
    (6_770_322, 91, 255, 367, 711, 1264),
    (7_223_022, 113, 483, 818, 2599, 4613),
]
"""The two-thread stages of a published investigation: requests, and p50, p90, p95, p99, p99.9 in milliseconds."""


def with_percentiles(requests: int, *millis: int) -> dict[str, Any]:
    """One endpoint that has these percentiles."""
    counts, below = {}, 0
    for percent, value in zip(("0.5", "0.9", "0.95", "0.99", "0.999"), millis, strict=True):
        upto = -(-Fraction(percent) * requests // 1)
        counts[value * 1000] = int(upto) - below
        below = int(upto)
    counts[max(millis) * 1100] = requests - below
    return endpoint(weighted(counts))


def test_the_published_headline_row_is_the_request_weighted_mean_of_its_stages() -> None:
    figures = pooled([record(with_percentiles(*row)) for row in SEED_STAGES])
    assert figures is not None
    assert figures.requests == 27_082_887
    found = old(figures)
    row = [found.p50_micros, found.p90_micros, found.p95_micros, found.p99_micros, found.p999_micros]
    assert [value / 1000 for value in row] == pytest.approx([83.6, 248.1, 377.5, 970.4, 1700.1], rel=0.0015)
    assert latency(figures).p99 > 1.9 * found.p99_micros, "the true p99 is quite another number"


def test_past_figures_come_out_of_a_past_run_by_the_old_definition() -> None:
    """Published, cut to whole milliseconds: GETs 111, POSTs 109, all 110 ms; 140,895 requests."""
    rows = csv.DictReader(Path(__file__).with_name("locust_2020_09_22_stats.csv").read_text().splitlines())
    entries = [
        endpoint(weighted({int(row["99%"]) * 1000: int(row["Request Count"])}), row["Type"], row["Name"])
        for row in rows
        if row["Name"] != "Aggregated"
    ]
    figures = stage_result(record(*entries))
    assert figures.requests == 140_895
    found = old(figures)
    assert (found.gets_p99_micros, found.posts_p99_micros, found.all_p99_micros) == pytest.approx(
        (111_670, 109_560, 110_630), abs=10
    )
    assert found.p99_micros == found.all_p99_micros


def test_the_old_definition_weighs_endpoints_by_requests_with_their_failures_among_them() -> None:
    slow = [endpoint(weighted({1_000: 3}), name="/a/"), endpoint(weighted({9_000: 1}), name="/a/", success=False)]
    found = old(stage_result(record(*slow, endpoint(weighted({2_000: 6}), "POST", "/b/"))))
    assert found.p99_micros == pytest.approx((4 * 9_000 + 6 * 2_000) / 10, rel=0.001)
    assert found.gets_p99_micros == pytest.approx(9_000, rel=0.001)
    assert found.posts_p99_micros == pytest.approx(2_000, rel=0.001)


@given(
    st.lists(st.integers(1, 10_000_000), min_size=1, max_size=60),
    st.lists(st.integers(1, 10_000_000), min_size=1, max_size=60),
)
def test_failures_never_move_a_percentile(good: list[int], bad: list[int]) -> None:
    """A fast refusal must not make the target look better, nor a slow timeout look worse."""
    alone = stage_result(record(endpoint(histogram(good))))
    failing = stage_result(record(endpoint(histogram(good)), endpoint(histogram(bad), success=False)))
    assert latency(failing) == latency(alone)
    assert failing.gets is not None
    assert alone.gets is not None
    assert failing.gets.latency_micros == alone.gets.latency_micros
    assert (failing.requests, failing.failures) == (len(good) + len(bad), len(bad))
    assert failing.failure_latency_micros is not None
    assert failing.failure_latency_micros.max == max(bad)


def test_a_window_in_which_all_requests_failed_has_no_percentiles() -> None:
    figures = stage_result(record(endpoint(histogram([1_000, 2_000]), success=False)))
    assert (figures.requests, figures.failures, figures.latency_micros) == (2, 2, None)
    assert figures.valid == "True", "the window is as valid as its load: the target is what failed"


def test_counts_and_rates_of_a_window() -> None:
    figures = stage_result(record(endpoint(histogram([1_000] * 7), content_bytes=7 * 1_000 + 4)))
    assert (figures.requests, figures.requests_per_second, figures.requests_per_second_milli) == (7, 1, 700)
    assert (figures.average_content_bytes, figures.launches, figures.submissions) == (1_001, 3, 2)
    assert (figures.duration_millis, figures.injectors, figures.users) == (10_000, 2, 400)


def test_the_warm_up_is_told_apart_and_is_no_part_of_any_figure() -> None:
    warm = [{k: v for k, v in endpoint(histogram([9_000_000])).items() if k != "name"}]
    figures = stage_result(record(endpoint(histogram([1_000])), warmUp=warm))
    assert (figures.requests, latency(figures).max) == (1, 1_000)
    assert figures.warm_up is not None
    assert figures.warm_up.requests == 1
    assert figures.warm_up.latency_micros is not None
    assert figures.warm_up.latency_micros.max == 9_000_000


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"problems": [{"reason": "WorkerLost", "message": "w0"}]}, "WorkerLost"),
        ({"problems": [{"reason": "WorkerLost", "message": "w0"}], "complete": False}, "WorkerLost"),
        ({"complete": False}, "Incomplete"),
    ],
)
def test_a_stage_is_valid_only_without_any_problem(changes: dict[str, Any], reason: str | None) -> None:
    figures = stage_result(record(endpoint(histogram([1_000])), **changes))
    assert (figures.valid, figures.invalid_reason) == ("False" if reason else "True", reason)
    assert figures.requests == 1, "what was measured is shown all the same"


def test_what_the_operator_itself_saw_makes_a_stage_invalid_too() -> None:
    figures = stage_result(record(endpoint(histogram([1])), seen=(Problem("TargetChanged", "pod x restarted"),)))
    assert (figures.valid, figures.invalid_reason) == ("False", "TargetChanged")


def test_a_window_that_never_began_has_no_figures_rather_than_zeros() -> None:
    figures = stage_result(record(window={}, complete=False, seen=(Problem("WorkersMissing", "1 of 2"),)))
    assert figures.valid == "False"
    assert (figures.requests, figures.failures, figures.requests_per_second, figures.gets) == (None,) * 4
    assert (figures.latency_micros, figures.duration_millis, figures.started_at) == (None,) * 3


def test_nothing_pooled_is_nothing() -> None:
    assert pooled([]) is None


@pytest.mark.parametrize(("value", "expected"), [("0.4", 0), ("0.5", 1), ("1.5", 2), ("2.5", 3), ("2.49", 2)])
def test_halves_are_rounded_up(value: str, expected: int) -> None:
    assert rounded(Fraction(value)) == expected
