"""A stored record over its window's time: requests in blocks of 10 s, and the health of its injectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadtest.results.record import parse
from loadtest_injector.histogram import Histogram

BLOCK_SECONDS = 10
"""Length of a block; the last one of a window may be shorter."""

PERCENTS = ("50", "95", "99")
"""The percentiles that are drawn over time."""


@dataclass
class Block:
    """The requests that began between `start` and `end`, in seconds from the start of the window."""

    start: float
    end: float
    requests: int = 0
    failures: int = 0
    successes: Histogram = field(default_factory=Histogram)

    @property
    def middle(self) -> float:
        """Where the block is drawn."""
        return (self.start + self.end) / 2

    @property
    def requests_per_second(self) -> float:
        """Requests that began, failed ones too, by the block's own length."""
        return self.requests / (self.end - self.start)

    @property
    def failures_per_second(self) -> float:
        """Those that failed."""
        return self.failures / (self.end - self.start)

    def millis(self, percent: str) -> float | None:
        """A percentile of the successful requests, in milliseconds; None where there were none."""
        micros = self.successes.percentile(percent)
        return None if micros is None else micros / 1000


def blocks(stored: Mapping[str, Any]) -> list[Block]:
    """The blocks of a record's window, all of them: where nothing began, a block has 0 requests."""
    record = stored["record"]
    seconds = (record.get("window") or {}).get("durationMicros", 0) / 1_000_000
    found: list[Block] = []
    while (start := len(found) * BLOCK_SECONDS) < seconds:
        found.append(Block(start, min(start + BLOCK_SECONDS, seconds)))
    for entry in record.get("blocks") or ():
        if entry["block"] >= len(found):
            continue
        block, histogram = found[entry["block"]], Histogram.from_json(entry)
        block.requests += histogram.count
        if entry["outcome"] == "success":
            block.successes.merge(histogram)
        else:
            block.failures += histogram.count
    return found


def successes(stored: Mapping[str, Any]) -> Histogram:
    """All successful requests of a record's window."""
    merged = Histogram()
    for entry in stored["record"].get("histograms") or ():
        if entry["outcome"] == "success":
            merged.merge(Histogram.from_json(entry))
    return merged


def redis_connections(stored: Mapping[str, Any]) -> list[tuple[float, int]]:
    """Clients that were connected to the measured Redis server: seconds from the start of the window, and how many."""
    one = next((each for each in parse(stored).series if each.kind == "redis"), None)
    if one is None or "connections" not in one.columns:
        return []
    return [
        (at / 1_000_000, clients)
        for at, clients in zip(one.columns["atMicros"], one.columns["connections"], strict=True)
    ]


@dataclass(frozen=True)
class Health:
    """The injectors of one stage. What a record does not say is None.

    Attributes:
        cpu_percent_max: highest 10 s mean of any worker, of one core or of its limit.
        cpu_percent_blocks: in each block the highest of the workers.
        delay_micros_p99: the 99th percentile of what the injectors themselves were late, of the worst worker.
        clock_uncertainty_micros: the largest of the workers.
    """

    workers: int
    cpu_percent_max: float | None
    cpu_percent_blocks: tuple[float, ...]
    delay_micros_p99: int | None
    clock_uncertainty_micros: int | None
    gaps: int


def health(stored: Mapping[str, Any]) -> Health:
    """The health of a record's workers."""
    workers = stored["record"].get("workers") or []

    def worst(key: str) -> Any:
        known = [worker[key] for worker in workers if worker.get(key) is not None]
        return max(known) if known else None

    columns = [worker.get("cpuPercentBlocks") or [] for worker in workers]
    length = max((len(column) for column in columns), default=0)
    return Health(
        workers=len(workers),
        cpu_percent_max=worst("cpuPercentMax"),
        cpu_percent_blocks=tuple(
            max(column[number] for column in columns if number < len(column)) for number in range(length)
        ),
        delay_micros_p99=worst("latenessMicrosP99"),
        clock_uncertainty_micros=worst("clockUncertaintyMicros"),
        gaps=sum(worker.get("gaps") or 0 for worker in workers),
    )
