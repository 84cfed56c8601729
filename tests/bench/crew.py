"""Many workers in one process: the agents and recorders of the injector, with made-up answers in place of users.

Arguments: MASTER_PORT WORKERS REQUESTS_PER_SECOND (of each worker) REQUESTS_FILE. It ends with SIGTERM, and then prints
how many parts it has sent and how many bytes they had.
"""

import gc
import json
import random
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event
from locust import User, runners, task
from locust.env import Environment
from locust.rpc import Message

from loadtest_injector import messages
from loadtest_injector.agent import Agent
from loadtest_injector.arrivals import Pace
from loadtest_injector.recorder import Identity, Recorder
from loadtest_injector.requests_file import parse
from loadtest_injector.settings import WorkerSettings
from loadtest_injector.users import Attempt

TICK_SECONDS = 0.1
MEDIAN_MICROS = 80_000
SIGMA = 0.6
"""The answers' latencies are log-normal: 99 % are below four times the median."""

CONTENT_BYTES = 9_763
_NEVER = 10**9


class Journey(User):
    """A user who does nothing."""

    @task
    def wait(self) -> None:
        """Until it is stopped."""
        gevent.sleep(_NEVER)


class RecordedUsers:
    """`Users` whose requests are made up and recorded: so many a second, over all endpoints of a journey."""

    def __init__(self, endpoints: list[tuple[str, str]], rate: float) -> None:
        self.classes: list[type[User]] = [Journey]
        self._endpoints = endpoints
        self._rate = rate
        self._current: Callable[[], Attempt | None] = lambda: None

    def join(self, runner: Any, attempt: Callable[[], Attempt | None]) -> None:
        """The worker's attempt is asked for while requests are made up."""
        self._current = attempt

    def attempt(self, identity: Identity, request_timeout_seconds: float, pace: Pace | None) -> Attempt:
        """A new attempt, with requests until it is over."""
        attempt = Attempt(Recorder(identity), request_timeout_seconds)
        gevent.spawn(self._record, attempt)
        return attempt

    def _record(self, attempt: Attempt) -> None:
        recorder = attempt.recorder
        latency = random.lognormvariate
        last, owed = time.monotonic(), 0.0
        gevent.sleep(random.uniform(0, TICK_SECONDS))  # noqa: S311 - the agent has taken the attempt over by then
        while self._current() is attempt:
            now = time.monotonic()
            owed += self._rate * (now - last)
            last = now
            for _ in range(int(owed)):
                method, name = random.choice(self._endpoints)  # noqa: S311 - not for secrecy
                mark = recorder.begin()
                micros = int(MEDIAN_MICROS * latency(0, SIGMA))
                recorder.end(mark, method, name, micros, content_bytes=CONTENT_BYTES)
            owed %= 1
            gevent.sleep(TICK_SECONDS)


class Sent:
    """Counts the parts with requests of the window that go out."""

    def __init__(self) -> None:
        self.parts = 0
        self.bytes = 0

    def count(self, send: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
        """The function that sends messages, counting."""

        def counting(name: str, data: Any) -> None:
            if name == messages.PART and data["cells"]:
                self.parts += 1
                message: Any = Message
                self.bytes += len(message(name, data, "").serialize())
            send(name, data)

        return counting


def main(port: str, count: str, rate: str, requests: str) -> None:
    """Join all workers and serve the master until SIGTERM."""
    random.seed(1)
    endpoints = [(entry.method, entry.name) for entry in parse(Path(requests).read_bytes()).entries]
    runners.MASTER_HEARTBEAT_TIMEOUT = _NEVER
    runners.WORKER_LOG_REPORT_INTERVAL = -1
    runners.CPU_MONITOR_INTERVAL = _NEVER  # one process needs no 250 monitors
    ended, sent = Event(), Sent()
    gevent.signal_handler(signal.SIGTERM, ended.set)
    for number in range(int(count)):
        users = RecordedUsers(endpoints, float(rate))
        options = Namespace(web_base_path="", headless=False)
        runner: Any = Environment(user_classes=users.classes, parsed_options=options).create_worker_runner(
            "127.0.0.1", int(port)
        )
        runner.send_message = sent.count(runner.send_message)
        settings = WorkerSettings("0123456789abcdef", 1, f"w{number}", "127.0.0.1", int(port), 0, 3_600, Path("unused"))
        agent = Agent(settings, runner, users)
        users.join(runner, partial(getattr, agent, "attempt"))
        agent.start()
    gc.freeze()  # each of the workers searches for garbage when an attempt begins: all of them together not 250 times
    ended.wait()
    sys.stdout.write(json.dumps({"parts": sent.parts, "bytes": sent.bytes}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
