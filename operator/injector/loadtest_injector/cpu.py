"""How busy a worker was: the CPU time of its process in 10 s means, as percent of what it may use.

Pure. A Python process uses at most about one core, so a worker is full at one core, or at its CPU limit if that is
lower. Samples of the CPU time used so far are taken about once a second; means are taken between the exact ends of a
block by linear interpolation, so that a late sample of a busy worker does not blur them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from loadtest_injector.recorder import BLOCK_NANOS

SATURATED_PERCENT = 90.0
"""A worker with a 10 s mean above this no longer measures the target but itself."""

_MILLIS_PER_CORE = 1_000


class CpuSample(NamedTuple):
    """CPU time of the process so far, at an instant of the monotonic clock (both in nanoseconds)."""

    at: int
    used: int


def capacity(limit_millis: int) -> float:
    """Cores that a worker can use: its limit in thousandths of a core (0: none), and one at most."""
    return min(limit_millis, _MILLIS_PER_CORE) / _MILLIS_PER_CORE if limit_millis > 0 else 1.0


def mean_percent(samples: Sequence[CpuSample], start: int, end: int, cores: float) -> float:
    """Mean use of `cores` between two instants, in percent with one decimal."""
    return round((_used_at(samples, end) - _used_at(samples, start)) / (end - start) / cores * 100, 1)


def block_means(samples: Sequence[CpuSample], start: int, end: int, cores: float) -> list[float]:
    """Means of the 10 s blocks from `start`; the last one may be shorter."""
    starts = range(start, end, BLOCK_NANOS)
    return [mean_percent(samples, at, min(at + BLOCK_NANOS, end), cores) for at in starts]


def highest_mean(samples: Sequence[CpuSample], start: int, end: int, cores: float) -> float:
    """The highest 10 s mean: of the whole blocks and of the last 10 s; of the whole window where it is shorter."""
    length = min(BLOCK_NANOS, end - start)
    starts = [*range(start, end - length + 1, BLOCK_NANOS), end - length]
    return max(mean_percent(samples, at, at + length, cores) for at in starts)


def _used_at(samples: Sequence[CpuSample], at: int) -> float:
    """CPU time used up to `at`; before the first and after the last sample, what that sample says."""
    index = bisect_right(samples, at, key=lambda sample: sample.at)
    if index == 0:
        return samples[0].used
    if index == len(samples):
        return samples[-1].used
    before, after = samples[index - 1], samples[index]
    return before.used + (after.used - before.used) * (at - before.at) / (after.at - before.at)
