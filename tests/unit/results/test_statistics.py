from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.results.statistics import (
    difference,
    dominance,
    holm,
    student_quantile,
    student_tail,
)


@pytest.mark.parametrize(
    ("freedom", "probability", "t"),
    [
        (1, 0.975, 12.7062), (2, 0.975, 4.30265), (4, 0.975, 2.77645), (8, 0.975, 2.30600), (8, 0.995, 3.35539),
        (8, 0.8, 0.88889), (10, 0.95, 1.81246), (30, 0.975, 2.04227), (1000, 0.975, 1.96234), (1e7, 0.975, 1.95996),
    ],
)  # fmt: skip
def test_students_quantiles_are_those_of_the_tables(freedom: float, probability: float, t: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(t, rel=1e-5)
    assert student_tail(t, freedom) == pytest.approx(1 - probability, rel=1e-4)
    assert student_tail(-t, freedom) == pytest.approx(probability, rel=1e-4)


@given(st.floats(0, 50))
def test_students_tail_is_exact_where_it_has_a_closed_form(t: float) -> None:
    assert student_tail(t, 1) == pytest.approx(0.5 - math.atan(t) / math.pi, abs=1e-9)
    assert student_tail(t, 2) == pytest.approx(0.5 - t / (2 * math.sqrt(2 + t * t)), abs=1e-9)


def test_welch_is_that_of_a_worked_example() -> None:
    # Logarithms 1 to 5 and 3, 5, 7, 9, 11: variances 2.5 and 10, so the error is sqrt(2.5) and the freedom 5.88.
    found = difference([math.exp(n) for n in (1, 2, 3, 4, 5)], [math.exp(n) for n in (3, 5, 7, 9, 11)])
    assert found.estimate == pytest.approx(4)
    assert found.error == pytest.approx(math.sqrt(2.5))
    assert found.freedom == pytest.approx(12.5**2 / (2.5**2 / 4 + 10**2 / 4))
    assert found.p_different() == pytest.approx(2 * student_tail(3.999 / math.sqrt(2.5), found.freedom))
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(4)


def test_values_a_bucket_apart_do_not_differ_however_equal_the_repeats_are() -> None:
    one_bucket = difference([100_000] * 5, [100_098] * 5)
    assert one_bucket.p_different() == 1
    assert difference([100_000] * 5, [101_000] * 5).p_different() < 0.001


def test_holm_is_that_of_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_p_values_keep_their_order_and_are_never_smaller(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(raw <= new <= 1 for raw, new in zip(p_values, adjusted, strict=True))
    ordered = [new for _, new in sorted(zip(p_values, adjusted, strict=True))]
    assert all(left <= right for left, right in pairwise(ordered))


@pytest.mark.parametrize(
    ("base", "other", "delta"), [([1, 2], [3, 4], 1), ([3, 4], [1, 2], -1), ([1, 2], [1, 2], 0), ([1, 2], [2, 3], 0.75)]
)
def test_the_effect_is_the_share_of_pairs_that_are_higher_less_those_that_are_lower(
    base: list[float], other: list[float], delta: float
) -> None:
    assert dominance(base, other) == delta
