"""How far a percentile may be off: our histograms, Locust's own statistics, and the mean of the workers' percentiles.

Everything is compared with the exact percentile (nearest rank) of all values together. A value's way is that of a real
run: the worker that measured it records it, and the workers' parts are merged.
"""

import math
import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

from loadtest_injector.histogram import Histogram

PERCENTS = ("50", "66", "75", "80", "90", "95", "98", "99", "99.9", "99.99")
"""The percentiles of the status."""

WORKERS = (1, 30, 250)
_SLOW_SHARE = 0.1
Values = list[int]


def log_normal(count: int, workers: int, seed: int) -> list[Values]:
    """Median 80 ms, sigma 0.7: every worker sees the same target."""
    source = random.Random(seed)  # noqa: S311 - a study must be repeatable
    return _dealt((_micros(80_000 * source.lognormvariate(0, 0.7)) for _ in range(count)), workers)


def bimodal(count: int, workers: int, seed: int) -> list[Values]:
    """A tenth of the requests takes about a second and the others 50 ms; the slow ones are a tenth of the workers'."""
    source = random.Random(seed)  # noqa: S311 - as above
    slow_workers = max(1, round(workers * _SLOW_SHARE))
    parts: list[Values] = [[] for _ in range(workers)]
    for number in range(count):
        slow = source.random() < _SLOW_SHARE
        value = source.gauss(1_000_000, 80_000) if slow else source.gauss(50_000, 8_000)
        fast = number % max(1, workers - slow_workers)
        parts[workers - 1 - number % slow_workers if slow else fast].append(_micros(value))
    return parts


def heavy_tailed(count: int, workers: int, seed: int) -> list[Values]:
    """Pareto from 20 ms with exponent 1.2: the largest of a million is minutes long."""
    source = random.Random(seed)  # noqa: S311 - as above
    return _dealt((_micros(20_000 * source.paretovariate(1.2)) for _ in range(count)), workers)


DISTRIBUTIONS: dict[str, Callable[[int, int, int], list[Values]]] = {
    "log-normal": log_normal,
    "bimodal": bimodal,
    "heavy-tailed": heavy_tailed,
}


def _micros(value: float) -> int:
    return max(1, min(round(value), 3_600_000_000))


def _dealt(values: Iterable[int], workers: int) -> list[Values]:
    parts: list[Values] = [[] for _ in range(workers)]
    for number, value in enumerate(values):
        parts[number % workers].append(value)
    return parts


@dataclass(frozen=True)
class Row:
    """One percentile of one distribution, in microseconds."""

    percent: str
    exact: int
    ours: int
    locust: int
    mean: float

    def error_percent(self, value: float) -> float:
        """How far a value is off, in percent of the exact one."""
        return abs(value - self.exact) / self.exact * 100


def compare(parts: Sequence[Values], seed: int = 0) -> list[Row]:
    """All percentiles of values that several workers recorded. Our parts are merged in any order: here a random one."""
    every = sorted(value for part in parts for value in part)
    merged = Histogram()
    ours = [_ours(part) for part in parts]
    random.Random(seed).shuffle(ours)  # noqa: S311 - as above
    for histogram in ours:
        merged.merge(histogram)
    locust = _locust_percentiles(parts)
    sorted_parts = [sorted(part) for part in parts if part]
    rows = []
    for percent in PERCENTS:
        mean = sum(_exact(part, percent) * len(part) for part in sorted_parts) / len(every)
        rows.append(Row(percent, _exact(every, percent), merged.percentile(percent) or 0, locust[percent], mean))
    return rows


def _exact(ordered: Sequence[int], percent: str) -> int:
    """Nearest rank: the smallest value with at least ceil(pN) values not above it."""
    return ordered[math.ceil(Fraction(percent) / 100 * len(ordered)) - 1]


def _ours(values: Values) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


def _locust_percentiles(parts: Sequence[Values]) -> dict[str, int]:
    """What Locust's master says after it has merged its workers' statistics, in microseconds."""
    # Imported without its monkey patches, which would change sockets and threads for the rest of this process.
    with mock.patch.dict(os.environ, {"LOCUST_SKIP_MONKEY_PATCH": "1"}):
        from locust.stats import RequestStats, StatsEntry  # noqa: PLC0415

    merged = StatsEntry(RequestStats(), "merged", "GET")
    for part in parts:
        worker = StatsEntry(RequestStats(), "part", "GET")
        for value in part:
            # What log() does, without the clocks that it reads.
            worker.num_requests += 1
            worker._log_response_time(value / 1000)  # type: ignore[arg-type]
        merged.extend(StatsEntry.unserialize(worker.serialize(), RequestStats()))
    return {
        percent: round(merged.get_response_time_percentile(float(Fraction(percent) / 100)) * 1000)
        for percent in PERCENTS
    }


def study(count: int) -> dict[tuple[str, int], list[Row]]:
    """Every distribution over every number of workers."""
    return {
        (name, workers): compare(parts_of(count, workers, seed))
        for seed, (name, parts_of) in enumerate(DISTRIBUTIONS.items())
        for workers in WORKERS
    }


def table(found: dict[tuple[str, int], list[Row]], count: int) -> str:
    """The error at every percentile, as Markdown, and the largest of each way."""
    lines = [
        "| values | workers | percentile | exact, ms | ours, ms | off | Locust, ms | off | mean of them, ms | off |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (name, workers), rows in found.items():
        for row in rows:
            cells = " | ".join(
                f"{value / 1000:,.2f} | {row.error_percent(value):.3f} %" for value in (row.ours, row.locust, row.mean)
            )
            lines.append(f"| {name} | {workers} | p{row.percent} | {row.exact / 1000:,.2f} | {cells} |")
    return "\n".join(lines) + f"\n\n{count:,} values each.\n"


def summary(found: dict[tuple[str, int], list[Row]], count: int) -> str:
    """The largest error over all percentiles, as Markdown."""
    lines = [
        "| values | workers | ours | Locust's own | mean of the workers' percentiles |",
        "|---|--:|--:|--:|--:|",
    ]
    for (name, workers), rows in found.items():
        ours, locust, mean = (worst(rows, way) for way in ("ours", "locust", "mean"))
        lines.append(f"| {name} | {workers} | {ours} | {locust} | {mean} |")
    return "\n".join(lines) + f"\n\nLargest error of p{PERCENTS[0]} to p{PERCENTS[-1]}; {count:,} values each.\n"


def worst(rows: list[Row], way: str) -> str:
    """The largest error of `ours`, `locust` or `mean` and where it is."""
    error, percent = max((row.error_percent(getattr(row, way)), row.percent) for row in rows)
    return f"{error:.3f} % (p{percent})"
