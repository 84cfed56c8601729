from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.results.figures import intervals
from loadtest.results.sampling import fewest_values, interval_ranks, is_plausible
from tests.unit.results.records import histogram

LIMIT = Fraction(25, 1000)


def at_most(k: int, count: int, share: Fraction) -> Fraction:
    """P(binomial (count, share) <= k), exactly."""
    return sum((comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(k + 1)), Fraction(0))


@pytest.mark.parametrize(
    ("percent", "fewest"), [("50", 6), ("90", 36), ("95", 72), ("99", 368), ("99.9", 3688), ("99.99", 36_887)]
)
def test_the_fewest_values_that_say_anything(percent: str, fewest: int) -> None:
    assert fewest_values(percent) == fewest
    assert interval_ranks(fewest - 1, percent) is None
    ranks = interval_ranks(fewest, percent)
    assert ranks is not None
    assert ranks.high == fewest, "with the fewest, the upper end is the highest value"


@given(st.integers(6, 400), st.sampled_from(["10", "50", "90", "95", "99"]))
def test_the_ranks_are_the_closest_that_leave_at_most_a_fortieth_out_at_either_end(count: int, percent: str) -> None:
    ranks, share = interval_ranks(count, percent), Fraction(percent) / 100
    if ranks is None:
        assert share**count > LIMIT or (1 - share) ** count > LIMIT
        return
    assert 1 <= ranks.low <= ranks.high <= count
    assert at_most(ranks.low - 1, count, share) <= LIMIT < at_most(ranks.low, count, share)
    assert 1 - at_most(ranks.high - 1, count, share) <= LIMIT < 1 - at_most(ranks.high - 2, count, share)


def test_ranks_of_many_values_are_those_of_the_normal_approximation() -> None:
    ranks = interval_ranks(30_000_000, "99")
    assert ranks is not None
    width = 1.95996 * (30_000_000 * 0.99 * 0.01) ** 0.5
    assert abs(ranks.low - (29_700_000 - width)) < 3
    assert abs(ranks.high - (29_700_000 + width)) < 3


@given(st.integers(1, 300), st.sampled_from([Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)]), st.data())
def test_a_number_of_hits_is_plausible_by_the_exact_binomial(count: int, share: Fraction, data: st.DataObject) -> None:
    hits = data.draw(st.integers(1, count))
    assert is_plausible(hits, count, share) == (1 - at_most(hits - 1, count, share) > LIMIT)


def test_the_interval_of_a_percentile_holds_its_true_value_95_of_100_times() -> None:
    rng, held = random.Random(7), 0  # noqa: S311 - the same numbers each time
    true = 100_000 * 2.302585  # p90 of an exponential distribution with this mean
    for _ in range(1000):
        found = interval_ranks(200, "90")
        assert found is not None
        values = sorted(rng.expovariate(1 / 100_000) for _ in range(200))
        held += values[found.low - 1] <= true <= values[found.high - 1]
    assert held >= 940


def test_a_stage_has_the_intervals_that_its_requests_allow() -> None:
    few = intervals(histogram(range(1, 101)))
    assert few is not None
    assert few.p50 is not None
    assert (few.p50.low, few.p50.high) == (40, 61)
    assert few.p95 is not None
    assert (few.p99, few.p999) == (None, None)
    assert intervals(histogram([1, 2, 3])) is None
    assert intervals(histogram([])) is None
