"""What one worker records of one attempt at a stage: every request once, in the segment in which it started.

Pure: no HTTP client and no Locust in it. Whoever sends a request calls `begin` right before it, sends the header
`X-LoadTest-Window` with `label(mark)`, and calls `end` (or `abandon`, where the user was stopped in the middle).
`begin` is told when the request should have begun: what lies between is the injector's own delay, and no latency.
`take_part` hands over what was recorded since the last part. Times are nanoseconds of this process's monotonic clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple

from loadtest_injector.histogram import HIGHEST_MICROS, Histogram

BLOCK_NANOS = 10_000_000_000
"""Length of a block of the curves over time: 10 s, counted from the start of the window."""

MAX_MESSAGES = 200
"""Different failure messages kept for an attempt; further ones are counted under their kind alone."""

MAX_MESSAGE_LENGTH = 200
NANOS_PER_MICRO = 1_000
_NEVER = 2**63


class Segment(IntEnum):
    """The parts of an attempt, in order of time."""

    RAMP = 0
    WARM_UP = 1
    WINDOW = 2
    TAIL = 3


SEGMENT_NAMES = ("ramp", "warm-up", "window", "tail")
"""By `Segment`: the words of the header and of the record."""


class Mark(NamedTuple):
    """The start of one request: its segment and window never change, however late it ends.

    `intended` is when it should have begun: the end of the wait before it, or of the answer before it where there is
    no wait, or the instant of its arrival in open load.
    """

    start: int
    segment: Segment
    intended: int


_RAMP, _WARM_UP, _WINDOW, _TAIL = Segment  # names of this module: an attribute of an enumeration takes longer to find
_mark = partial(tuple.__new__, Mark)  # as Mark(...), at a third of its time


class Failure(NamedTuple):
    """Why a request failed: one of refused, reset, timeout, tls, protocol, status, assertion; and a short message."""

    kind: str
    message: str


class Identity(NamedTuple):
    """Which attempt requests belong to. `repeat` is the 1-based position in the run's order."""

    run: str
    repeat: int
    stage: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the segments begin, in nanoseconds of this worker's monotonic clock."""

    warm_up_at: int
    window_at: int
    window_end: int


class _Cell:
    """Requests of one key since the last part."""

    __slots__ = ("content_bytes", "histogram")

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.content_bytes = 0


@dataclass(slots=True)
class _Totals:
    """Counted apart from the histograms, so that the master can tell whether all of them arrived."""

    requests: int = 0
    failures: int = 0
    sum_micros: int = 0
    content_bytes: int = 0
    launches: int = 0
    submissions: int = 0


class Recorder:
    """Records the requests of one attempt on one worker."""

    def __init__(
        self, identity: Identity, clock: Callable[[], int] = time.monotonic_ns, *, journeys: bool = True
    ) -> None:
        """`journeys` says whether launches and submissions are told; where not, parts have none rather than 0."""
        self.identity = identity
        self._clock = clock
        prefix = f"{identity.run}/{identity.repeat}/{identity.stage}/{identity.attempt}/"
        self._labels = tuple(prefix + name for name in SEGMENT_NAMES)
        self.schedule: Schedule | None = None
        self._window_at = self._window_end = _NEVER
        self._open = 0  # requests begun in the window and not yet ended
        self._cells: dict[tuple[int, str, str, bool], _Cell] = {}
        self._warm_up: dict[tuple[str, bool], _Cell] = {}
        self._failures: dict[tuple[str, str, str, str], int] = {}
        self._messages: set[tuple[str, str]] = set()
        self._segments = [[0, 0] for _ in SEGMENT_NAMES]
        self._launches = 0
        self._submissions = 0
        self._totals = _Totals()
        self._delays = Histogram()
        self._parts = 0
        self._last_end = 0
        self._journeys = journeys

    def announce(self, schedule: Schedule) -> bool:
        """Take over when the window will be. False if its first boundary is already past: requests were mislabelled."""
        self.schedule = schedule
        self._window_at, self._window_end = schedule.window_at, schedule.window_end
        return self._clock() < schedule.warm_up_at

    def begin(self, intended: int | None = None) -> Mark:
        """Note the start of a request; the segment it belongs to is decided here, once.

        `intended` is the instant at which it should have begun; None where it was not to begin at any other than now.
        """
        now = self._clock()
        if intended is None:
            intended = now
        if self._window_at <= now < self._window_end:
            self._open += 1
            self._delays.add((now - intended) // NANOS_PER_MICRO if now > intended else 0)
            return _mark((now, _WINDOW, intended))
        if now >= self._window_end:
            return _mark((now, _TAIL, intended))
        schedule = self.schedule
        return _mark((now, _RAMP if schedule is None or now < schedule.warm_up_at else _WARM_UP, intended))

    def began_at(self, start: int) -> Mark:
        """The mark of a request that began at `start`, and of which nobody knows when it should have begun."""
        schedule = self.schedule
        if schedule is None or start < schedule.warm_up_at:
            return _mark((start, _RAMP, start))
        if start < schedule.window_at:
            return _mark((start, _WARM_UP, start))
        if start < schedule.window_end:
            self._open += 1
            return _mark((start, _WINDOW, start))
        return _mark((start, _TAIL, start))

    def late(self, nanos: int) -> None:
        """Count a delay of the injector's own that is not told by the begin of a request: a wait ended so much late."""
        schedule = self.schedule
        if schedule is not None and schedule.window_at <= self._clock() < schedule.window_end:
            self._delays.add(max(0, nanos) // NANOS_PER_MICRO)

    def label(self, mark: Mark) -> str:
        """Value of the header X-LoadTest-Window: run/repeat/stage/attempt/segment."""
        return self._labels[mark.segment]

    def elapsed_micros(self, mark: Mark) -> int:
        """Microseconds since the request began."""
        return (self._clock() - mark.start) // NANOS_PER_MICRO

    def end(
        self, mark: Mark, method: str, name: str, micros: int, *, content_bytes: int, failure: Failure | None = None
    ) -> None:
        """Record a request that took `micros` microseconds and whose answer had `content_bytes` of content."""
        start, segment, _ = mark
        counts = self._segments[segment]
        counts[0] += 1
        if failure is not None:
            counts[1] += 1
        if segment is not _WINDOW:
            if segment is _WARM_UP:
                self._end_in_warm_up((method, failure is None), micros, content_bytes)
            return
        key = ((start - self._window_at) // BLOCK_NANOS, method, name, failure is None)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = _Cell()
        cell.histogram.add(micros)
        cell.content_bytes += content_bytes
        totals = self._totals
        totals.requests += 1
        totals.sum_micros += min(micros, HIGHEST_MICROS)  # as the histogram clamps it
        totals.content_bytes += content_bytes
        if failure is not None:
            totals.failures += 1
            self._count_failure((method, name), failure)
        self._open -= 1
        if start + micros * NANOS_PER_MICRO >= self._window_end:
            self._last_end = self._clock()

    def _end_in_warm_up(self, key: tuple[str, bool], micros: int, content_bytes: int) -> None:
        cell = self._warm_up.get(key)
        if cell is None:
            cell = self._warm_up[key] = _Cell()
        cell.histogram.add(micros)
        cell.content_bytes += content_bytes

    def _count_failure(self, endpoint: tuple[str, str], failure: Failure) -> None:
        message = failure.message[:MAX_MESSAGE_LENGTH]
        if (failure.kind, message) not in self._messages:
            if len(self._messages) >= MAX_MESSAGES:
                message = f"(further messages of kind {failure.kind})"
            self._messages.add((failure.kind, message))
        key = (*endpoint, failure.kind, message)
        self._failures[key] = self._failures.get(key, 0) + 1

    def abandon(self, mark: Mark) -> None:
        """Forget a request whose user was stopped before it ended."""
        if mark.segment is Segment.WINDOW:
            self._open -= 1

    def launched(self, mark: Mark) -> None:
        """Count a launch whose request began at `mark`; only those of the window count."""
        if mark.segment is Segment.WINDOW:
            self._launches += 1
            self._totals.launches += 1

    def submitted(self, mark: Mark) -> None:
        """Count a finished journey whose last request began at `mark`; only those of the window count."""
        if mark.segment is Segment.WINDOW:
            self._submissions += 1
            self._totals.submissions += 1

    @property
    def drained(self) -> bool:
        """Whether the window is over and every request begun in it has ended."""
        return self.schedule is not None and self._open == 0 and self._clock() >= self.schedule.window_end

    def take_part(self, *, final: bool = False) -> dict[str, Any] | None:
        """What was recorded since the last part, numbered from 1; None where that is nothing.

        The final part is never None. It carries the totals, how long after the window its last request ended, and the
        delays: by how much later than intended each request of the window began.
        """
        launches, submissions = self._launches, self._submissions
        touched = self._cells or self._warm_up or launches or submissions or any(map(any, self._segments))
        if not final and not touched:
            return None
        self._parts += 1
        part: dict[str, Any] = {
            "stage": list(self.identity[1:]),
            "seq": self._parts,
            "cells": [
                [block, method, name, "success" if ok else "failure", cell.content_bytes, cell.histogram.to_json()]
                for (block, method, name, ok), cell in self._cells.items()
            ],
            "warmUp": [
                [method, "success" if ok else "failure", cell.content_bytes, cell.histogram.to_json()]
                for (method, ok), cell in self._warm_up.items()
            ],
            "failures": [[*key, count] for key, count in self._failures.items()],
            "segments": self._segments,
            **({"launches": launches, "submissions": submissions} if self._journeys else {}),
        }
        self._cells, self._warm_up, self._failures = {}, {}, {}
        self._segments = [[0, 0] for _ in SEGMENT_NAMES]
        self._launches = self._submissions = 0
        if final:
            assert self.schedule is not None  # noqa: S101 - a final part ends a window
            part["final"] = {
                "parts": self._parts,
                "requests": self._totals.requests,
                "failures": self._totals.failures,
                "sumMicros": self._totals.sum_micros,
                "contentBytes": self._totals.content_bytes,
                "launches": self._totals.launches,
                "submissions": self._totals.submissions,
                "drainMicros": max(0, self._last_end - self.schedule.window_end) // NANOS_PER_MICRO,
            }
            part["delays"] = self._delays.to_json()
        return part
