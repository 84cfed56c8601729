"""The workers of a master: who is connected and alive, and what the stage engine does with them through Locust.

Locust's own answer to a worker that comes or goes is to spread the users anew. Here the workers of a stage are fixed
(`FixedDispatcher`): a change makes the stage invalid, and another distribution of users would only hide it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import gevent
from locust import User, runners
from locust.dispatch import UsersDispatcher
from locust.rpc import Message
from locust.runners import STATE_INIT, STATE_MISSING, MasterRunner

from loadtest_injector import messages

SILENT_SECONDS = 3.0
"""A worker that sent nothing for so long is lost. Workers send every second."""

STOP_SECONDS = 10.0
"""How long workers get to stop their users; a worker that takes longer is left to the next stage's check."""

_POLL_SECONDS = 0.02
_LATE_SECONDS = 1.0
_NEVER = 10**9
log = logging.getLogger(__name__)


UserClass = tuple[str, float, int]
"""Name, weight and fixed count of a class of users, as Locust has them."""


class FixedDispatcher(UsersDispatcher):
    """Deals users out over the workers that the stage began with, and over no others."""

    @property
    def dispatch_in_progress(self) -> bool:
        """Always true: Locust starts a new distribution in the middle of a stage where this is false."""
        return True

    def add_worker(self, worker_node: Any) -> None:
        """A worker that joins gets no users of this stage."""

    def remove_worker(self, worker_node: Any) -> None:
        """The users of a worker that leaves are not given to others."""


@dataclass
class Peer:
    """One connected worker, as it last told of itself; `heard` is on the master's monotonic clock."""

    name: str
    heard: float
    users: int = 0
    cpu_percent: float = 0.0


class Workers:
    """The workers behind a Locust master runner."""

    def __init__(self, runner: MasterRunner, clock: Callable[[], float] = time.monotonic) -> None:
        self._runner = runner
        self._clock = clock
        self._peers: dict[str, Peer] = {}
        self._last_check = clock()
        self._spawning: gevent.Greenlet[..., None] | None = None
        # Missing workers are dropped here; Locust's own removal, a minute later, would restart a stage that runs then.
        runners.HEARTBEAT_DEAD_INTERNAL = -_NEVER
        runner.register_message(messages.PRESENCE, self._on_presence)

    def _on_presence(self, environment: Any, msg: Any) -> None:  # noqa: ARG002 - Locust's signature
        data = msg.data
        self._peers[msg.node_id] = Peer(data["name"], self._clock(), data["users"], data["cpuPercent"])

    def drop_silent(self) -> None:
        """Forget workers that were not heard of for SILENT_SECONDS; called several times a second."""
        now = self._clock()
        late = now - self._last_check > _LATE_SECONDS
        self._last_check = now
        if late:
            return  # this process slept: what the workers sent meanwhile has not been read yet
        for worker in list(self._runner.clients):
            peer = self._peers.setdefault(worker, Peer("", now))
            if now - peer.heard > SILENT_SECONDS or self._runner.clients[worker].state == STATE_MISSING:
                log.warning("worker %s (%s) is lost", peer.name, worker)
                del self._runner.clients[worker]
                self._send("quit", None, worker)  # it may be alive behind a broken network: its load is to end
        for worker in [worker for worker in self._peers if worker not in self._runner.clients]:
            # A worker that stops its users leaves Locust's list for a moment and comes back by its heartbeat.
            if now - self._peers[worker].heard > SILENT_SECONDS:
                del self._peers[worker]

    def connected(self) -> dict[str, str]:
        """Names of all connected workers by id; a worker that has not said its name yet has the name ""."""
        return {worker: self._peers[worker].name if worker in self._peers else "" for worker in self._runner.clients}

    def ready(self) -> dict[str, str]:
        """Names by id of the workers that wait for users."""
        clients = self._runner.clients
        return {worker: name for worker, name in self.connected().items() if clients[worker].state == STATE_INIT}

    def users(self, workers: Iterable[str]) -> dict[str, int]:
        """How many users each of these workers says it runs; 0 where it is gone."""
        return {worker: self._peers[worker].users if worker in self._peers else 0 for worker in workers}

    def status(self) -> list[dict[str, Any]]:
        """The workers as the control port shows them."""
        return [
            {
                "name": name,
                "id": worker,
                "state": self._runner.clients[worker].state,
                "users": self._peers[worker].users,
                "cpuPercent": self._peers[worker].cpu_percent,
            }
            for worker, name in self.connected().items()
            if name
        ]

    def send(self, name: str, data: dict[str, Any], workers: Iterable[str]) -> None:
        """Send one of our messages to each of these workers that is connected."""
        for worker in workers:
            if worker in self._runner.clients:
                self._send(name, data, worker)

    def _send(self, name: str, data: dict[str, Any] | None, worker: str) -> None:
        try:
            self._runner.server.send_to_client(Message(name, data, worker))  # type: ignore[no-untyped-call]
        except Exception:
            log.exception("message %s to %s was not sent", name, worker)

    def start_users(self, users: int, spawn_rate: float, classes: list[UserClass]) -> None:
        """Begin to spawn users of these classes, dealt out evenly over all ready workers; returns at once.

        Only their names, weights and fixed counts matter here: the code of a locustfile is run by its workers alone.
        """
        self._runner.environment.user_classes = [
            type(name, (User,), {"weight": weight, "fixed_count": fixed_count}) for name, weight, fixed_count in classes
        ]
        self._spawning = gevent.spawn(self._runner.start, users, spawn_rate)

    @property
    def spawned(self) -> bool:
        """Whether Locust has dealt out all users."""
        return self._spawning is not None and self._spawning.ready()

    def stop_users(self, workers: Iterable[str]) -> None:
        """Stop all users at once and wait until these workers are ready again, or gone, or STOP_SECONDS are over."""
        if self._spawning is None:
            return
        self._spawning.kill()
        self._spawning = None
        gevent.sleep(_POLL_SECONDS)  # orders to spawn that are on their way to the socket go out before the stop
        waiting = set(workers) & set(self._runner.clients)
        for worker in waiting:
            self._send("stop", None, worker)
        self._runner.stop(send_stop_to_client=False)
        end = self._clock() + STOP_SECONDS
        while self._clock() < end and not waiting <= set(self.ready()):
            gevent.sleep(_POLL_SECONDS)
            waiting &= set(self._peers)
