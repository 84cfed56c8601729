from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest_injector.clock import RoundTrip, estimate
from loadtest_injector.cpu import CpuSample, block_means, capacity, highest_mean, mean_percent

SECOND = 1_000_000_000


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1, max_size=10),
)
def test_the_true_offset_is_within_the_stated_uncertainty(offset: Any, delays: Any):
    trips, now = [], 10**12
    for there, back in delays:
        trips.append(RoundTrip(now, now + there + offset, now + there + back))
        now += there + back + 1_000
    found = estimate(trips)
    assert abs(found.offset - offset) <= found.uncertainty
    assert found.uncertainty <= min((there + back + 1) // 2 for there, back in delays)
    assert abs(found.to_worker(now + offset) - now) <= found.uncertainty


def samples(*per_second: float) -> list[CpuSample]:
    """One sample a second; `per_second` are cores used in each."""
    taken, used = [CpuSample(0, 0)], 0.0
    for second, cores in enumerate(per_second, start=1):
        used += cores * SECOND
        taken.append(CpuSample(second * SECOND, int(used)))
    return taken


@pytest.mark.parametrize(("limit", "cores"), [(0, 1.0), (500, 0.5), (1_000, 1.0), (4_000, 1.0), (250, 0.25)])
def test_a_worker_can_use_one_core_at_most(limit: Any, cores: Any):
    assert capacity(limit) == cores


def test_blocks_are_means_of_10_s_and_the_last_one_may_be_shorter():
    taken = samples(*[0.5] * 10, *[0.8] * 10, *[0.2] * 5)
    assert block_means(taken, 0, 25 * SECOND, 1.0) == [50.0, 80.0, 20.0]
    assert block_means(taken, 0, 25 * SECOND, 0.5) == [100.0, 160.0, 40.0]


def test_means_are_taken_between_the_exact_ends_and_not_between_samples():
    late = [CpuSample(0, 0), CpuSample(15 * SECOND, 15 * SECOND), CpuSample(20 * SECOND, 15 * SECOND)]
    assert block_means(late, 0, 20 * SECOND, 1.0) == [100.0, 50.0]
    assert mean_percent(late, 12 * SECOND, 18 * SECOND, 1.0) == 50.0


@pytest.mark.parametrize(
    ("per_second", "start", "end", "highest"),
    [
        ([0.5] * 10 + [0.95] * 10, 0, 20, 95.0),
        ([0.5] * 10 + [0.5] * 5 + [0.95] * 9, 0, 24, 90.5),  # the last 10 s, over the borders of blocks
        ([0.2, 1.0, 1.0, 0.2], 1, 3, 100.0),  # a window of 2 s
        ([0.9] * 12, 0, 12, 90.0),
        ([1.0] * 5 + [0.1] * 10, 5, 15, 10.0),  # busy before the window only
    ],
)
def test_the_highest_10_s_mean_decides(per_second: Any, start: Any, end: Any, highest: Any):
    assert highest_mean(samples(*per_second), start * SECOND, end * SECOND, 1.0) == highest
