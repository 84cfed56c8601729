"""The stage record: everything that any later figure of a stage is computed from, as JSON.

Pure. The format is `FORMAT`; docs of its fields are those of the classes that fill them (Tally, StageOrder, Problem).
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from loadtest_injector.order import StageOrder
from loadtest_injector.problems import Problem
from loadtest_injector.recorder import SEGMENT_NAMES, Identity
from loadtest_injector.tally import Series, Tally, WorkerTally

FORMAT = "loadtest.eqrunner.dev/stage-record/v1"
_GZIP_LEVEL = 5  # a level more takes twice the time for 1 % less


@dataclass
class Timing:
    """When things happened, in microseconds; `started_at` is seconds since the epoch of the window's start."""

    started_at: float | None = None
    duration_micros: int = 0
    announced_ahead_micros: int = 0
    ramp_micros: int = 0
    warm_up_micros: int = 0


@dataclass
class WorkerFacts:
    """What is known of one worker of the stage beside its requests."""

    users: int = 0
    clock_offset_micros: int | None = None
    clock_uncertainty_micros: int | None = None
    cpu_percent_max: float | None = None
    cpu_percent_blocks: list[float] = field(default_factory=list)
    unfinished_users: int = 0
    notes: list[Problem] = field(default_factory=list)


def build_record(
    identity: Identity,
    order: StageOrder,
    timing: Timing,
    tally: Tally,
    *,
    facts: dict[str, WorkerFacts],
    problems: list[Problem],
    notes: list[Problem],
    complete: bool,
    series: list[dict[str, Any]],
) -> dict[str, Any]:
    """The record of an attempt that has ended; `complete` says that the window is whole and all parts are in.

    `series` are the measurements beside the load, see `measure`.
    """
    return {
        "format": FORMAT,
        **identity._asdict(),
        "order": order.body,
        "window": {
            "startedAt": _timestamp(timing.started_at),
            "durationMicros": timing.duration_micros,
            "announcedAheadMicros": timing.announced_ahead_micros,
            "drainMicros": tally.drain_micros,
        },
        "rampMicros": timing.ramp_micros,
        "warmUpMicros": timing.warm_up_micros,
        "histograms": [
            {"method": method, "name": name, "outcome": outcome, **_series(series)}
            for (method, name, outcome), series in sorted(tally.endpoints.items())
        ],
        "blocks": [
            {"block": block, "method": method, "outcome": outcome, **_series(series)}
            for (block, method, outcome), series in sorted(tally.blocks.items())
        ],
        "failures": [
            {"method": method, "name": name, "kind": kind, "message": message, "count": count}
            for (method, name, kind, message), count in sorted(tally.failures.items())
        ],
        "segments": {
            name: {"requests": tally.segments[name][0], "failures": tally.segments[name][1]}
            for name in SEGMENT_NAMES
            if name != "window"
        },
        "warmUp": [
            {"method": method, "outcome": outcome, **_series(series)}
            for (method, outcome), series in sorted(tally.warm_up.items())
        ],
        "delays": tally.delays.to_json(),
        "load": "Open" if order.arrivals_per_second else "Closed",
        "open": tally.open_load(),
        "counters": dict(sorted(tally.counters.items())),
        "workers": [_worker(worker, sender, facts[worker]) for worker, sender in tally.workers.items()],
        "problems": [problem.to_json() for problem in problems],
        "notes": [note.to_json() for note in notes],
        "complete": complete,
        "series": series,
    }


def encode_record(record: dict[str, Any]) -> bytes:
    """The record as gzipped JSON, the same bytes for the same record."""
    return gzip.compress(json.dumps(record, separators=(",", ":")).encode(), compresslevel=_GZIP_LEVEL, mtime=0)


def _series(series: Series) -> dict[str, Any]:
    return {**series.histogram.to_json(), "contentBytes": series.content_bytes}


def _worker(worker: str, sender: WorkerTally, facts: WorkerFacts) -> dict[str, Any]:
    delays = sender.delays
    return {
        "name": sender.name,
        "id": worker,
        "users": facts.users,
        "parts": len(sender.seen),
        "gaps": sender.gaps,
        "duplicates": sender.duplicates,
        "requests": sender.received["requests"],
        "reported": sender.final["requests"] if sender.final is not None else None,
        "cpuPercentMax": facts.cpu_percent_max,
        "cpuPercentBlocks": facts.cpu_percent_blocks,
        "clockOffsetMicros": facts.clock_offset_micros,
        "clockUncertaintyMicros": facts.clock_uncertainty_micros,
        "latenessMicrosP99": delays.percentile(99) if delays is not None else None,
        "latenessMicrosMax": delays.max_micros if delays is not None else None,
        "latenessMicrosSum": delays.sum_micros if delays is not None else None,
        "open": {key: value for key, value in sender.open.items() if key != "intended"} if sender.open else None,
    }


def _timestamp(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
