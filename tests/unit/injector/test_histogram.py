from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from loadtest_injector.histogram import HIGHEST_MICROS, Histogram, index_of, value_of

micros = st.one_of(
    st.integers(0, 5_000),
    st.integers(0, 5_000_000),
    st.integers(0, HIGHEST_MICROS),
)
percents = st.sampled_from(["0.01", "1", "50", "66", "75", "80", "90", "95", "98", "99", "99.9", "99.99", "100"])


def histogram_of(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


@given(micros)
def test_the_buckets_are_those_of_hdrhistogram(value: Any):
    reference = HdrHistogram(1, HIGHEST_MICROS, 3)
    assert index_of(value) == reference._counts_index_for(value)
    assert value_of(index_of(value)) == reference.get_highest_equivalent_value(value)


@given(micros)
def test_a_value_read_back_is_at_most_a_thousandth_above_the_one_recorded(value: Any):
    back = value_of(index_of(value))
    assert 0 <= back - value <= value / 1_000


@pytest.mark.parametrize(
    ("value", "index"),
    [(0, 0), (1, 1), (2_047, 2_047), (2_048, 2_048), (2_049, 2_048), (4_095, 3_071), (4_096, 3_072)],
)
def test_buckets_are_exact_to_2047_and_then_double_in_width_with_every_power_of_two(value: Any, index: Any):
    assert index_of(value) == index


@pytest.mark.parametrize("index", [-1, 23_552, 10**9])
def test_an_index_outside_of_the_layout_is_refused(index: Any):
    with pytest.raises(ValueError, match="no bucket"):
        value_of(index)


def test_a_negative_duration_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        index_of(-1)


@settings(max_examples=200)
@given(st.lists(micros, min_size=1, max_size=300), percents)
def test_a_percentile_is_the_exact_one_to_a_thousandth(values: Any, percent: Any):
    rank = math.ceil(Fraction(percent) * len(values) / 100)
    exact = sorted(values)[rank - 1]
    found = histogram_of(values).percentile(percent)
    assert found is not None
    assert exact <= found <= exact + exact / 1_000


@given(st.lists(micros, min_size=1, max_size=300), st.lists(micros, max_size=300))
def test_merging_is_the_same_as_recording_all_in_one(some: Any, others: Any):
    merged = histogram_of(some)
    merged.merge(histogram_of(others))
    assert merged.to_json() == histogram_of(some + others).to_json()


@given(st.lists(micros, max_size=300))
def test_json_and_back_loses_nothing(values: Any):
    document = histogram_of(values).to_json()
    assert Histogram.from_json(document).to_json() == document


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([10, 20, 30, 40], "50", 20),
        ([10, 20, 30, 40], "50.0001", 30),
        ([10, 20, 30, 40], 75, 30),
        ([10, 20, 30, 40], "100", 40),
        ([10, 20, 30, 40], "0.1", 10),
        (list(range(1, 1_001)), "99.9", 999),  # 0.999 * 1000 is 999.0000000000001 in floats of some orders
        (list(range(1, 1_001)), Decimal("99.9"), 999),
        (list(range(1, 1_001)), Fraction(999, 10), 999),
        (list(range(1, 101)), "29", 29),  # 0.29 * 100 is 28.999999999999996 in floats
        ([1_000_000], "99", 1_000_000),  # capped by the exact maximum
    ],
)
def test_the_rank_is_the_nearest_one_without_float_errors(values: Any, percent: Any, expected: Any):
    assert histogram_of(values).percentile(percent) == expected


def test_an_empty_histogram_has_no_percentile():
    assert Histogram().percentile("99") is None


@pytest.mark.parametrize("percent", ["0", "-1", "100.1"])
def test_a_percentile_outside_of_0_to_100_is_refused(percent: Any):
    with pytest.raises(ValueError, match="above 0"):
        histogram_of([1]).percentile(percent)


def test_a_float_percentile_is_refused():
    with pytest.raises(TypeError, match="exactly"):
        histogram_of([1]).percentile(99.9)  # type: ignore[arg-type]


def test_more_than_an_hour_counts_as_an_hour_and_as_clamped():
    histogram = histogram_of([HIGHEST_MICROS + 5, 7])
    assert (histogram.max_micros, histogram.sum_micros, histogram.clamped) == (HIGHEST_MICROS, HIGHEST_MICROS + 7, 1)
    assert Histogram.from_json(histogram.to_json()).clamped == 1
    assert "clamped" not in histogram_of([7]).to_json()


@pytest.mark.parametrize(
    "changes",
    [{"count": 3}, {"buckets": [[5, 1], [5, 1]]}, {"buckets": [[5, 0], [6, 2]]}, {"buckets": [[99_999, 2]]}],
)
def test_a_record_that_contradicts_itself_is_refused(changes: Any):
    document = {"count": 2, "sumMicros": 10, "buckets": [[5, 2]]} | changes
    with pytest.raises(ValueError, match=r"bucket|count"):
        Histogram.from_json(document)


def test_extremes_that_were_not_stored_come_from_the_buckets():
    histogram = Histogram.from_json({"count": 2, "sumMicros": 3_000, "buckets": [[5, 1], [index_of(2_995), 1]]})
    assert (histogram.min_micros, histogram.max_micros) == (5, value_of(index_of(2_995)))
