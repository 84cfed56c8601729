"""One attempt at a stage, on the master: from the joining of its workers to its record.

    joining -> ramp -> (warm-up ->) window -> tail -> measuring -> complete | invalid | stopped

Whatever ends it early (a lost or unexpected worker, the deadline, the operator) ends its load at once; the record is
made all the same and says why.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import gevent

from loadtest_injector import messages, problems
from loadtest_injector.clock import ClockEstimate
from loadtest_injector.health import judge
from loadtest_injector.measure.sampling import Sampling
from loadtest_injector.order import StageOrder
from loadtest_injector.problems import Problem
from loadtest_injector.record import Timing, WorkerFacts, build_record, encode_record
from loadtest_injector.recorder import NANOS_PER_MICRO, Identity
from loadtest_injector.tally import Tally
from loadtest_injector.workers import UserClass

NANOS = 1_000_000_000
ANNOUNCED_AHEAD_NANOS = NANOS
"""How long before it the window is announced, at least; ten times the clocks' uncertainty is added."""

DRAIN_GRACE_SECONDS = 10.0
"""After the window a worker has requestTimeout and this long to send its final part."""

PREPARE_SECONDS = 10.0
USERS_SECONDS = 10.0
"""After Locust has dealt out all users, workers have this long to say that they run them."""

RATE_SECONDS = 10.0
"""requestsPerSecond of the progress is a mean of about this long."""

_TICK_SECONDS = 0.05
log = logging.getLogger(__name__)


class Crew(Protocol):
    """What a stage needs of the workers."""

    def connected(self) -> dict[str, str]: ...  # noqa: D102 - see Workers
    def ready(self) -> dict[str, str]: ...  # noqa: D102
    def users(self, workers: Iterable[str]) -> dict[str, int]: ...  # noqa: D102
    def send(self, name: str, data: dict[str, Any], workers: Iterable[str]) -> None: ...  # noqa: D102
    def start_users(self, users: int, spawn_rate: float, classes: list[UserClass]) -> None: ...  # noqa: D102
    def stop_users(self, workers: Iterable[str]) -> None: ...  # noqa: D102
    @property
    def spawned(self) -> bool: ...  # noqa: D102


class _Ended(Exception):  # noqa: N818 - it ends a stage, as it should
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(reason, message)


class Stage:
    """One attempt. `run` blocks its greenlet until the attempt has ended; the other methods are quick."""

    def __init__(
        self,
        identity: Identity,
        order: StageOrder,
        crew: Crew,
        *,
        deadline_nanos: int,
        clock: Callable[[], int] = time.monotonic_ns,
        sampling: Sampling | None = None,
    ) -> None:
        self.identity = identity
        self.order = order
        self.state = "joining"
        self.problems: list[Problem] = []
        self.record: bytes | None = None
        self._crew = crew
        self._deadline = deadline_nanos
        self._clock = clock
        self._stopped = False
        self._sampling = sampling or Sampling(())
        self._workers: dict[str, str] = {}  # names by id, from the end of the joining
        self._tally = Tally({})
        self._facts: dict[str, WorkerFacts] = {}
        self._timing = Timing()
        self._clocks: dict[str, ClockEstimate] = {}
        self._accepted: dict[str, bool] = {}
        self._classes: list[UserClass] = []  # of every worker alike: all have the same scenario
        self._window_at: int | None = None
        self._arrivals: deque[tuple[int, int]] = deque()

    @property
    def ended(self) -> bool:
        """Whether the record is there."""
        return self.record is not None

    @property
    def key(self) -> list[int]:
        """How messages name this attempt."""
        return list(self.identity[1:])

    def stop(self) -> None:
        """End the load now. Changes nothing once the attempt has ended."""
        self._stopped = True

    def run(self) -> None:
        """Carry out the order and make the record."""
        whole = False
        try:
            self._join()
            self._prepare()
            self._ramp()
            self._hold()
            self._drain()
            whole = True
        except _Ended as ended:
            self.problems.append(ended.problem)
        except Exception:
            log.exception("stage %s failed", self.identity)
            self.problems.append(Problem(problems.INTERNAL_ERROR, "the master failed: see its log"))
        self._crew.send(messages.END, {"stage": self.key}, self._workers)
        self._crew.stop_users(self._workers)
        if whole:
            self._measure()
        self._close(whole=whole)

    def on_prepared(self, worker: str, data: dict[str, Any]) -> None:
        """A worker is prepared and knows the master's clock."""
        self._clocks[worker] = ClockEstimate(data["offset"], data["uncertainty"])
        self._classes = [(name, weight, fixed_count) for name, weight, fixed_count in data["classes"]]

    def on_accepted(self, worker: str, data: dict[str, Any]) -> None:
        """A worker knows when the window is."""
        self._accepted[worker] = data["inTime"]

    def on_part(self, worker: str, data: dict[str, Any]) -> None:
        """A worker sent what it recorded."""
        if self.ended or not self._tally.add(worker, data):
            return
        self._arrivals.append((self._clock(), self._tally.requests))
        while len(self._arrivals) > 1 and self._arrivals[1][0] < self._clock() - RATE_SECONDS * NANOS:
            self._arrivals.popleft()
        if "worker" in data:
            facts = self._facts[worker]
            facts.cpu_percent_blocks = data["worker"]["cpuPercentBlocks"]
            facts.cpu_percent_max = data["worker"]["cpuPercentMax"]
            facts.unfinished_users = data["worker"]["unfinishedUsers"]
            facts.notes = [Problem(note["reason"], note["message"]) for note in data["worker"]["notes"]]

    def progress(self) -> dict[str, Any]:
        """What the control port shows of this attempt."""
        tally = self._tally
        elapsed = 0 if self._window_at is None else max(0, self._clock() - self._window_at)
        if self.ended:
            elapsed = min(elapsed, self._timing.duration_micros * NANOS_PER_MICRO)
        return {
            "stage": self.identity.stage,
            "attempt": self.identity.attempt,
            "state": self.state,
            "users": 0 if self.ended else sum(self._crew.users(self._workers).values()),
            "elapsedSeconds": round(min(elapsed / NANOS, self.order.duration_seconds), 3),
            "durationSeconds": self.order.duration_seconds,
            "requests": tally.requests,
            "failures": tally.failed,
            "requestsPerSecond": self._rate(),
            "p99Micros": tally.successes.percentile(99),
            "problems": [problem.to_json() for problem in self.problems],
        }

    def _rate(self) -> float:
        if len(self._arrivals) < 2:  # noqa: PLR2004 - a rate needs two points
            return 0.0
        (first, before), (last, now) = self._arrivals[0], self._arrivals[-1]
        return round((now - before) * NANOS / max(1, last - first), 1)

    def _join(self) -> None:
        expected = sorted(self.order.expected_workers)
        end = self._clock() + int(self.order.join_timeout_seconds * NANOS)
        while True:
            self._check_orders()
            ready = self._crew.ready()
            connected = sorted(self._crew.connected().values())
            if sorted(ready.values()) == connected == expected:
                break
            if self._clock() >= end:
                missing = sorted(set(expected) - set(ready.values()))
                if missing:
                    raise _Ended(problems.WORKERS_MISSING, f"not ready in time: {', '.join(missing)}")
                extra = sorted(name or "(unnamed)" for name in connected if name not in expected) or connected
                raise _Ended(problems.WORKER_UNEXPECTED, f"connected beside the expected workers: {', '.join(extra)}")
            gevent.sleep(_TICK_SECONDS)
        self._workers = ready
        self._tally = Tally(ready)
        self._facts = {worker: WorkerFacts() for worker in ready}

    def _prepare(self) -> None:
        order = {
            "stage": self.key,
            "requestTimeoutSeconds": self.order.request_timeout_seconds,
            "workers": sorted(self.order.expected_workers),
            "arrivalsPerSecond": self.order.arrivals_per_second,
        }
        self._crew.send(messages.PREPARE, order, self._workers)
        self._wait(
            lambda: len(self._clocks) == len(self._workers),
            PREPARE_SECONDS,
            lambda: (problems.WORKER_LOST, f"not prepared in time: {self._names(set(self._clocks))}"),
        )
        for worker, facts in self._facts.items():
            facts.clock_offset_micros = self._clocks[worker].offset // NANOS_PER_MICRO
            facts.clock_uncertainty_micros = -(-self._clocks[worker].uncertainty // NANOS_PER_MICRO)

    def _ramp(self) -> None:
        self.state = "ramp"
        started = self._clock()
        self._crew.start_users(self.order.users, self.order.spawn_rate, self._classes)
        while not self._crew.spawned:
            self._check()
            gevent.sleep(_TICK_SECONDS)
        self._wait(
            lambda: self._running() == self.order.users,
            USERS_SECONDS,
            lambda: (problems.USERS_MISSING, f"{self._running()} of {self.order.users} users run"),
        )
        for worker, users in self._crew.users(self._workers).items():
            self._facts[worker].users = users
        now = self._clock()
        ahead = ANNOUNCED_AHEAD_NANOS + 10 * max(clock.uncertainty for clock in self._clocks.values())
        warm_up = int(self.order.warm_up_seconds * NANOS)
        duration = int(self.order.duration_seconds * NANOS)
        self._window_at = now + ahead + warm_up
        self._timing = Timing(
            started_at=time.time() + (self._window_at - now) / NANOS,
            duration_micros=duration // NANOS_PER_MICRO,
            announced_ahead_micros=ahead // NANOS_PER_MICRO,
            ramp_micros=(now + ahead - started) // NANOS_PER_MICRO,
            warm_up_micros=warm_up // NANOS_PER_MICRO,
        )
        schedule = {
            "stage": self.key,
            "warmUpAt": now + ahead,
            "windowAt": self._window_at,
            "windowEnd": self._window_at + duration,
        }
        self._crew.send(messages.SCHEDULE, schedule, self._workers)
        self._sampling.start(self._window_at, self._window_at + duration)
        self._watch_until(now + ahead)
        late = self._names({worker for worker, in_time in self._accepted.items() if in_time})
        if late:
            raise _Ended(problems.WINDOW_MISSED, f"heard of the window too late: {late}")

    def _hold(self) -> None:
        assert self._window_at is not None  # noqa: S101 - the ramp has set it
        if self.order.warm_up_seconds > 0:
            self.state = "warm-up"
            self._watch_until(self._window_at)
        self.state = "window"
        self._watch_until(self._window_at + self._timing.duration_micros * NANOS_PER_MICRO)

    def _drain(self) -> None:
        self.state = "tail"
        self._wait(
            lambda: not self._tally.unfinished,
            self.order.request_timeout_seconds + DRAIN_GRACE_SECONDS,
            lambda: (problems.HISTOGRAM_PART_MISSING, f"no final part came from: {', '.join(self._tally.unfinished)}"),
            finished=lambda: {worker for worker, sent in self._tally.workers.items() if sent.final is not None},
        )

    def _measure(self) -> None:
        """Wait for measurements whose last points come after the window's end. The load has ended."""
        self.state = "measuring"
        while not self._sampling.over and not self._stopped and self._clock() < self._deadline:
            gevent.sleep(_TICK_SECONDS)

    def _watch_until(self, instant: int) -> None:
        while (left := instant - self._clock()) > 0:
            self._check()
            if self._running() < self.order.users:
                raise _Ended(problems.USERS_MISSING, f"{self._running()} of {self.order.users} users run")
            gevent.sleep(min(_TICK_SECONDS, left / NANOS))

    def _wait(
        self,
        done: Callable[[], bool],
        seconds: float,
        problem: Callable[[], tuple[str, str]],
        finished: Callable[[], set[str]] = set,
    ) -> None:
        end = self._clock() + int(seconds * NANOS)
        while not done():
            self._check(finished())
            if self._clock() >= end:
                raise _Ended(*problem())
            gevent.sleep(_TICK_SECONDS)

    def _check_orders(self) -> None:
        if self._stopped:
            raise _Ended(problems.STOPPED, "the operator stopped the stage")
        if self._clock() >= self._deadline:
            raise _Ended(problems.DEADLINE_EXCEEDED, "the load deadline of the injectors passed")

    def _check(self, finished: Iterable[str] = ()) -> None:
        """Raise _Ended where the stage cannot go on. Workers that have `finished` may go: their part is in."""
        self._check_orders()
        connected = self._crew.connected()
        lost = self._names({*connected, *finished})
        if lost:
            raise _Ended(problems.WORKER_LOST, f"lost during {self.state}: {lost}")
        strangers = sorted(name or worker for worker, name in connected.items() if worker not in self._workers)
        if strangers:
            raise _Ended(problems.WORKER_UNEXPECTED, f"joined during {self.state}: {', '.join(strangers)}")

    def _running(self) -> int:
        return sum(self._crew.users(self._workers).values())

    def _names(self, without: set[str]) -> str:
        return ", ".join(sorted(name for worker, name in self._workers.items() if worker not in without))

    def _close(self, *, whole: bool) -> None:
        if whole:
            found = self._tally.problems()
            self.problems += found
            whole = not found
        notes = self._tally.notes()
        for worker, facts in self._facts.items():
            sender = self._tally.workers[worker]
            unfit, noted = judge(sender.name, facts.cpu_percent_max, sender.delays)
            self.problems += unfit
            notes += noted
            notes += [Problem(note.reason, f"worker {sender.name}: {note.message}") for note in facts.notes]
            if facts.unfinished_users:
                self.problems.append(problems.requests_unfinished(sender.name, facts.unfinished_users))
        record = build_record(
            self.identity,
            self.order,
            self._timing,
            self._tally,
            facts=self._facts,
            problems=self.problems,
            notes=notes,
            complete=whole,
            series=self._sampling.finish(),
        )
        self.record = encode_record(record)
        if any(problem.reason == problems.STOPPED for problem in self.problems):
            self.state = "stopped"
        else:
            self.state = "invalid" if self.problems else "complete"
        log.info("stage %s/%s: %s %s", self.identity.stage, self.identity.attempt, self.state, self.problems)
