"""The users of a worker, and those of a requests file: each walks its journeys until it is stopped."""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import gevent
from locust import User, task
from locust.exception import StopUser
from locust.runners import WorkerRunner

from loadtest_injector.arrivals import Arrivals, Pace
from loadtest_injector.client import FastHttpClient, tls_context
from loadtest_injector.observation import Observation
from loadtest_injector.recorder import Identity, Recorder
from loadtest_injector.replay import Replay, Tokens
from loadtest_injector.scenario import Scenario
from loadtest_injector.token_stock import TokenStock


@dataclass
class Attempt:
    """What users need to know of the attempt that they run in.

    `observation` is there for users of a locustfile, `arrivals` in open load.
    """

    recorder: Recorder
    request_timeout_seconds: float
    observation: Observation | None = None
    arrivals: Arrivals | None = None

    @property
    def drained(self) -> bool:
        """Whether the window is over and every request begun in it has ended."""
        return self.recorder.drained if self.observation is None else self.observation.drained


class Users(Protocol):
    """The kind of users that a worker has."""

    classes: list[type[User]]

    def join(self, runner: WorkerRunner, attempt: Callable[[], Attempt | None]) -> None:
        """The worker has its runner; `attempt` tells the one that is on."""

    def attempt(self, identity: Identity, request_timeout_seconds: float, pace: Pace | None) -> Attempt:
        """A new attempt begins; users start after this. `pace` is that of open load."""


@dataclass
class Context:
    """What users need to know of the worker. `attempt` is asked once, when a user starts."""

    scenario: Scenario
    tls: ssl.SSLContext
    tokens: Tokens | None
    attempt: Callable[[], Attempt | None]


class Journey(User):
    """A user who replays the requests file; the worker sets the context."""

    context_of_worker: ClassVar[Context]

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._client: FastHttpClient | None = None

    def on_start(self) -> None:
        """Begin at an instant of this user's own; outside of an attempt nobody sends anything.

        Locust starts many users at a time. With waits of whole seconds they would all ask at once ever after; and what
        a user needs is made when it begins, so that a start holds nobody up.
        """
        context = self.context_of_worker
        attempt = context.attempt()
        if attempt is None:
            raise StopUser
        if context.scenario.wait_max and attempt.arrivals is None:
            gevent.sleep(random.random())  # noqa: S311 - not for secrecy
        timeout = attempt.request_timeout_seconds
        self._client = FastHttpClient(context.scenario, context.tls, request_timeout_seconds=timeout)
        self._replay = Replay(context.scenario, self._client, attempt.recorder, context.tokens, attempt.arrivals)

    @task
    def journey(self) -> None:
        """Walk one journey."""
        self._replay.journey()

    def on_stop(self) -> None:
        """Close the connection: idle ones of past stages would hold the target's."""
        if self._client is not None:
            self._client.drop_connection()


class ReplayingUsers:
    """Users who replay the requests file of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.classes: list[type[User]] = [Journey]
        self._scenario = scenario
        self._tokens = _token_maker(scenario)
        self._tls = tls_context(scenario.ca)

    def join(self, runner: WorkerRunner, attempt: Callable[[], Attempt | None]) -> None:  # noqa: ARG002 - of Users
        """Give users their context."""
        Journey.context_of_worker = Context(self._scenario, self._tls, self._tokens, attempt)

    def attempt(self, identity: Identity, request_timeout_seconds: float, pace: Pace | None) -> Attempt:
        """A new attempt."""
        arrivals = Arrivals(pace, request_timeout_seconds) if pace is not None else None
        return Attempt(Recorder(identity), request_timeout_seconds, arrivals=arrivals)


def _token_maker(scenario: Scenario) -> Tokens | None:
    if scenario.launch is None:
        return None
    from loadtest_injector.launch import TokenMaker  # noqa: PLC0415 - 0.1 s that only launches need

    return TokenStock(TokenMaker(scenario.launch, scenario.journey).token)
