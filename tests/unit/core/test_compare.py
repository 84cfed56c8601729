from __future__ import annotations

import random
from typing import Any

import pytest

from loadtest.api.comparison import MetricComparison, VariantComparison
from loadtest.api.figures import Figures, StageResult
from loadtest.api.measured import RedisFigures
from loadtest.core.compare import common_stages, comparisons, values_of
from tests.unit.api.cases.base import merged
from tests.unit.core.builders import SMALL, latency, plan, stage, variants


def figures(p99: int, rate: int = 1_000_000, requests: int = 1_000_000, **changes: Any) -> dict[str, Any]:
    found = {
        "latency_micros": latency(p99),
        "requests_per_second_milli": rate,
        "requests": requests,
        "failures": 0,
    }
    return found | changes


def measured(index: int, p99: int, rate: int = 1_000_000, valid: str = "True", **changes: Any) -> StageResult:
    return stage(index, valid, **figures(p99, rate, **changes))


def compare(
    *runs: tuple[str, int, list[StageResult]], overall: Any = None, complete: bool = True, **spec: Any
) -> list[VariantComparison]:
    return comparisons(plan(merged(SMALL, spec)), variants(*runs), overall or {}, complete=complete)


def metric(rows: list[MetricComparison], name: str) -> MetricComparison:
    return next(row for row in rows if row.metric == name)


def test_each_stage_is_compared_with_the_same_stage_of_the_baseline() -> None:
    (two,) = compare(
        ("seven", 1, [measured(0, 1000, 2_000_000), measured(1, 4000)]),
        ("two", 2, [measured(0, 1014), measured(1, 2000)]),
    )
    assert (two.variant, two.baseline, two.overall) == ("two", "seven", None)
    first, second = two.stages
    assert (first.stage, first.injectors, first.repeats, first.baseline_repeats) == (0, 1, 1, 1)
    p99 = metric(first.metrics, "p99")
    assert (p99.verdict, p99.ratio_permille, p99.difference_micros) == ("Indicative", 1014, 14)
    assert metric(second.metrics, "p99").ratio_permille == 500
    rate = metric(first.metrics, "requestsPerSecond")
    assert (rate.ratio_permille, rate.difference_requests_per_second_milli) == (500, -1_000_000)
    assert rate.difference_micros is None


def test_the_baseline_is_the_variant_that_the_spec_names() -> None:
    (seven,) = compare(("seven", 1, [measured(0, 1000)]), ("two", 2, [measured(0, 2000)]), baseline="two")
    assert (seven.variant, seven.baseline) == ("seven", "two")
    assert metric(seven.stages[0].metrics, "p99").ratio_permille == 500


def test_what_is_invalid_or_missing_is_compared_with_nothing() -> None:
    (two,) = compare(
        ("seven", 1, [measured(0, 1000), measured(1, 1000)]),
        ("two", 2, [measured(0, 2000, valid="False"), measured(1, 3000)]),
    )
    assert [row.stage for row in two.stages] == [1]
    assert compare(("seven", 1, [measured(0, 1000)]), ("two", 2, [stage(0, "False")])) == []
    assert compare(("two", 2, [measured(0, 1000)])) == [], "nothing is compared without the baseline"


def test_a_percentile_of_too_few_requests_is_not_compared() -> None:
    (two,) = compare(("seven", 1, [measured(0, 1000, requests=100)]), ("two", 2, [measured(0, 1000)]))
    assert [row.metric for row in two.stages[0].metrics] == ["p50", "p90", "p95", "requestsPerSecond"]


def test_the_stages_in_common_are_valid_in_every_repeat_of_every_variant() -> None:
    both = [measured(0, 1000), measured(1, 1000)]
    assert common_stages(variants(("seven", 1, both), ("two", 2, both))) == [0, 1]
    assert common_stages(variants(("seven", 1, both), ("two", 2, both[:1]))) == [0]
    assert common_stages(variants(("seven", 1, both), ("seven", 2, [both[0], stage(1, "False")]))) == [0]
    assert common_stages([]) == []


def repeats(name: str, first: int, values: list[int]) -> list[tuple[str, int, list[StageResult]]]:
    return [(name, first + number, [measured(0, value)]) for number, value in enumerate(values)]


FASTER, SLOWER = [99_000, 99_500, 100_000, 100_500, 101_000], [109_000, 109_500, 110_000, 110_500, 111_000]


def test_from_5_repeats_on_a_difference_is_claimed_with_its_interval_and_effect() -> None:
    (two,) = compare(*repeats("seven", 1, SLOWER), *repeats("two", 6, FASTER), repeats=5)
    p99 = metric(two.stages[0].metrics, "p99")
    assert (p99.verdict, p99.ratio_permille, p99.effect_permille) == ("Better", 909, -1000)
    assert p99.difference_micros is not None
    assert -10_010 < p99.difference_micros < -9_990
    assert p99.ratio_low_permille is not None
    assert p99.ratio_high_permille is not None
    assert 880 < p99.ratio_low_permille < 909 < p99.ratio_high_permille < 930
    assert p99.detectable_permille is not None
    assert 5 < p99.detectable_permille < 40


@pytest.mark.parametrize(
    ("spec", "complete", "verdict"),
    [
        ({}, True, "Worse"),
        ({}, False, "Indicative"),
        ({"equivalenceMargin": "20%"}, True, "Equivalent"),
        ({"equivalenceMargin": "5%"}, True, "Worse"),
    ],
)
def test_a_claim_needs_the_planned_end_of_the_run_and_heeds_the_declared_margin(
    spec: dict[str, Any], complete: bool, verdict: str
) -> None:
    runs = (*repeats("seven", 1, FASTER), *repeats("two", 6, SLOWER))
    (two,) = compare(*runs, complete=complete, repeats=5, **spec)
    assert metric(two.stages[0].metrics, "p99").verdict == verdict


def test_equal_variants_are_inconclusive_without_a_margin() -> None:
    (two,) = compare(*repeats("seven", 1, FASTER), *repeats("two", 6, FASTER), repeats=5)
    assert metric(two.stages[0].metrics, "p99").verdict == "Inconclusive"


def test_of_a_measurement_nobody_said_whether_more_is_better() -> None:
    rng = random.Random(3)  # noqa: S311 - the same numbers each time
    overall = {
        (name, repeat): Figures(
            **figures(1000, redis=RedisFigures(name="cache", points=9, connections_peak=peak + rng.randrange(5)))
        )
        for name, peak in (("seven", 645), ("two", 455))
        for repeat in range(1, 6)
    }
    runs = (*repeats("seven", 1, FASTER), *repeats("two", 6, FASTER))
    (two,) = compare(*runs, overall=overall, repeats=5)
    assert two.overall is not None
    assert (two.overall.stages, two.overall.repeats, two.overall.baseline_repeats) == ([0], 5, 5)
    assert metric(two.overall.metrics, "cache.connectionsPeak").verdict == "Lower"
    assert not any(row.metric.startswith("cache") for row in two.stages[0].metrics)


def test_a_measurement_that_is_unknown_is_not_compared() -> None:
    unknown = Figures(redis=RedisFigures(name="cache", points=0, points_expected=9, unknown_reason="Unreachable"))
    assert values_of(unknown, beside=True) == {}


PUBLISHED = {
    "two": [
        (10, 55, 88, 103, 140, 201, 2_956_643), (15, 61, 104, 124, 173, 250, 4_389_345),
        (20, 70, 137, 171, 265, 431, 5_743_555), (25, 91, 255, 367, 711, 1264, 6_770_322),
        (30, 113, 483, 818, 2599, 4613, 7_223_022),
    ],
    "three": [
        (10, 60, 102, 121, 168, 241, 2_925_626), (15, 63, 107, 126, 175, 260, 4_377_001),
        (20, 74, 136, 164, 240, 397, 5_734_824), (25, 93, 216, 299, 856, 2109, 6_792_238),
        (30, 122, 405, 658, 2499, 5252, 7_305_872),
    ],
}  # fmt: skip
"""Injectors, 50th, 90th, 95th, 99th, 99.9th in milliseconds, requests in 20 minutes: the published breakdowns."""

HEADLINE = {
    "two": ((84, 248, 377, 970, 1700), 27_082_887, 455),
    "three": ((88, 220, 320, 984, 2094), 27_135_561, 489),
}
"""The published row of all stages: percentiles, requests, and the peak of Redis connections."""


def published(millis: tuple[int, ...], requests: int, stages: int, **changes: Any) -> dict[str, Any]:
    fields = dict(zip(("p50", "p90", "p95", "p99", "p999"), (1000 * value for value in millis), strict=True))
    rate = round(requests / (stages * 1200) * 1000)
    return figures(0, rate, requests, latency_micros=latency(**fields)) | changes


def test_the_published_two_and_three_threads_have_no_winner() -> None:
    runs = [
        (name, number, [stage(index, injectors=row[0], **published(row[1:6], row[6], 1)) for index, row in rows])
        for number, (name, rows) in enumerate(((name, enumerate(rows)) for name, rows in PUBLISHED.items()), start=1)
    ]
    overall = {
        (name, 1): Figures(**published(*HEADLINE[name][:2], 5, redis=RedisFigures(name="redis", connections_peak=peak)))
        for name, (_, _, peak) in HEADLINE.items()
    }
    spec = {
        "variants": [{"name": "two", "runner": {"threads": 2}}, {"name": "three", "runner": {"threads": 3}}],
        "load": {"stages": [{"injectors": row[0], "duration": "20m"} for row in PUBLISHED["two"]]},
    }
    (three,) = compare(*runs, overall=overall, **spec)
    assert three.overall is not None
    assert three.overall.stages == [0, 1, 2, 3, 4]
    every = [*three.overall.metrics, *(row for one in three.stages for row in one.metrics)]
    assert {row.verdict for row in every} == {"Indicative"}, "one repeat of each names no winner"
    p99 = metric(three.overall.metrics, "p99")
    assert (p99.ratio_permille, p99.difference_micros) == (1014, 14_000), "1.4 % apart"
    assert [metric(one.metrics, "p99").ratio_permille for one in three.stages] == [1200, 1012, 906, 1204, 962]
    assert metric(three.overall.metrics, "requestsPerSecond").ratio_permille == 1002
    redis = metric(three.overall.metrics, "redis.connectionsPeak")
    assert (redis.verdict, redis.difference, redis.ratio_permille) == ("Indicative", 34, 1075)
