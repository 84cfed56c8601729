"""The stored record of one attempt at a stage, as parsed values.

What is stored is the master's record (requests, workers, problems) in an envelope with what the operator itself saw
of the target. Every figure of the status comes from here, so it can be recomputed from the stored bytes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest_injector.histogram import Histogram

FORMAT = "loadtest.eqrunner.dev/stage-result/v1"
RECORD_FORMAT = "loadtest.eqrunner.dev/stage-record/v1"


class BadRecord(ValueError):  # noqa: N818 - named for the fact
    """The stored bytes are not a record that this version can read."""


@dataclass(frozen=True)
class Endpoint:
    """All requests of one method, name and outcome that began in the window."""

    method: str
    name: str
    success: bool
    content_bytes: int
    histogram: Histogram


@dataclass(frozen=True)
class Problem:
    """Why the attempt cannot be relied on."""

    reason: str
    message: str


@dataclass(frozen=True)
class Record:
    """One attempt. `endpoints` hold the window, `warm_up` the warm-up, apart.

    `failure_kinds` counts the window's failed requests by kind. A scenario that knows no launches and submissions has
    None of them.
    """

    position: int
    stage: int
    attempt: int
    injectors: int
    users: int
    complete: bool
    started_at: str | None
    duration_micros: int
    endpoints: tuple[Endpoint, ...]
    warm_up: tuple[Endpoint, ...]
    failure_kinds: Mapping[str, int]
    launches: int | None
    submissions: int | None
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()
    delays: Histogram | None = None
    """By how much later than intended each request of the window began; None where that was not recorded."""


def envelope(record: Mapping[str, Any], problems: Sequence[Problem], pods: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored: the master's record, the problems that the operator found, and the target's pods at the end."""
    return {
        "format": FORMAT,
        "record": dict(record),
        "problems": [{"reason": problem.reason, "message": problem.message} for problem in problems],
        "podsAtEnd": dict(pods),
    }


def parse(stored: Mapping[str, Any]) -> Record:
    """Read an envelope.

    Raises:
        BadRecord: it has another format, or is not whole.
    """
    try:
        _know(stored["format"], stored["record"]["format"])
        record = stored["record"]
        window = record.get("window") or {}
        counters = record.get("counters") or {}
        problems = [*(record.get("problems") or ()), *(stored.get("problems") or ())]
        return Record(
            position=record["repeat"],
            stage=record["stage"],
            attempt=record["attempt"],
            injectors=record["order"]["injectors"],
            users=record["order"]["users"],
            complete=bool(record["complete"]),
            started_at=window.get("startedAt"),
            duration_micros=window.get("durationMicros") or 0,
            endpoints=tuple(_endpoint(entry) for entry in record.get("histograms") or ()),
            warm_up=tuple(_endpoint({"name": "", **entry}) for entry in record.get("warmUp") or ()),
            failure_kinds=_kinds(record.get("failures") or ()),
            launches=counters.get("launches"),
            submissions=counters.get("submissions"),
            problems=tuple(Problem(entry["reason"], entry["message"]) for entry in problems),
            notes=tuple(Problem(entry["reason"], entry["message"]) for entry in record.get("notes") or ()),
            delays=Histogram.from_json(record["delays"]) if record.get("delays") else None,
        )
    except BadRecord:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadRecord(f"the record is not whole: {type(error).__name__}: {error}") from error


def _know(outer: str, inner: str) -> None:
    if (outer, inner) != (FORMAT, RECORD_FORMAT):
        raise BadRecord(f"unknown format {outer!r} with {inner!r}")


def _kinds(failures: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for entry in failures:
        kinds[entry["kind"]] += entry["count"]
    return dict(sorted(kinds.items()))


def _endpoint(entry: Mapping[str, Any]) -> Endpoint:
    return Endpoint(
        method=entry["method"],
        name=entry["name"],
        success=entry["outcome"] == "success",
        content_bytes=entry.get("contentBytes", 0),
        histogram=Histogram.from_json(entry),
    )
