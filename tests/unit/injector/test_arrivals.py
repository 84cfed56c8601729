from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest_injector.arrivals import Arrivals, Pace
from loadtest_injector.histogram import Histogram
from loadtest_injector.recorder import Identity, Recorder, Schedule

SECOND = 1_000_000_000
paces = st.integers(1, 20).flatmap(
    lambda workers: st.builds(Pace, st.integers(1, 50_000), st.just(workers), st.integers(0, workers - 1))
)


@given(paces, st.integers(0, 10_000), st.integers(0, 20 * SECOND))
def test_arrivals_are_counted_as_they_are_due(pace: Pace, number: int, nanos: int) -> None:
    assert pace.before(pace.instant(number)) == number
    assert pace.before(pace.instant(number) + 1) == number + 1
    counted = pace.before(nanos)
    assert pace.instant(counted) >= nanos
    assert counted == 0 or pace.instant(counted - 1) < nanos


@given(st.integers(1, 50_000), st.integers(1, 20), st.integers(0, 20 * SECOND))
def test_all_workers_together_keep_the_rate_and_its_spacing(rate: int, workers: int, nanos: int) -> None:
    paces = [Pace(rate, workers, index) for index in range(workers)]
    assert sum(pace.before(nanos) for pace in paces) == Pace(rate).before(nanos)
    assert Pace(rate).before(SECOND) == rate
    merged = sorted(pace.instant(number) for pace in paces for number in range(3))
    gaps = {later - sooner for sooner, later in pairwise(merged)}
    assert gaps <= {SECOND // rate, SECOND // rate + 1}


class Time:
    """A clock that moves when somebody sleeps, and as often as it is told."""

    def __init__(self) -> None:
        self.now = 5 * SECOND
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(seconds * SECOND)


class Worker:
    """One worker of 10 arrivals a second, a warm-up of 1 s and a window of 2 s."""

    def __init__(self, timeout: float = 60) -> None:
        self.time = Time()
        self.first = self.time.now
        schedule = Schedule(self.first, self.first + SECOND, self.first + 3 * SECOND)
        self.recorder = Recorder(Identity("run", 1, 0, 1), clock=lambda: self.time.now)
        self.recorder.announce(schedule)
        self.arrivals = Arrivals(Pace(10), timeout, clock=lambda: self.time.now, sleep=self.time.sleep)
        self.arrivals.announce(schedule)

    def request(self, millis: int) -> tuple[int, int]:
        """Take an arrival and be busy; when it was due and when it began, in milliseconds after the first."""
        arrival = self.arrivals.take()
        mark = self.recorder.begin(arrival.ready)
        self.arrivals.begun(arrival, mark)
        self.time.now += millis * 1_000_000
        self.recorder.end(mark, "GET", "/", millis * 1_000, content_bytes=0)
        self.arrivals.succeeded(arrival, mark, millis * 1_000)
        return (arrival.due - self.first) // 1_000_000, (mark.start - self.first) // 1_000_000

    def until(self, millis: int, busy: int) -> None:
        """Requests one after the other, until this instant."""
        while self.time.now < self.first + millis * 1_000_000:
            self.request(busy)

    def facts(self) -> dict[str, Any]:
        facts = self.arrivals.facts()
        part = self.recorder.take_part(final=True)
        assert part is not None
        assert facts["begun"] + facts["carriedIn"] == part["final"]["requests"]
        return facts


def test_a_user_who_keeps_up_begins_each_request_at_its_arrival() -> None:
    worker = Worker()
    assert [worker.request(20) for _ in range(3)] == [(0, 0), (100, 100), (200, 200)]
    worker.until(3_500, 20)
    facts = worker.facts()
    assert (facts["arrivals"], facts["begun"], facts["carriedIn"], facts["backlogPeak"]) == (20, 20, 0, 0)
    intended = Histogram.from_json(facts["intended"])
    assert (intended.count, intended.min_micros, intended.max_micros) == (20, 20_000, 20_000)


def test_a_slow_target_leaves_arrivals_waiting_and_the_latency_from_them_grows() -> None:
    worker = Worker()
    assert [worker.request(200) for _ in range(3)] == [(0, 0), (100, 200), (200, 400)]
    worker.until(3_500, 200)
    facts = worker.facts()
    # At 200 ms each, those begun in the window of 2 s are of the arrivals 5 to 14: five of them due before it.
    assert (facts["arrivals"], facts["begun"], facts["carriedIn"]) == (20, 5, 5)
    # At 2,800 ms the arrivals due at 1,400 to 2,700 ms wait; at the end of the window one more, and one was taken.
    assert facts["backlogPeak"] == 15
    intended = Histogram.from_json(facts["intended"])
    assert (intended.min_micros, intended.max_micros) == (200_000 + 500_000, 200_000 + 1_400_000)


def test_an_arrival_that_waited_longer_than_the_timeout_is_dropped() -> None:
    worker = Worker(timeout=0.5)
    assert worker.request(1_050) == (0, 0)
    assert worker.request(10) == (600, 1_050), "those due at 100 to 500 ms have waited for more than 0.5 s"
    worker.until(3_500, 10)
    facts = worker.facts()
    assert (facts["arrivals"], facts["begun"], facts["carriedIn"], facts["backlogPeak"]) == (20, 20, 4, 5)


def test_users_who_are_all_busy_to_the_end_drop_what_is_left() -> None:
    worker = Worker()
    worker.until(900, 10)
    worker.request(5_000)
    facts = worker.facts()
    assert (facts["arrivals"], facts["begun"], facts["backlogPeak"]) == (20, 1, 19)


def test_a_timer_that_is_early_does_not_begin_a_request_before_its_arrival() -> None:
    worker = Worker()
    worker.request(1)
    early = worker.time.sleep
    worker.arrivals._sleep = lambda seconds: early(seconds / 2 if seconds > 0.001 else seconds)
    assert worker.request(1) == (100, 100)
    assert len(worker.time.slept) > 2


@pytest.mark.parametrize(("rate", "workers"), [(7, 3), (1_000, 4)])
def test_the_first_arrival_is_due_at_the_first_instant(rate: int, workers: int) -> None:
    assert min(Pace(rate, workers, index).instant(0) for index in range(workers)) == 0
