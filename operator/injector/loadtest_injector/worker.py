"""A worker process: Locust's worker runner with the users of the scenario."""

from __future__ import annotations

import logging
import os
import signal
import time
from argparse import Namespace
from typing import Any

import gevent
from gevent.event import AsyncResult
from locust import runners
from locust.env import Environment

from loadtest_injector.agent import Agent
from loadtest_injector.client import tls_context
from loadtest_injector.replay import Tokens
from loadtest_injector.scenario import Scenario, load_scenario
from loadtest_injector.settings import WorkerSettings
from loadtest_injector.users import Context, Journey

EXIT_MASTER_LOST = 3
"""The master was never there, or has gone."""

_FAREWELL_SECONDS = 0.1
_NEVER = 10**9
log = logging.getLogger(__name__)


class _PooledTokens:
    """Makes tokens in a native thread, so that the 1 ms of RSA delays no other user's request."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def token(self) -> str:
        return str(gevent.get_hub().threadpool.apply(self._tokens.token))


def run_worker(settings: WorkerSettings) -> int:
    """Serve the master until it says quit, is lost, the deadline passes or SIGTERM comes; returns the exit code."""
    ended: AsyncResult[int] = AsyncResult()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, ended.set, os.EX_OK)
    started = time.monotonic()
    scenario = load_scenario(settings.scenario)
    tokens = _token_maker(scenario)
    tls = tls_context(scenario.ca)
    # A Namespace spares Locust's own parser, which reads the environment and files of its own.
    environment = Environment(user_classes=[Journey], parsed_options=Namespace(web_base_path="", headless=False))

    def serve() -> None:
        try:
            runner = environment.create_worker_runner(settings.master_host, settings.master_port)
        except ConnectionError:
            log.error("no master at %s:%s", settings.master_host, settings.master_port)  # noqa: TRY400 - not a bug
            ended.set(EXIT_MASTER_LOST)
            return
        agent = Agent(settings, runner)
        Journey.context_of_worker = Context(scenario, tls, tokens, lambda: agent.attempt)
        agent.start()
        log.info("worker %s is ready", settings.name)
        gevent.spawn(runner.greenlet.join).link(lambda _quit: ended.set(os.EX_OK))
        agent.watch_master()
        log.error("the master was silent for too long")
        ended.set(EXIT_MASTER_LOST)

    # Locust tells by the wall clock whether the master lives, which may jump; Agent does it by the monotonic one.
    runners.MASTER_HEARTBEAT_TIMEOUT = _NEVER
    runners.WORKER_LOG_REPORT_INTERVAL = -1
    gevent.spawn(serve)
    try:
        code: int | None = ended.get(timeout=settings.load_deadline_seconds - (time.monotonic() - started))
    except gevent.Timeout:
        log.warning("the load deadline has passed")
        code = os.EX_OK
    if environment.runner is not None:
        environment.runner.stop()
        events: Any = environment.events  # untyped in Locust
        events.quitting.fire(environment=environment)  # tells the master at once
        gevent.sleep(_FAREWELL_SECONDS)
    return os.EX_OK if code is None else code


def _token_maker(scenario: Scenario) -> Tokens | None:
    if scenario.launch is None:
        return None
    from loadtest_injector.launch import TokenMaker  # noqa: PLC0415 - 0.1 s that only launches need

    return _PooledTokens(TokenMaker(scenario.launch, scenario.journey))
