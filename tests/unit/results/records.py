"""Records of stages made from plain lists of durations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from loadtest.results.record import RECORD_FORMAT, Problem, Record, envelope, parse
from loadtest_injector.histogram import Histogram


def histogram(micros: Iterable[int]) -> Histogram:
    made = Histogram()
    for value in micros:
        made.add(value)
    return made


def weighted(counts: Mapping[int, int]) -> Histogram:
    """A histogram of so many requests of each duration, in microseconds."""
    made = Histogram()
    for micros, count in counts.items():
        made.merge(
            Histogram.from_json(
                {
                    "buckets": [[bucket, count] for bucket in histogram([micros]).buckets],
                    "count": count,
                    "sumMicros": count * micros,
                    "minMicros": micros,
                    "maxMicros": micros,
                }
            )
        )
    return made


def endpoint(
    of: Histogram, method: str = "GET", name: str = "/page/", *, success: bool = True, content_bytes: int = 0
) -> dict[str, Any]:
    """An entry of a record's `histograms`."""
    outcome = "success" if success else "failure"
    return {"method": method, "name": name, "outcome": outcome, "contentBytes": content_bytes, **of.to_json()}


def stored(*endpoints: dict[str, Any], seen: tuple[Problem, ...] = (), **changes: Any) -> dict[str, Any]:
    """What is stored of one attempt: `changes` are of the master's record, `seen` is what the operator saw itself."""
    record = {
        "format": RECORD_FORMAT,
        "run": "0123456789abcdef",
        "repeat": 1,
        "stage": 0,
        "attempt": 1,
        "order": {"injectors": 2, "users": 400, "context": {"pods": {}}},
        "window": {"startedAt": "2026-01-01T12:00:00.000000+00:00", "durationMicros": 10_000_000},
        "histograms": list(endpoints),
        "warmUp": [],
        "counters": {"launches": 3, "submissions": 2},
        "problems": [],
        "complete": True,
    }
    return envelope(record | changes, seen, {})


def record(*endpoints: dict[str, Any], **changes: Any) -> Record:
    return parse(stored(*endpoints, **changes))


def exact(values: list[int], percent: str) -> int:
    """The definition itself: the smallest value with at least ceil(pN) values not above it. By counting, no library."""
    wanted = -(-int(percent.replace(".", "")) * len(values) // (100 * 10 ** len(percent.partition(".")[2])))
    seen = 0
    for value, count in sorted(Counter(values).items()):
        seen += count
        if seen >= wanted:
            return value
    raise AssertionError("fewer values than were asked for")
