"""Open load: requests are asked for at fixed instants, whether the target keeps up or not.

Arrivals come at constant spacing, from the first instant of the schedule on. Arrival number g of all is that of worker
g modulo workers, so the spacing is constant over all workers too. Each is taken by the next idle user of its worker,
who sends the next request of its journey. Users who are all busy leave arrivals waiting, first come first served; one
that has waited longer than requestTimeout is dropped, and so is what has not begun when the window ends.

In a window are as many requests as arrivals, less the dropped ones, and more by those that were carried in: that began
in the window and had arrived before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import gevent
from gevent.event import Event

from loadtest_injector.histogram import Histogram
from loadtest_injector.recorder import NANOS_PER_MICRO, Mark, Schedule, Segment

_NANOS = 1_000_000_000


@dataclass(frozen=True)
class Pace:
    """The instants of one worker's arrivals: `rate` arrivals a second over all `workers`, of which it is `index`."""

    rate: int
    workers: int = 1
    index: int = 0

    def instant(self, number: int) -> int:
        """When this worker's arrival of this number (from 0) is due, in nanoseconds after the first of all."""
        return (number * self.workers + self.index) * _NANOS // self.rate

    def before(self, nanos: int) -> int:
        """How many arrivals of this worker are due before so many nanoseconds have passed."""
        of_all = -(-max(0, nanos) * self.rate // _NANOS)
        return max(0, -(-(of_all - self.index) // self.workers))


class Arrival(NamedTuple):
    """When an arrival was due, and when a user was ready for it: not before, as users wait for arrivals."""

    due: int
    ready: int


class Arrivals:
    """The arrivals of one attempt on one worker. Times are nanoseconds of the monotonic clock."""

    def __init__(
        self,
        pace: Pace,
        request_timeout_seconds: float,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = gevent.sleep,
    ) -> None:
        self.pace = pace
        self._patience = int(request_timeout_seconds * _NANOS)
        self._clock = clock
        self._sleep = sleep
        self._announced = Event()
        self._schedule = Schedule(0, 0, 0)
        self._next = 0
        self._next_at_end: int | None = None
        self._backlog_peak = 0
        self._begun = 0
        self._carried_in = 0
        self._intended = Histogram()

    def announce(self, schedule: Schedule) -> None:
        """Take over when the window will be; the first arrival is due at the schedule's first instant."""
        self._schedule = schedule
        self._announced.set()

    def take(self) -> Arrival:
        """Wait for this user's next arrival; returns when it is due, or at once where it has been waiting."""
        self._announced.wait()
        ready = self._clock()
        if self._next_at_end is None and ready >= self._schedule.window_end:
            self._next_at_end = self._next
        waiting, self._next = self._waiting(ready, self._next)
        if self._schedule.window_at <= ready < self._schedule.window_end:
            self._backlog_peak = max(self._backlog_peak, waiting)
        due = self._schedule.warm_up_at + self.pace.instant(self._next)
        self._next += 1
        now = ready
        while now < due:  # a timer may be early by as much as the loop was late when it was started
            self._sleep((due - now) / _NANOS)
            now = self._clock()
        return Arrival(due, max(due, ready))

    def begun(self, arrival: Arrival, mark: Mark) -> None:
        """The request of an arrival has begun."""
        if mark.segment is Segment.WINDOW:
            if arrival.due >= self._schedule.window_at:
                self._begun += 1
            else:
                self._carried_in += 1

    def succeeded(self, arrival: Arrival, mark: Mark, micros: int) -> None:
        """The request took `micros` microseconds from its actual start; from its arrival it took longer."""
        if mark.segment is Segment.WINDOW:
            self._intended.add(micros + (mark.start - arrival.due) // NANOS_PER_MICRO)

    def facts(self) -> dict[str, Any]:
        """What the final part says of the window's arrivals."""
        schedule, first = self._schedule, self._schedule.warm_up_at
        left = self._next if self._next_at_end is None else self._next_at_end
        return {
            "arrivals": self.pace.before(schedule.window_end - first) - self.pace.before(schedule.window_at - first),
            "begun": self._begun,
            "carriedIn": self._carried_in,
            "backlogPeak": max(self._backlog_peak, self._waiting(schedule.window_end, left)[0]),
            "intended": self._intended.to_json(),
        }

    def _waiting(self, at: int, following: int) -> tuple[int, int]:
        """How many arrivals wait at this instant, and the number of the first that is still good."""
        since = at - self._schedule.warm_up_at
        first = max(following, self.pace.before(since - self._patience))
        return max(0, self.pace.before(since) - first), first
