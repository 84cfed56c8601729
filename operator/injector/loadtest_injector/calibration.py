"""How many requests a second of CPU makes on this machine: replaying users against a small target on loopback."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import gevent

from loadtest_injector.client import FastHttpClient, tls_context
from loadtest_injector.recorder import Identity, Recorder, Schedule
from loadtest_injector.replay import Replay
from loadtest_injector.requests_file import parse
from loadtest_injector.scenario import Scenario

USERS = 600
"""Users of a worker with something to do, and few enough for anybody's limit of open files."""

SETTLE_SECONDS = 3.0
_NANOS = 1_000_000_000
_REQUESTS = [{"method": "GET", "url": "/page/"}, {"method": "POST", "url": "/page/", "data": {"answer": "yes"}}]
_JOURNEY = {"schema_name": "calibration", "requests": _REQUESTS * 10}


class Measured(NamedTuple):
    """Requests that began in the window, those of them that failed, and the CPU time of this process meanwhile."""

    requests: int
    failures: int
    cpu_nanos: int


def measure(seconds: float, users: int = USERS) -> Measured:
    """Replay a page and its form with waits of 1 to 2 s for so long, recorded as in a run, and look at the CPU time."""
    with _target() as port:
        journey = parse(json.dumps(_JOURNEY).encode(), launch=False)
        scenario = Scenario(journey, f"http://127.0.0.1:{port}", 1, 2, request_timeout_seconds=10)
        recorder = Recorder(Identity("calibration", 1, 0, 1))
        tls = tls_context(None)
        greenlets = [gevent.spawn(_user, scenario, tls, recorder, number / users) for number in range(users)]
        gevent.sleep(SETTLE_SECONDS)
        begin = time.monotonic_ns()
        recorder.announce(Schedule(begin, begin, begin + int(seconds * _NANOS)))
        used = time.process_time_ns()
        while (left := begin + int(seconds * _NANOS) - time.monotonic_ns()) > 0:
            gevent.sleep(min(1.0, left / _NANOS))
            json.dumps(recorder.take_part())  # as a worker does every second
        used = time.process_time_ns() - used
        while not recorder.drained:
            gevent.sleep(0.05)
        gevent.killall(greenlets)
        part = recorder.take_part(final=True)
    assert part is not None  # noqa: S101 - a final part is never None
    return Measured(part["final"]["requests"], part["final"]["failures"], used)


def _user(scenario: Scenario, tls: ssl.SSLContext, recorder: Recorder, after: float) -> None:
    gevent.sleep(after)
    client = FastHttpClient(scenario, tls, request_timeout_seconds=10)
    replay = Replay(scenario, client, recorder, None)
    while True:
        replay.journey()


@contextmanager
def _target() -> Iterator[int]:
    command = [sys.executable, "-m", "loadtest_injector.loopback"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own
        assert process.stdin is not None  # noqa: S101 - as asked for
        assert process.stdout is not None  # noqa: S101
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
