from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.results.capacity import Law, Point, central, efficiencies, fit, knee, resampled


def points(*pairs: tuple[int, float]) -> list[Point]:
    return [Point(injectors, throughput) for injectors, throughput in pairs]


PUBLISHED = {
    "two": [(10, 2_956_643), (15, 4_389_345), (20, 5_743_555), (25, 6_770_322), (30, 7_223_022)],
    "three": [(10, 2_925_626), (15, 4_377_001), (20, 5_734_824), (25, 6_792_238), (30, 7_305_872)],
    "seven": [(10, 2_934_219), (15, 4_358_995), (20, 5_670_734), (25, 6_588_228), (30, 7_114_672)],
}
"""Injectors and requests in 20 minutes, of the published breakdowns."""


def published(threads: str) -> list[Point]:
    return points(*((injectors, requests / 1200) for injectors, requests in PUBLISHED[threads]))


@pytest.mark.parametrize("threads", PUBLISHED)
def test_the_published_breakdowns_have_their_knee_at_25_injectors(threads: str) -> None:
    assert knee(published(threads)) == 25


@pytest.mark.parametrize("threads", PUBLISHED)
def test_the_law_of_the_published_breakdowns_has_no_negative_contention_and_no_peak_near_what_was_measured(
    threads: str,
) -> None:
    law = fit(published(threads))
    assert law is not None
    assert law.contention == 0, "unconstrained it is -0.02, which no system can have"
    assert law.coherency > 0
    assert law.peak > 1.25 * 30


@pytest.mark.parametrize(
    ("of", "found"),
    [
        (points(), None),
        (points((10, 100)), None),
        (points((10, 100), (20, 200), (30, 300), (40, 400)), None),
        (points((10, 100), (20, 189)), 20),
        (points((10, 100), (20, 191)), None),
        (points((10, 100), (20, 200), (30, 300), (40, 379)), 40),
        (points((10, 100), (20, 200), (30, 300), (40, 381)), None),
        (points((10, 104), (20, 196), (30, 290), (40, 381)), None),
        (points((40, 300), (10, 100), (30, 250), (20, 200)), 30),
        (points((10, 110), (10, 90), (20, 200), (20, 170)), 20),
        (points((10, 0), (20, 0)), None),
    ],
)
def test_the_knee_is_the_first_load_below_95_percent_of_the_smallest_ones(of: list[Point], found: int | None) -> None:
    assert knee(of) == found


def test_efficiency_is_the_throughput_per_injector_beside_the_smallest_loads() -> None:
    shares = efficiencies(points((10, 100), (20, 200), (30, 270), (40, 320)))
    assert shares == pytest.approx({10: 1.0, 20: 1.0, 30: 0.9, 40: 0.8})


@given(st.floats(1, 1000), st.floats(0, 0.1), st.floats(0, 1e-3))
def test_a_curve_that_follows_the_law_gives_its_parameters_back(
    single: float, contention: float, coherency: float
) -> None:
    true = Law(single, contention, coherency)
    law = fit([Point(load, true.throughput(load)) for load in (10, 20, 40, 60, 80, 120)])
    assert law is not None
    assert law.single == pytest.approx(single, rel=1e-6)
    assert law.contention == pytest.approx(contention, abs=1e-7)
    assert law.coherency == pytest.approx(coherency, abs=1e-9)


@given(st.lists(st.floats(0.5, 2), min_size=5, max_size=5))
def test_no_fit_has_a_negative_parameter(noise: list[float]) -> None:
    law = fit([Point(load, 100 * load * factor) for load, factor in zip((10, 20, 30, 40, 50), noise, strict=True)])
    assert law is not None
    assert law.single > 0
    assert law.contention >= 0
    assert law.coherency >= 0


def test_three_loads_are_too_few_for_three_parameters() -> None:
    assert fit(points((10, 100), (20, 190), (30, 270), (30, 280))) is None
    assert fit(points((10, 100), (20, 190), (30, 270), (40, 0))) is None


def test_the_peak_is_where_the_curve_is_highest() -> None:
    law = Law(100, 0.02, 0.0004)
    highest = max(range(1, 500), key=law.throughput)
    assert law.peak == pytest.approx(highest, abs=1)
    assert Law(100, 0.02, 0).peak == math.inf
    assert Law(100, 2, 0.1).peak == 0


def test_resampled_laws_surround_the_true_one_and_are_the_same_each_time() -> None:
    rng, true = random.Random(5), Law(100, 0.01, 2e-4)  # noqa: S311 - the same numbers each time
    measured = [
        Point(load, true.throughput(load) * (1 + rng.gauss(0, 0.01)))
        for load in (10, 20, 30, 40, 60, 80)
        for _ in range(3)
    ]
    law = fit(measured)
    assert law is not None
    drawn = resampled(measured, law)
    assert drawn == resampled(measured, law)
    low, high = central([one.coherency for one in drawn])
    assert low < 2e-4 < high
    low, high = central([one.peak for one in drawn])
    assert low < true.peak < high


def test_the_central_95_percent_leaves_a_fortieth_out_at_either_end() -> None:
    assert central(list(range(400))) == (10, 389)
    assert central([7.0]) == (7.0, 7.0)
