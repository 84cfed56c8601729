"""The Locust user class of a scenario: one user walks its journeys until it is stopped."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from locust import User, task
from locust.exception import StopUser

from loadtest_injector.client import FastHttpClient
from loadtest_injector.recorder import Recorder
from loadtest_injector.replay import Replay, Tokens
from loadtest_injector.scenario import Scenario


@dataclass
class Attempt:
    """What users need to know of the attempt that they run in."""

    recorder: Recorder
    request_timeout_seconds: float


@dataclass
class Context:
    """What users need to know of the worker. `attempt` is asked once, when a user starts."""

    scenario: Scenario
    tls: ssl.SSLContext
    tokens: Tokens | None
    attempt: Callable[[], Attempt | None]


class Journey(User):
    """A user. The master knows of it the name alone; a worker sets the context."""

    context_of_worker: ClassVar[Context]

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        context = self.context_of_worker
        attempt = context.attempt()
        self._replay: Replay | None = None
        if attempt is not None:
            timeout = attempt.request_timeout_seconds
            self._client = FastHttpClient(context.scenario, context.tls, request_timeout_seconds=timeout)
            self._replay = Replay(
                context.scenario,
                self._client,
                attempt.recorder,
                context.tokens,
            )

    def on_start(self) -> None:
        """Begin at an instant of this user's own."""
        if self._replay is not None:
            self._replay.settle_in()

    @task
    def journey(self) -> None:
        """Walk one journey. Outside of an attempt nobody sends anything."""
        if self._replay is None:
            raise StopUser
        self._replay.journey()

    def on_stop(self) -> None:
        """Close the connection: idle ones of past stages would hold the target's."""
        if self._replay is not None:
            self._client.drop_connection()
