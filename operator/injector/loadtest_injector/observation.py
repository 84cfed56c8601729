"""What the users of a locustfile ask of the target in one attempt: their requests, each recorded once.

A request of one of Locust's HTTP clients, or of ours, is known from its begin (`begin`): its segment is decided there
and goes out in its header, as for a replayed one. Of any other client only Locust's request event is known, when all is
over: then the begin is taken from the event's start_time, by the wall clock (`began`).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Final
from weakref import WeakKeyDictionary

from loadtest_injector.failures import OTHER, failure_of
from loadtest_injector.names import Names
from loadtest_injector.problems import NAMES_CAPPED, Problem
from loadtest_injector.recorder import NANOS_PER_MICRO, Failure, Mark, Recorder, Segment

CONTEXT_KEY: Final = "loadtest"
"""Under this key the context of a request's event holds the `Sent` that it belongs to."""

EVENT_UNUSABLE = "EventUnusable"
"""A note: events without a response time in milliseconds were not counted."""

TASKS_FAILED = "TasksFailed"
"""A note: tasks of the locustfile ended with an exception."""

GRACE_NANOS = 1_000_000_000
"""After the window and requestTimeout, what has not ended by itself gets this long to be cut off."""

_TOLERATED_NANOS = 1_000_000  # start_time and response_time come from two clocks
_UNREPORTED = Failure(OTHER, "the locustfile did not report it: use catch_response=True in a with-block, to its end")
_NANOS = 1_000_000_000
log = logging.getLogger(__name__)


class Sent:
    """One request that was seen to begin. `micros` is how long it took, once the client has returned."""

    __slots__ = ("mark", "method", "micros", "name", "user")

    def __init__(self, mark: Mark, method: str, name: str, user: Any) -> None:
        self.mark = mark
        self.method = method
        self.name = name
        self.user = user
        self.micros: int | None = None


class Observation:
    """One attempt. `users` tells the running users; `custom` says that some are of no client that is seen to begin."""

    def __init__(
        self,
        recorder: Recorder,
        request_timeout_seconds: float,
        users: Callable[[], Iterable[Any]],
        *,
        custom: bool,
        clock: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.recorder = recorder
        self.request_timeout_seconds = request_timeout_seconds
        self.unfinished = 0
        """Users of whom it is not known, requestTimeout after the window, whether a request of theirs is under way."""
        self._users = users
        self._custom = custom
        self._clock = clock
        self._wall = wall
        self._sent: set[Sent] = set()
        self._unreported: set[Sent] = set()  # those of them that the client has returned from: few at any time
        self._awake: WeakKeyDictionary[Any, int | None] = WeakKeyDictionary()
        self._names = Names()
        self._unusable = 0
        self._failed_tasks = 0
        self._task_error = ""
        self._closed = False

    def begin(self, method: str, name: str, user: Any) -> Sent:
        """Note the start of a request, right before it is sent."""
        sent = Sent(self.recorder.began_at(self._clock()), method, name, user)
        self._sent.add(sent)
        return sent

    def returned(self, sent: Sent) -> None:
        """The client has the answer, or has given up; the event may follow later, at the end of a with-block."""
        if sent in self._sent:
            sent.micros = self.recorder.elapsed_micros(sent.mark)
            self._unreported.add(sent)

    def abandon(self, sent: Sent) -> None:
        """Forget a request whose user was stopped, or that was never sent; one whose event was fired has ended."""
        if sent in self._sent:
            self._forget(sent)
            self.recorder.abandon(sent.mark)

    def on_request(
        self,
        request_type: Any,
        name: Any,
        response_time: Any,
        response_length: Any = 0,
        exception: object = None,
        start_time: Any = None,
        context: Any = None,
        **_more: Any,
    ) -> None:
        """The listener of Locust's request event: record the request that it is about."""
        sent = context.get(CONTEXT_KEY) if isinstance(context, dict) else None
        micros = micros_of(response_time)
        if isinstance(sent, Sent):
            if sent not in self._sent:
                return  # it was recorded already: as one that took too long, or that nobody reported
            if micros is not None:
                self._forget(sent)
        else:
            self._custom = True
        if micros is None:
            self._unusable += 1
            return
        if isinstance(sent, Sent):
            mark = sent.mark
        elif self._closed:
            return
        else:
            mark = self.recorder.began_at(began(self._clock(), self._wall(), start_time, micros))
        failure = failure_of(exception) if exception else None
        size = response_length if isinstance(response_length, int) and response_length > 0 else 0
        self._record(mark, str(request_type), str(name), micros, content_bytes=size, failure=failure)

    def on_task_error(self, exception: object) -> None:
        """The listener of Locust's user_error event: a task ended with an exception."""
        self._failed_tasks += 1
        self._task_error = self._task_error or type(exception).__name__

    def asleep(self, user: Any) -> None:
        """The user waits between two tasks: whatever it has begun has ended, or nobody will report it."""
        self._awake[user] = None
        for sent in [sent for sent in self._unreported if sent.user is user]:
            self._end(sent, _UNREPORTED)

    def awake(self, user: Any, due: int) -> None:
        """The user's wait was to end at `due`, and has ended now."""
        now = self._clock()
        self._awake[user] = now
        self.recorder.late(now - due)

    @property
    def drained(self) -> bool:
        """Whether every request begun in the window has ended. What has not, requestTimeout later, is given up."""
        schedule = self.recorder.schedule
        now = self._clock()
        if self._closed:
            return True
        if schedule is None or now < schedule.window_end:
            return False
        busy = self._busy(schedule.window_end) if self._custom else 0
        if self.recorder.drained and not busy:
            self._closed = True
        elif now >= schedule.window_end + int(self.request_timeout_seconds * _NANOS) + GRACE_NANOS:
            self._closed = True
            self.unfinished = busy
            timeout = Failure("timeout", f"no whole answer within {self.request_timeout_seconds:g} s")
            for sent in list(self._sent):
                self._end(sent, timeout if sent.micros is None else _UNREPORTED)
        return self._closed

    def notes(self) -> list[Problem]:
        """What the record is to say of these requests beside themselves."""
        notes = []
        if self._names.further:
            text = f"{self._names.further} requests have names beyond the first {self._names.limit}: use `name=`"
            notes.append(Problem(NAMES_CAPPED, text))
        if self._unusable:
            text = f"{self._unusable} request events had no response_time in milliseconds and were not counted"
            notes.append(Problem(EVENT_UNUSABLE, text))
        if self._failed_tasks:
            text = f"{self._failed_tasks} tasks ended with an exception, the first with {self._task_error}: see the log"
            notes.append(Problem(TASKS_FAILED, text))
        return notes

    def _forget(self, sent: Sent) -> None:
        self._sent.discard(sent)
        self._unreported.discard(sent)

    def _end(self, sent: Sent, failure: Failure) -> None:
        self._forget(sent)
        micros = self.recorder.elapsed_micros(sent.mark) if sent.micros is None else sent.micros
        self._record(sent.mark, sent.method, sent.name, micros, content_bytes=0, failure=failure)

    def _record(
        self, mark: Mark, method: str, name: str, micros: int, *, content_bytes: int, failure: Failure | None
    ) -> None:
        if mark.segment is Segment.WINDOW:  # of the others no names are kept
            method, name = self._names.of(method, name)
        self.recorder.end(mark, method, name, micros, content_bytes=content_bytes, failure=failure)

    def _busy(self, window_end: int) -> int:
        """Users in a task that began before the end of the window: a request of theirs may be under way."""
        started = (self._awake.get(user, 0) for user in self._users())
        return sum(1 for awake in started if awake is not None and awake < window_end)


def micros_of(response_time: Any) -> int | None:
    """Milliseconds of an event in whole microseconds, rounded; None where it is no such number."""
    if not isinstance(response_time, int | float) or isinstance(response_time, bool):
        return None
    if not math.isfinite(response_time) or response_time < 0:
        return None
    return round(response_time * 1_000)


def began(now: int, wall: float, start_time: Any, micros: int) -> int:
    """When a request began, in nanoseconds of the monotonic clock, that `now` is known to have taken `micros`.

    `start_time` and `wall` (now) are seconds of the wall clock. Without start_time, or where it says that the request
    took less time than it did (the wall clock was set back meanwhile), it ended right now.
    """
    took = micros * NANOS_PER_MICRO
    if not isinstance(start_time, int | float) or isinstance(start_time, bool) or not math.isfinite(start_time):
        return now - took
    elapsed = int((wall - start_time) * _NANOS)
    return now - (elapsed if elapsed >= took - _TOLERATED_NANOS else took)
