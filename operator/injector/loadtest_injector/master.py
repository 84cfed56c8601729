"""The master process: Locust's master runner without users of its own, the stages of one repeat, the control port."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from http import HTTPStatus
from typing import Any

import gevent
from gevent.event import Event
from gevent.pywsgi import WSGIServer
from locust.env import Environment
from locust.runners import MasterRunner

from loadtest_injector import messages
from loadtest_injector.control import ControlPort, Key, Refused
from loadtest_injector.measure.sampling import Sampling
from loadtest_injector.order import StageOrder
from loadtest_injector.recorder import Identity
from loadtest_injector.settings import MasterSettings
from loadtest_injector.stage import NANOS, Stage
from loadtest_injector.workers import FixedDispatcher, Workers

_CHECK_SECONDS = 0.2
log = logging.getLogger(__name__)


class Master:
    """All stages of one repeat; what the control port drives."""

    def __init__(self, settings: MasterSettings, runner: MasterRunner) -> None:
        self.repeat = settings.repeat
        self._settings = settings
        self._started = time.monotonic_ns()
        self._deadline = self._started + int(settings.load_deadline_seconds * NANOS)
        self._runner = runner
        self._workers = Workers(runner)
        self._stages: dict[Key, Stage] = {}
        self._current: Key | None = None
        self._last_used = self._started
        runner.register_message(messages.PING, self._on_ping)
        runner.register_message(messages.PREPARED, self._on_prepared)
        runner.register_message(messages.ACCEPTED, self._on_accepted)
        runner.register_message(messages.PART, self._on_part)

    def watch(self) -> None:
        """Look after the workers; returns when the results have been held long enough."""
        hold = int(self._settings.results_hold_seconds * NANOS)
        while True:
            self._workers.drop_silent()
            if self._current is not None:
                self._last_used = time.monotonic_ns()
            elif time.monotonic_ns() - self._last_used > hold:
                return
            gevent.sleep(_CHECK_SECONDS)

    def status(self) -> dict[str, Any]:
        """The body of GET /v1/status."""
        return {
            "run": self._settings.run,
            "repeat": self.repeat,
            "uptimeSeconds": round((time.monotonic_ns() - self._started) / NANOS, 3),
            "workers": self._workers.status(),
            "current": None if self._current is None else str(self._current),
            "stages": {str(key): stage.progress() for key, stage in self._stages.items()},
        }

    def start(self, key: Key, order: StageOrder) -> dict[str, Any]:
        """Start the stage, or find it started by the same order; returns its progress."""
        known = self._stages.get(key)
        if known is not None:
            if known.order.body != order.body:
                raise Refused(HTTPStatus.CONFLICT, "OrderDiffers", f"{key} was started with another order")
            return known.progress()
        if self._current is not None:
            raise Refused(HTTPStatus.CONFLICT, "StageActive", f"{self._current} is active: stop it or wait for its end")
        if time.monotonic_ns() >= self._deadline:
            raise Refused(HTTPStatus.CONFLICT, "DeadlineExceeded", "the load deadline of the injectors has passed")
        identity = Identity(self._settings.run, self.repeat, *key)
        sampling = Sampling(order.measurements, self._settings.secrets)
        stage = Stage(identity, order, self._workers, deadline_nanos=self._deadline, sampling=sampling)
        self._stages[key] = stage
        self._current = key
        gevent.spawn(self._run, stage)
        return stage.progress()

    def _run(self, stage: Stage) -> None:
        stage.run()
        self._current = None

    def progress(self, key: Key) -> dict[str, Any]:
        """The progress of the stage."""
        return self._find(key).progress()

    def record(self, key: Key) -> bytes:
        """The record of the stage, as gzipped JSON."""
        record = self._find(key).record
        if record is None:
            raise Refused(HTTPStatus.CONFLICT, "NotFinished", f"{key} has not ended yet")
        return record

    def stop(self, key: Key) -> dict[str, Any]:
        """Stop the load of the stage; returns its progress."""
        stage = self._find(key)
        stage.stop()
        return stage.progress()

    def _find(self, key: Key) -> Stage:
        stage = self._stages.get(key)
        if stage is None:
            raise Refused(HTTPStatus.NOT_FOUND, "NotFound", f"{key} was never started here")
        return stage

    def _stage_of(self, data: dict[str, Any]) -> Stage | None:
        stage = self._stages.get(self._current) if self._current is not None else None
        return stage if stage is not None and stage.key == data["stage"] else None

    # Listeners take Locust's signature: keyword arguments environment and msg.

    def _on_ping(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        pong = {"sent": msg.data["sent"], "master": time.monotonic_ns()}
        self._workers.send(messages.PONG, pong, [msg.node_id])

    def _on_prepared(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        if (stage := self._stage_of(msg.data)) is not None:
            stage.on_prepared(msg.node_id, msg.data)

    def _on_accepted(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        if (stage := self._stage_of(msg.data)) is not None:
            stage.on_accepted(msg.node_id, msg.data)

    def _on_part(self, environment: Any, msg: Any) -> None:  # noqa: ARG002
        if (stage := self._stage_of(msg.data)) is not None:
            stage.on_part(msg.node_id, msg.data)


def run_master(settings: MasterSettings) -> int:
    """Serve until the results were held long enough or SIGTERM comes; returns the exit code."""
    environment = Environment(dispatcher_class=FixedDispatcher)  # workers tell what classes of users they have
    runner = environment.create_master_runner(settings.bind_host, settings.bind_port)
    master = Master(settings, runner)
    everywhere = "::" if socket.has_dualstack_ipv6() else ""
    host = everywhere if settings.bind_host == "*" else settings.bind_host
    server = WSGIServer((host, settings.control_port), ControlPort(master, settings.token_sha256), log=None)
    server.start()
    log.info("master of run %s, repeat %s, is ready", settings.run, settings.repeat)
    done = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, done.set)
    gevent.spawn(master.watch).link(lambda _watch: done.set())
    done.wait()
    server.stop(timeout=0)
    runner.quit()
    return os.EX_OK
