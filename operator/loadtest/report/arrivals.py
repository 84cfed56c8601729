"""Open load in a report: what arrived, what of it was begun, and latency from both instants."""

from __future__ import annotations

from collections.abc import Iterator

from loadtest.api.figures import Latency
from loadtest.report.document import Section, table
from loadtest.report.result import Result
from loadtest.results.tables import count, millis

HEADER = [
    "Variant",
    "Repeat",
    "Stage",
    "Arrivals",
    "Dropped",
    "From before",
    "Backlog peak",
    "50th from arrival",
    "99th from arrival",
    "50th from start",
    "99th from start",
]
NOTE = (
    "Requests arrive at a fixed rate, whether the target keeps up or not; times are in milliseconds, from the arrival "
    "(with what a request waited for a free user) and from its actual start. Dropped arrivals were not begun in the "
    "window; requests from before arrived before it. The backlog is that of the worst worker."
)


def arrivals(result: Result) -> Section | None:
    """The section, where a stage was of open load."""
    rows = list(_rows(result))
    return Section("Open load", text=(NOTE,), tables=(table(HEADER, rows),)) if rows else None


def _rows(result: Result) -> Iterator[list[str]]:
    for variant, run, stage in result.stages():
        if stage.load == "Open":
            counts = (stage.arrivals, stage.dropped_arrivals, stage.carried_arrivals, stage.backlog_peak)
            yield [
                variant.name,
                str(run.repeat),
                str(stage.index),
                *map(count, counts),
                *_two(stage.intended_latency_micros),
                *_two(stage.latency_micros),
            ]


def _two(latency: Latency | None) -> list[str]:
    return [millis(latency.p50 if latency else None), millis(latency.p99 if latency else None)]
