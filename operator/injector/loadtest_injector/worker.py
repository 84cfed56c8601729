"""A worker process: Locust's worker runner with the users of the scenario."""

from __future__ import annotations

import logging
import os
import signal
import time
from argparse import Namespace
from typing import Any

import gevent
import locust
from gevent.event import AsyncResult
from locust import runners
from locust.env import Environment

from loadtest_injector.agent import Agent
from loadtest_injector.scenario import Locustfile, Scenario, load_scenario
from loadtest_injector.settings import WorkerSettings
from loadtest_injector.termination import end_for_scenario
from loadtest_injector.users import ReplayingUsers, Users

EXIT_MASTER_LOST = 3
"""The master was never there, or has gone."""

_FAREWELL_SECONDS = 0.1
_NEVER = 10**9
log = logging.getLogger(__name__)


def run_worker(settings: WorkerSettings) -> int:
    """Serve the master until it says quit, is lost, the deadline passes or SIGTERM comes; returns the exit code."""
    ended: AsyncResult[int] = AsyncResult()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, ended.set, os.EX_OK)
    started = time.monotonic()
    scenario = load_scenario(settings.scenario)
    users = ReplayingUsers(scenario) if isinstance(scenario, Scenario) else _users_of(scenario)
    # A Namespace spares Locust's own parser, which reads the environment and files of its own.
    options = Namespace(web_base_path="", headless=False)
    environment = Environment(user_classes=users.classes, events=locust.events, parsed_options=options)

    def serve() -> None:
        try:
            runner = environment.create_worker_runner(settings.master_host, settings.master_port)
        except ConnectionError:
            log.error("no master at %s:%s", settings.master_host, settings.master_port)  # noqa: TRY400 - not a bug
            ended.set(EXIT_MASTER_LOST)
            return
        agent = Agent(settings, runner, users)
        users.join(runner, lambda: agent.attempt)
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


def _users_of(scenario: Locustfile) -> Users:
    from loadtest_injector.locustfile import ObservedUsers  # noqa: PLC0415 - 0.2 s that only locustfiles need

    return ObservedUsers(scenario, end_for_scenario)
