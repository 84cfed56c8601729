"""A worker's side of the stages: keeps time with the master, records an attempt, sends its parts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event
from locust.runners import WorkerRunner

from loadtest_injector import garbage, messages
from loadtest_injector.arrivals import Pace
from loadtest_injector.clock import ClockEstimate, RoundTrip, estimate
from loadtest_injector.cpu import CpuSample, block_means, capacity, highest_mean, mean_percent
from loadtest_injector.recorder import Identity, Schedule
from loadtest_injector.settings import WorkerSettings
from loadtest_injector.users import Attempt, Users

REPORT_SECONDS = 1.0
"""A worker tells of itself, samples its CPU time and sends what it recorded this often."""

MASTER_SILENT_SECONDS = 5.0
"""A worker that has not heard of its master for so long stops its load and ends."""

_PINGS = 10
_PONG_SECONDS = 0.5
_DRAIN_POLL_SECONDS = 0.02
_WATCH_SECONDS = 0.1
_LATE_SECONDS = 1.0
_NANOS = 1_000_000_000
log = logging.getLogger(__name__)


class Agent:
    """What a worker does beside running users."""

    def __init__(self, settings: WorkerSettings, runner: WorkerRunner, users: Users) -> None:
        self.attempt: Attempt | None = None
        self._users = users
        self._settings = settings
        self._runner = runner
        self._cores = capacity(settings.cpu_limit_millis)
        self._heard = time.monotonic()
        self._pong = Event()
        self._trips: list[RoundTrip] = []
        self._clock: ClockEstimate | None = None
        self._cpu: list[CpuSample] = [_cpu_now()]
        listeners: list[tuple[str, Callable[..., None], bool]] = [
            (messages.PONG, self._on_pong, False),
            (messages.PREPARE, self._on_prepare, True),
            (messages.SCHEDULE, self._on_schedule, False),
            (messages.END, self._on_end, False),
        ]
        for name, listener, concurrent in listeners:
            runner.register_message(name, listener, concurrent)
        events: Any = runner.environment.events  # untyped in Locust
        events.heartbeat_received.add_listener(self._on_heartbeat)
        # All users run, or all are stopped: the master is not to wait for the next report to know it.
        events.spawning_complete.add_listener(self._on_users_changed)
        events.test_stop.add_listener(self._on_users_changed)

    def start(self) -> None:
        """Begin to report."""
        gevent.spawn(self._report)

    def watch_master(self) -> None:
        """Return when the master has been silent for too long."""
        before = time.monotonic()
        while True:
            gevent.sleep(_WATCH_SECONDS)
            now = time.monotonic()
            # After a pause of this process itself, what the master sent meanwhile is read first.
            if now - before < _LATE_SECONDS and now - self._heard > MASTER_SILENT_SECONDS:
                return
            before = now

    def _send(self, name: str, data: dict[str, Any]) -> None:
        try:
            self._runner.send_message(name, data)
        except Exception:
            log.exception("message %s was not sent", name)

    def _report(self) -> None:
        while True:
            self._tell_presence()
            gevent.sleep(REPORT_SECONDS)

    def _tell_presence(self) -> None:
        before, now = self._cpu[-1], _cpu_now()
        cpu = mean_percent([before, now], before.at, now.at, self._cores) if now.at > before.at else 0.0
        if self.attempt is None:
            self._cpu.clear()  # only the means of an attempt need more than the last sample
        self._cpu.append(now)
        users = self._runner.user_count
        self._send(messages.PRESENCE, {"name": self._settings.name, "users": users, "cpuPercent": cpu})

    def _on_heartbeat(self, **_facts: Any) -> None:
        self._heard = time.monotonic()

    def _on_users_changed(self, **_facts: Any) -> None:
        self._tell_presence()

    # Listeners of our messages take Locust's signature: keyword arguments environment and msg.

    def _on_pong(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        self._trips.append(RoundTrip(msg.data["sent"], msg.data["master"], time.monotonic_ns()))
        self._pong.set()

    def _on_prepare(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        # Locust ignores orders to spawn that are older than the last one by the wall clock, which may jump back.
        self._runner.last_received_spawn_timestamp = 0
        identity = Identity(self._settings.run, *msg.data["stage"])
        workers, rate = msg.data["workers"], msg.data["arrivalsPerSecond"]
        pace = Pace(rate, len(workers), workers.index(self._settings.name)) if rate else None
        self.attempt = self._users.attempt(identity, msg.data["requestTimeoutSeconds"], pace)
        garbage.hold()
        self._cpu = [_cpu_now()]
        self._trips = []
        for _ in range(_PINGS):
            self._pong.clear()
            self._send(messages.PING, {"sent": time.monotonic_ns()})
            self._pong.wait(_PONG_SECONDS)
        if not self._trips:
            return  # the master gives up on this worker in time
        self._clock = estimate(self._trips)
        answer = {"stage": msg.data["stage"], "offset": self._clock.offset, "uncertainty": self._clock.uncertainty}
        classes = [[user.__name__, user.weight, user.fixed_count] for user in self._users.classes]
        self._send(messages.PREPARED, {**answer, "classes": classes})

    def _on_schedule(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        attempt, data = self._attempt_of(msg.data), msg.data
        if attempt is None or self._clock is None:
            return
        to_worker = self._clock.to_worker
        window_at = to_worker(data["windowAt"])
        schedule = Schedule(to_worker(data["warmUpAt"]), window_at, to_worker(data["windowEnd"]))
        in_time = attempt.recorder.announce(schedule)
        if attempt.arrivals is not None:
            attempt.arrivals.announce(schedule)
        self._send(messages.ACCEPTED, {"stage": data["stage"], "inTime": in_time})
        gevent.spawn(self._send_parts, attempt, schedule)
        garbage.settle()

    def _on_end(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        if self._attempt_of(msg.data) is not None:
            self.attempt = None
            garbage.release()

    def _attempt_of(self, data: dict[str, Any]) -> Attempt | None:
        attempt = self.attempt
        return attempt if attempt is not None and list(attempt.recorder.identity[1:]) == data["stage"] else None

    def _send_parts(self, attempt: Attempt, schedule: Schedule) -> None:
        recorder = attempt.recorder
        while self.attempt is attempt and not attempt.drained:
            left = (schedule.window_end - time.monotonic_ns()) / _NANOS
            if left <= 0:
                # The window is over: nothing but its last requests is missing, and the next stage waits for them.
                gevent.sleep(_DRAIN_POLL_SECONDS)
                continue
            gevent.sleep(min(REPORT_SECONDS, left))
            part = recorder.take_part()
            if part is not None and self.attempt is attempt:
                self._send(messages.PART, part)
        if self.attempt is attempt:
            part = recorder.take_part(final=True)
            assert part is not None  # noqa: S101 - a final part is never None
            if attempt.arrivals is not None:
                part["open"] = attempt.arrivals.facts()
            self._send(messages.PART, {**part, "worker": self._facts(attempt, schedule)})

    def _facts(self, attempt: Attempt, schedule: Schedule) -> dict[str, Any]:
        samples = [*self._cpu, _cpu_now()]
        window = (schedule.window_at, schedule.window_end)
        seen = attempt.observation
        return {
            "cpuPercentBlocks": block_means(samples, *window, self._cores),
            "cpuPercentMax": highest_mean(samples, *window, self._cores),
            "unfinishedUsers": seen.unfinished if seen is not None else 0,
            "notes": [note.to_json() for note in seen.notes()] if seen is not None else [],
        }


def _cpu_now() -> CpuSample:
    return CpuSample(time.monotonic_ns(), time.process_time_ns())
