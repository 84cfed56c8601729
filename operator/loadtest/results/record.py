"""The stored record of one attempt at a stage, as parsed values.

What is stored is the master's record (requests, workers, problems) in an envelope with what the operator itself saw
of the target. Every figure of the status comes from here, so it can be recomputed from the stored bytes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from loadtest.api.figures import LoadMode
from loadtest.api.measurements import KINDS
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
class Series:
    """The points of one measurement through the window, each with its time after the window's start.

    `source` is what was ordered of its kind. `columns` are the values by field, all of one length, in the order in
    which they were taken; `atMicros` is one of them.
    """

    name: str
    kind: str
    required: bool
    expected: int
    source: Mapping[str, Any]
    columns: Mapping[str, tuple[int, ...]]
    problems: tuple[Problem, ...]

    @property
    def count(self) -> int:
        """How many points were taken."""
        return len(self.columns["atMicros"])


@dataclass(frozen=True)
class Open:
    """The arrivals of the window in open load: those due in it, and those of them that were begun in it.

    `carried_in` are requests begun in it whose arrivals were due before; `backlog_peak` is of the worst worker;
    `intended` has the times of the successful requests from their arrivals on.
    """

    arrivals: int
    begun: int
    carried_in: int
    backlog_peak: int
    intended: Histogram


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
    series: tuple[Series, ...] = ()
    load: LoadMode = "Closed"
    open: Open | None = None
    """The arrivals of an open load, where its workers told of them."""
    pods_before: Mapping[str, int] = field(default_factory=dict)
    """Restarts of the target's pods, by name, when the stage was ordered."""
    pods_after: Mapping[str, int] = field(default_factory=dict)


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
            position=_whole(record["repeat"]),
            stage=_whole(record["stage"]),
            attempt=_whole(record["attempt"]),
            injectors=_whole(record["order"]["injectors"]),
            users=_whole(record["order"]["users"]),
            complete=bool(record["complete"]),
            started_at=_moment(window.get("startedAt")),
            duration_micros=_whole(window.get("durationMicros") or 0),
            endpoints=tuple(_endpoint(entry) for entry in record.get("histograms") or ()),
            warm_up=tuple(_endpoint({"name": "", **entry}) for entry in record.get("warmUp") or ()),
            failure_kinds=_kinds(record.get("failures") or ()),
            launches=_whole_or_none(counters.get("launches")),
            submissions=_whole_or_none(counters.get("submissions")),
            problems=tuple(_problem(entry) for entry in problems),
            notes=tuple(_problem(entry) for entry in record.get("notes") or ()),
            delays=Histogram.from_json(record["delays"]) if record.get("delays") else None,
            series=series_of(record),
            load="Open" if record.get("load") == "Open" else "Closed",
            open=_open(record["open"]) if record.get("open") else None,
            pods_before=_restarts((record["order"].get("context") or {}).get("pods")),
            pods_after=_restarts(stored.get("podsAtEnd")),
        )
    except BadRecord:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadRecord(f"the record is not whole: {type(error).__name__}: {error}") from error


def _know(outer: str, inner: str) -> None:
    if (outer, inner) != (FORMAT, RECORD_FORMAT):
        raise BadRecord(f"unknown format {outer!r} with {inner!r}")


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no whole number")
    return value


def _whole_or_none(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _moment(value: Any) -> str | None:
    if value is None:
        return None
    text = _text(value)
    datetime.fromisoformat(text)
    return text


def _problem(entry: Mapping[str, Any]) -> Problem:
    return Problem(_text(entry["reason"]), _text(entry["message"]))


def _open(entry: Mapping[str, Any]) -> Open:
    return Open(
        arrivals=_whole(entry["arrivals"]),
        begun=_whole(entry["begun"]),
        carried_in=_whole(entry["carriedIn"]),
        backlog_peak=_whole(entry["backlogPeak"]),
        intended=Histogram.from_json(entry["intended"]),
    )


def _kinds(failures: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for entry in failures:
        kinds[_text(entry["kind"])] += _whole(entry["count"])
    return dict(sorted(kinds.items()))


def _endpoint(entry: Mapping[str, Any]) -> Endpoint:
    return Endpoint(
        method=_text(entry["method"]),
        name=_text(entry["name"]),
        success=entry["outcome"] == "success",
        content_bytes=_whole(entry.get("contentBytes", 0)),
        histogram=Histogram.from_json(entry),
    )


def series_of(record: Mapping[str, Any]) -> tuple[Series, ...]:
    """The series of all measurements that were ordered with the attempt."""
    return tuple(_series(record, entry) for entry in record["order"].get("measurements") or ())


def _restarts(pods: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: pod["restarts"] for name, pod in (pods or {}).items()}


def _series(record: Mapping[str, Any], order: Mapping[str, Any]) -> Series:
    """The series of an ordered measurement; without points where the attempt ended before any was taken."""
    found = next((entry for entry in record.get("series") or () if entry["name"] == order["name"]), None)
    kind = next(kind for kind in KINDS if kind in order)
    entry = found or {"fields": ["atMicros"], "expected": 0, "points": [], "problems": []}
    columns = zip(*entry["points"], strict=True) if entry["points"] else ((),) * len(entry["fields"])
    commonest = sorted(entry["problems"], key=lambda problem: -problem["count"])
    return Series(
        name=order["name"],
        kind=kind,
        required=bool(order.get("required")),
        expected=entry["expected"],
        source=order[kind],
        columns=dict(zip(entry["fields"], map(tuple, columns), strict=True)),
        problems=tuple(Problem(problem["reason"], problem["message"]) for problem in commonest),
    )
