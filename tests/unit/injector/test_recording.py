"""Recorder and tally, with the transport of parts between them in the hands of the test."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadtest_injector.recorder import MAX_MESSAGES, Failure, Identity, Recorder, Schedule
from loadtest_injector.tally import Tally

MILLI = 1_000_000
SECOND = 1_000 * MILLI
SCHEDULE = Schedule(warm_up_at=10 * SECOND, window_at=20 * SECOND, window_end=45 * SECOND)


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Worker:
    """A recorder whose time the test sets."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.recorder = Recorder(Identity("run", 3, 0, 1), self.clock)

    def request(self, start: float, seconds: float, name: str = "/a", failure: Failure | None = None) -> Any:
        self.clock.now = int(start * SECOND)
        mark = self.recorder.begin()
        self.clock.now += int(seconds * SECOND)
        micros = self.recorder.elapsed_micros(mark)
        self.recorder.end(mark, "GET", name, micros, content_bytes=100, failure=failure)
        return mark

    def final(self, at: float = 60) -> Any:
        self.clock.now = int(at * SECOND)
        assert self.recorder.drained
        return over_the_wire(self.recorder.take_part(final=True))


def over_the_wire(part: Any) -> Any:
    return json.loads(json.dumps(part))


@pytest.fixture
def worker():
    worker = Worker()
    assert worker.recorder.announce(SCHEDULE)
    return worker


@pytest.fixture
def tally():
    return Tally({"id-1": "worker-1"})


@pytest.mark.parametrize(
    ("start", "segment"),
    [(9.999, "ramp"), (10, "warm-up"), (19.999, "warm-up"), (20, "window"), (44.999, "window"), (45, "tail")],
)
def test_a_request_belongs_to_the_segment_in_which_it_starts_however_long_it_takes(
    worker: Worker, tally: Tally, start: Any, segment: Any
):
    mark = worker.request(start, seconds=30)
    assert worker.recorder.label(mark) == f"run/3/0/1/{segment}"
    tally.add("id-1", worker.final(80))
    assert {name: counts[0] for name, counts in tally.segments.items() if counts[0]} == {segment: 1}
    assert tally.requests == (1 if segment == "window" else 0)
    assert tally.problems() == []


def test_before_the_announcement_everything_is_ramp():
    worker = Worker()
    mark = worker.request(30, 1)
    assert worker.recorder.label(mark) == "run/3/0/1/ramp"
    assert not worker.recorder.drained


def test_an_announcement_that_comes_after_its_first_boundary_is_known_as_late():
    worker = Worker()
    worker.clock.now = 10 * SECOND
    assert worker.recorder.announce(SCHEDULE) is False


def test_the_worker_is_drained_when_the_last_request_of_the_window_has_ended(worker: Worker):
    recorder, clock = worker.recorder, worker.clock
    clock.now = 44 * SECOND
    slow, killed = recorder.begin(), recorder.begin()
    clock.now = 45 * SECOND
    tail = recorder.begin()
    assert not recorder.drained
    clock.now = 47 * SECOND + 5_000
    recorder.end(slow, "GET", "/a", 3_000_000, content_bytes=1)
    assert not recorder.drained
    recorder.abandon(killed)
    recorder.abandon(tail)
    assert recorder.drained
    assert recorder.take_part(final=True)["final"]["drainMicros"] == 2_000_005


def test_the_delay_is_from_the_intended_start_to_the_actual_one_of_the_requests_of_the_window(worker: Worker):
    recorder, clock = worker.recorder, worker.clock
    # (begun at, intended for): before the window, in it (in time, 5 ms late, none said, ahead of time), behind it.
    for start, intended in ((19, 18), (20, 20), (21.005, 21), (22, None), (23, 23.5), (46, 40)):
        clock.now = round(start * SECOND)
        mark = recorder.begin(None if intended is None else round(intended * SECOND))
        assert mark.intended == round((start if intended is None else intended) * SECOND)
        recorder.end(mark, "GET", "/a", 1, content_bytes=0)
    delays = worker.final()["delays"]
    assert (delays["count"], delays["sumMicros"], delays["maxMicros"], delays["minMicros"]) == (4, 5_000, 5_000, 0)


def test_the_delays_of_all_workers_are_one_histogram():
    tally = Tally({"id-1": "worker-1", "id-2": "worker-2", "id-3": "worker-3"})
    for number, late in (("id-1", 1_000), ("id-2", 2_000)):
        worker = Worker()
        worker.recorder.announce(SCHEDULE)
        worker.clock.now = 21 * SECOND
        worker.recorder.end(worker.recorder.begin(21 * SECOND - late * 1_000), "GET", "/", 5, content_bytes=0)
        tally.add(number, worker.final())
    assert (tally.delays.count, tally.delays.sum_micros, tally.delays.max_micros) == (2, 3_000, 2_000)
    assert tally.workers["id-3"].delays is None


def test_blocks_are_of_the_start_and_add_up_to_the_window(worker: Worker, tally: Tally):
    for start, seconds in ((20, 15), (29.9, 1), (30, 1), (44, 1)):
        worker.request(start, seconds)
    tally.add("id-1", worker.final())
    assert {block: series.histogram.count for (block, _, _), series in tally.blocks.items()} == {0: 2, 1: 1, 2: 1}
    assert tally.endpoints["GET", "/a", "success"].histogram.count == 4
    assert tally.endpoints["GET", "/a", "success"].content_bytes == 400


def test_a_part_holds_what_is_new_and_nothing_is_sent_where_nothing_is(worker: Worker):
    worker.request(21, 0.5)
    part = worker.recorder.take_part()
    assert (part["seq"], part["cells"][0][5]["count"]) == (1, 1)
    assert worker.recorder.take_part() is None
    worker.request(22, 0.5)
    part = worker.recorder.take_part()
    assert (part["seq"], part["cells"][0][5]["count"]) == (2, 1)


def parts_of(worker: Worker) -> list[Any]:
    parts = []
    for start in range(20, 26):
        worker.request(start, 0.25, failure=Failure("status", "expected 200, got 500") if start == 22 else None)
        parts.append(over_the_wire(worker.recorder.take_part()))
    parts.append(worker.final())
    return parts


def test_all_parts_in_any_order_add_up(worker: Worker, tally: Tally):
    for part in reversed(parts_of(worker)):
        assert tally.add("id-1", part)
    assert (tally.requests, tally.failed, tally.problems()) == (6, 1, [])
    assert dict(tally.failures) == {("GET", "/a", "status", "expected 200, got 500"): 1}
    # The failed request is no success however quick it was.
    assert tally.successes.count == 5
    assert set(tally.endpoints) == {("GET", "/a", "success"), ("GET", "/a", "failure")}


def test_a_part_that_comes_twice_counts_once(worker: Worker, tally: Tally):
    parts = parts_of(worker)
    for part in [*parts[:3], parts[1], *parts[2:], parts[-1]]:
        tally.add("id-1", part)
    sender = tally.workers["id-1"]
    assert (tally.requests, sender.duplicates, sender.gaps, tally.problems()) == (6, 3, 0, [])


@pytest.mark.parametrize("lost", [0, 3, 5])
def test_a_part_that_is_lost_is_noticed(worker: Worker, tally: Tally, lost: Any):
    for index, part in enumerate(parts_of(worker)):
        if index != lost:
            tally.add("id-1", part)
    assert [(p.reason, p.message) for p in tally.problems()] == [
        ("HistogramPartMissing", "1 of 7 parts of worker worker-1 did not arrive")
    ]
    assert tally.workers["id-1"].gaps == 1


def test_a_missing_final_part_is_noticed(worker: Worker, tally: Tally):
    for part in parts_of(worker)[:-1]:
        tally.add("id-1", part)
    assert tally.unfinished == ["worker-1"]
    assert [p.reason for p in tally.problems()] == ["HistogramPartMissing"]


@pytest.mark.parametrize("what", ["requests", "failures", "sumMicros", "contentBytes", "launches", "submissions"])
def test_parts_that_do_not_add_up_to_the_workers_own_count_are_noticed(worker: Worker, tally: Tally, what: Any):
    parts = parts_of(worker)
    parts[-1]["final"][what] += 1
    for part in parts:
        tally.add("id-1", part)
    assert [p.reason for p in tally.problems()] == ["CountMismatch"]


def test_parts_of_a_stranger_are_dropped(worker: Worker, tally: Tally):
    assert tally.add("id-9", worker.final()) is False
    assert tally.requests == 0


def test_launches_and_submissions_count_where_their_request_began_in_the_window(worker: Worker, tally: Tally):
    recorder = worker.recorder
    for start in (9, 15, 25, 50):
        mark = worker.request(start, 1)
        recorder.launched(mark)
        recorder.submitted(mark)
    tally.add("id-1", worker.final())
    assert dict(tally.counters) == {"launches": 1, "submissions": 1}


def test_a_warm_up_is_kept_apart_by_method_and_outcome(worker: Worker, tally: Tally):
    worker.request(12, 1)
    worker.request(13, 1, failure=Failure("reset", "x"))
    tally.add("id-1", worker.final())
    assert {key: series.histogram.count for key, series in tally.warm_up.items()} == {
        ("GET", "success"): 1,
        ("GET", "failure"): 1,
    }
    assert tally.endpoints == {}
    assert tally.failures == {}
    assert tally.segments["warm-up"] == [2, 1]


def test_endless_different_messages_do_not_fill_the_memory(worker: Worker, tally: Tally):
    for number in range(MAX_MESSAGES + 50):
        worker.request(21, 0.1, failure=Failure("protocol", f"{number} " + "x" * 1_000))
    tally.add("id-1", worker.final())
    assert sum(tally.failures.values()) == MAX_MESSAGES + 50
    assert tally.failures["GET", "/a", "protocol", "(further messages of kind protocol)"] == 50
    assert max(len(message) for *_, message in tally.failures) <= 200


def test_more_than_an_hour_is_clamped_and_still_adds_up(worker: Worker, tally: Tally):
    worker.request(21, 4_000)
    tally.add("id-1", worker.final(5_000))
    assert tally.problems() == []
    assert tally.successes.max_micros == 3_600_000_000
    assert tally.successes.clamped == 1
