"""A stored record over its window's time: requests in blocks of 10 s, and the health of its injectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from loadtest.results.record import series_of
from loadtest_injector.histogram import Histogram

BLOCK_SECONDS = 10
"""Length of a block; the last one of a window may be shorter."""

PERCENTS = ("50", "95", "99")
"""The percentiles that are drawn over time."""


@dataclass(frozen=True)
class Block:
    """The requests that began between `start` and `end`, in seconds from the start of the window.

    Attributes:
        millis: percentiles of the successful requests by percent, in milliseconds; empty where there were none.
    """

    start: float
    end: float
    requests: int
    failures: int
    millis: Mapping[str, float]

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

    def later(self, seconds: float) -> Block:
        """The same block on an axis whose origin is so much earlier."""
        return replace(self, start=self.start + seconds, end=self.end + seconds)


@dataclass(frozen=True)
class Digest:
    """What the pictures need of one record.

    Attributes:
        successes: all successful requests of the window.
        redis: seconds from the start of the window, and the clients that were connected to the measured Redis server.
    """

    blocks: tuple[Block, ...]
    successes: Histogram
    health: Health
    redis: tuple[tuple[float, int], ...]


def digest(stored: Mapping[str, Any]) -> Digest:
    """Read a record once for all pictures."""
    return Digest(
        blocks=tuple(blocks(stored)),
        successes=_successes(stored["record"].get("histograms") or ()),
        health=health(stored),
        redis=tuple(_redis_connections(stored["record"])),
    )


def blocks(stored: Mapping[str, Any]) -> Iterator[Block]:
    """The blocks of a record's window, all of them: where nothing began, a block has 0 requests."""
    record = stored["record"]
    seconds = (record.get("window") or {}).get("durationMicros", 0) / 1_000_000
    entries: dict[int, list[Mapping[str, Any]]] = {}
    for entry in record.get("blocks") or ():
        entries.setdefault(entry["block"], []).append(entry)
    for number in range(math.ceil(seconds / BLOCK_SECONDS)):
        mine = entries.get(number, [])
        merged = _successes(mine)
        start = number * BLOCK_SECONDS
        yield Block(
            start=start,
            end=min(start + BLOCK_SECONDS, seconds),
            requests=sum(entry["count"] for entry in mine),
            failures=sum(entry["count"] for entry in mine if entry["outcome"] != "success"),
            millis={
                percent: micros / 1000 for percent in PERCENTS if (micros := merged.percentile(percent)) is not None
            },
        )


def _successes(entries: Iterable[Mapping[str, Any]]) -> Histogram:
    merged = Histogram()
    for entry in entries:
        if entry["outcome"] == "success":
            merged.merge(Histogram.from_json(entry))
    return merged


def _redis_connections(record: Mapping[str, Any]) -> Iterator[tuple[float, int]]:
    for one in series_of(record):
        if one.kind == "redis" and "connections" in one.columns:
            for at, clients in zip(one.columns["atMicros"], one.columns["connections"], strict=True):
                yield at / 1_000_000, clients


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
