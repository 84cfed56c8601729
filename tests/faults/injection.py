"""What goes wrong, and when: at one write, for a while from a phase on, or once in a phase.

A `Tap` sits between the operator and the world in memory. It counts what the operator asks for, and lets its faults
raise there. A fault that was never reached is told by `happened`, so that no run passes without its fault.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from loadtest.ports import Outdated, Unavailable
from tests.faults.phases import phase_of
from tests.unit.reconcile.world import World


class Crash(BaseException):
    """The operator is killed here: nothing of it runs on, not even its own handling of errors."""


class Fault:
    """Nothing goes wrong. Others override what they need."""

    happened = True
    restart_seconds = 1.0
    """How long no operator runs after a crash."""

    def tick(self, w: World) -> None:
        """Before each step."""

    def read(self, w: World, what: str) -> None:
        """At each read."""

    def before(self, w: World, what: str) -> None:
        """Before each write has its effect."""

    def after(self, w: World, what: str) -> None:
        """After each write has had its effect, before the operator hears of it."""


HOWS = ("before", "after", "lost")
"""The operator dies before the write has its effect; dies after it; lives, but the answer is lost."""

OTHER_HOWS = ("refused", "conflict", "cancelled")
"""The write is answered by a 500; by a 409; the step is cancelled there, as kopf does on SIGTERM."""


class AtWrite(Fault):
    """Something happens to the write of this number, counted from 1 over the whole run, attempts included."""

    def __init__(self, number: int, how: str) -> None:
        self.number, self.how, self.seen, self.happened = number, how, 0, False
        self.phase: str | None = None

    def before(self, w: World, what: str) -> None:
        self.seen += 1
        if self.seen != self.number:
            return
        self.happened, self.phase = True, phase_of(w)
        match self.how:
            case "before":
                raise Crash(what)
            case "refused":
                raise Unavailable(f"{what}: refused by the test")
            case "conflict":
                raise Outdated(f"{what}: changed by the test")
            case "cancelled":
                raise asyncio.CancelledError

    def after(self, w: World, what: str) -> None:
        if self.seen != self.number:
            return
        if self.how == "after":
            raise Crash(what)
        if self.how == "lost":
            self.seen += 1
            raise Unavailable(f"{what}: the answer was lost by the test")


@dataclass
class Away(Fault):
    """The operator dies in the phase, at its next read, and no other one comes for so many seconds."""

    phase: str
    restart_seconds: float
    happened: bool = False
    due: bool = False

    def tick(self, w: World) -> None:
        self.due = not self.happened and phase_of(w) == self.phase

    def read(self, w: World, what: str) -> None:
        if self.due:
            self.due, self.happened = False, True
            raise Crash(what)


@dataclass
class Once(Fault):
    """`change` happens to the world once, at the first step of `phase`."""

    phase: str
    change: Callable[[World], None]
    happened: bool = False

    def tick(self, w: World) -> None:
        if not self.happened and phase_of(w) == self.phase:
            self.happened = True
            self.change(w)


@dataclass
class While(Fault):
    """From the first step of `phase` on, for so many seconds: `begin` and `end` change the world, `error` is raised.

    Attributes:
        on: the reads and writes that fail, by name; all where it is empty.
    """

    phase: str
    seconds: float
    error: Callable[[str], BaseException] | None = None
    on: frozenset[str] = frozenset()
    begin: Callable[[World], None] = lambda _: None
    end: Callable[[World], None] = lambda _: None
    since: datetime | None = None
    over: bool = False
    raised: int = 0
    quiet: bool = True
    """Nothing has to be raised for the fault to count: it changed the world."""

    @property
    def happened(self) -> bool:  # type: ignore[override]
        return self.since is not None and (self.quiet or self.raised > 0)

    def tick(self, w: World) -> None:
        if self.since is None and phase_of(w) == self.phase:
            self.since = w.now
            self.begin(w)
        elif self.since is not None and not self.over and w.now >= self.since + timedelta(seconds=self.seconds):
            self.over = True
            self.end(w)

    def read(self, w: World, what: str) -> None:
        self._raise(what)

    def before(self, w: World, what: str) -> None:
        self._raise(what)

    def _raise(self, what: str) -> None:
        if self.since is not None and not self.over and self.error is not None and (not self.on or what in self.on):
            self.raised += 1
            raise self.error(what)


@dataclass
class Stale(Fault):
    """From `phase` on, for so many seconds, the LoadTest is read as it was then: a watch cache that hangs."""

    phase: str
    seconds: float
    since: datetime | None = None
    happened: bool = False

    def tick(self, w: World) -> None:
        if self.since is None and phase_of(w) == self.phase:
            self.since, w.stale = w.now, w.body()
        elif self.since is not None and w.now >= self.since + timedelta(seconds=self.seconds):
            w.stale = None

    def read(self, w: World, what: str) -> None:
        self.happened = self.happened or (w.stale is not None and w.stale != w.body())


@dataclass
class Tap(Fault):
    """Counts, lets the fault act, and keeps a dead operator from writing any further."""

    fault: Fault
    dead: bool = False
    reads: int = 0
    attempts: Counter[str] = field(default_factory=Counter)

    def tick(self, w: World) -> None:
        self.fault.tick(w)

    def read(self, w: World, what: str) -> None:
        self.reads += 1
        self._dead()
        self.fault.read(w, what)

    def before(self, w: World, what: str) -> None:
        self._dead()
        self.attempts[what] += 1
        self._try(self.fault.before, w, what)

    def after(self, w: World, what: str) -> None:
        self._try(self.fault.after, w, what)

    def _dead(self) -> None:
        if self.dead:
            raise Crash("dead already")

    def _try(self, act: Callable[[World, str], None], w: World, what: str) -> None:
        try:
            act(w, what)
        except (Crash, asyncio.CancelledError):
            self.dead = True
            raise
