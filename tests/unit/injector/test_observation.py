"""The requests of a locustfile's users, with clocks of the test's making."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest_injector.names import FURTHER, MAX_LENGTH, MAX_METHODS, Names
from loadtest_injector.observation import CONTEXT_KEY, Observation, began, micros_of
from loadtest_injector.recorder import Identity, Recorder, Schedule

SECOND = 1_000_000_000
MILLI = 1_000_000
WALL = 1_700_000_000.0


@pytest.mark.parametrize(
    ("response_time", "micros"),
    [(12, 12_000), (0.0004, 0), (1.5, 1_500), (0, 0), (None, None), (-1, None), (float("nan"), None), ("12", None),
     (float("inf"), None), (True, None)],
)  # fmt: skip
def test_a_response_time_is_milliseconds_or_nothing(response_time: Any, micros: int | None) -> None:
    assert micros_of(response_time) == micros


@pytest.mark.parametrize(
    ("start_time", "ago"),
    [
        (WALL - 0.050, 50 * MILLI),  # reported at once
        (WALL - 2, 2 * SECOND),  # reported later than it ended
        (WALL - 0.0495, 49_500_000),  # two clocks, half a millisecond apart
        (WALL + 3_600, 50 * MILLI),  # the wall clock was set back meanwhile
        (WALL - 0.010, 50 * MILLI),
        (None, 50 * MILLI),
        ("yesterday", 50 * MILLI),
        (float("nan"), 50 * MILLI),
    ],
)
def test_a_begin_is_taken_from_the_wall_clock_unless_it_contradicts_the_time_taken(start_time: Any, ago: int) -> None:
    # A float holds the wall clock to a quarter of a microsecond.
    assert began(90 * SECOND, WALL, start_time, 50_000) == pytest.approx(90 * SECOND - ago, abs=500)


class User:
    """Stands for a Locust user."""


class Watched:
    """An observation of a window from 10 s to 20 s, at the instant `now`."""

    def __init__(self, *, custom: bool = False) -> None:
        self.now = 0
        self.user = User()
        self.recorder = Recorder(Identity("run", 1, 0, 1), clock=lambda: self.now, journeys=False)
        self.recorder.announce(Schedule(10 * SECOND, 10 * SECOND, 20 * SECOND))
        self.seen = Observation(
            self.recorder, 5, lambda: [self.user], custom=custom,
            clock=lambda: self.now, wall=lambda: WALL + self.now / SECOND,
        )  # fmt: skip

    def at(self, seconds: float) -> Watched:
        self.now = int(seconds * SECOND)
        return self

    def event(self, name: str = "/", took: Any = 10, exception: Any = None, **more: Any) -> None:
        self.seen.on_request("GET", name, took, 100, exception=exception, **more)

    def totals(self) -> tuple[int, int]:
        part = self.recorder.take_part(final=True)
        assert part is not None
        assert "launches" not in part
        return part["final"]["requests"], part["final"]["failures"]


def test_a_request_belongs_where_it_began_however_late_it_is_reported() -> None:
    watched = Watched()
    sent = watched.at(19.9).seen.begin("GET", "/", watched.user)
    assert watched.recorder.label(sent.mark).endswith("/window")
    watched.at(20.5).seen.returned(sent)
    assert not watched.seen.drained
    watched.at(21).event(took=600, context={CONTEXT_KEY: sent})
    assert watched.seen.drained
    assert watched.totals() == (1, 0)


def test_an_event_counts_once() -> None:
    watched = Watched()
    sent = watched.at(12).seen.begin("GET", "/", watched.user)
    for _ in range(2):
        watched.event(context={CONTEXT_KEY: sent})
    watched.seen.abandon(sent)
    assert watched.at(20).seen.drained
    assert watched.totals() == (1, 0)


def test_what_never_ends_is_a_failure_when_its_time_is_over() -> None:
    watched = Watched()
    sent = watched.at(19).seen.begin("GET", "/", watched.user)
    assert not watched.at(25.9).seen.drained
    assert watched.at(26).seen.drained
    watched.event(context={CONTEXT_KEY: sent})
    assert watched.totals() == (1, 1)
    assert watched.seen.unfinished == 0


def test_a_request_that_is_not_reported_by_the_end_of_its_task_is_a_failure_with_its_own_time() -> None:
    watched = Watched()
    sent = watched.at(12).seen.begin("GET", "/", watched.user)
    watched.at(12.5).seen.returned(sent)
    watched.at(14).seen.asleep(watched.user)
    part = watched.at(20).recorder.take_part()
    assert part is not None
    assert part["failures"][0][2] == "other"
    assert part["cells"][0][5]["maxMicros"] == 500_000


def test_a_user_who_is_stopped_leaves_nothing_open() -> None:
    watched = Watched()
    watched.seen.abandon(watched.at(12).seen.begin("GET", "/", watched.user))
    assert watched.at(20).seen.drained
    assert watched.totals() == (0, 0)


def test_of_a_client_of_ones_own_the_stage_waits_for_the_end_of_the_task() -> None:
    watched = Watched(custom=True)
    watched.at(15).seen.awake(watched.user, 15 * SECOND)
    assert not watched.at(20).seen.drained
    watched.at(21).event(took=2_000, start_time=WALL + 19)
    assert not watched.seen.drained, "another request of the same task may be under way"
    watched.seen.asleep(watched.user)
    assert watched.seen.drained
    assert watched.totals() == (1, 0)


def test_a_task_that_goes_on_for_too_long_is_told() -> None:
    watched = Watched(custom=True)
    assert not watched.at(25.9).seen.drained
    assert watched.at(26).seen.drained
    assert watched.seen.unfinished == 1
    watched.event(took=100, start_time=WALL + 19)
    assert watched.totals() == (0, 0), "it is too late, and the stage is invalid"


def test_a_task_that_began_after_the_window_is_not_waited_for() -> None:
    watched = Watched(custom=True)
    watched.at(20.1).seen.awake(watched.user, 20 * SECOND)
    assert watched.seen.drained


def test_how_late_users_wake_up_is_the_injectors_delay() -> None:
    watched = Watched()
    watched.at(12).seen.awake(watched.user, 12 * SECOND - 3 * MILLI)
    watched.at(9).seen.awake(watched.user, 8 * SECOND)
    part = watched.at(20).recorder.take_part(final=True)
    assert part is not None
    assert (part["delays"]["count"], part["delays"]["maxMicros"]) == (1, 3_000)


def test_what_was_left_out_is_in_the_notes() -> None:
    watched = Watched()
    for number in range(600):
        watched.at(12).event(f"/{number}/")
    watched.event(took=None)
    watched.seen.on_task_error(KeyError("x"))
    notes = {note.reason: note.message for note in watched.seen.notes()}
    assert notes["NamesCapped"].startswith("100 requests have names beyond the first 500")
    assert notes["EventUnusable"].startswith("1 request events")
    assert "the first with KeyError" in notes["TasksFailed"]
    assert watched.totals() == (600, 0)


def test_names_and_methods_are_bounded_in_number_and_length() -> None:
    names = Names(2)
    assert [names.of("GET", name) for name in ("a", "b", "c", "a")] == [
        ("GET", "a"), ("GET", "b"), ("GET", FURTHER), ("GET", "a")
    ]  # fmt: skip
    assert names.further == 1
    assert names.of("GET", "a" * 1_000) == ("GET", FURTHER)
    assert Names().of("GET", "a" * 1_000) == ("GET", "a" * MAX_LENGTH)
    methods = {Names.of(names, f"M{number}", "a")[0] for number in range(100)}
    assert len(methods) == MAX_METHODS, "GET, and one less than that of the others, and what is beyond"
    assert FURTHER in methods
