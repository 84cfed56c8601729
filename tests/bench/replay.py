"""The census journey against the sample Runner: failures, launches and submissions as it counts them, and memory."""

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.injector import failures_of, injecting, label, problems_of, requests_of, write_scenario
from tests.bench.master import JOURNEY
from tests.bench.programs import BenchError
from tests.bench.throughput import say
from tests.runner.stack import Served, Stack

USERS = 30
WAITS = (0, 1)
"""Shorter than a respondent's, so that many journeys are finished in the time."""

_SAMPLE_SECONDS = 10.0
_WARM_UP_SECONDS = 20.0


@dataclass(frozen=True)
class Replayed:
    """What the record says, and the worker's memory (resident, in KiB) with the seconds since the window began."""

    seconds: float
    requests: int
    failures: int
    launches: int
    submissions: int
    memory: tuple[tuple[float, int], ...]

    @property
    def growth_percent(self) -> float:
        """The median of the last third of the memory above that of the first, in percent."""
        third = max(1, len(self.memory) // 3)
        first, last = (
            statistics.median(size for _, size in part) for part in (self.memory[:third], self.memory[-third:])
        )
        return (last / first - 1) * 100


def run(seconds: float, folder: Path) -> Replayed:
    """One stage; BenchError where a request failed or the Runner's log does not say what the record says."""
    folder.mkdir(parents=True)
    memory: list[tuple[float, int]] = []
    with _runner(folder) as (runner, keys):
        scenario = write_scenario(
            folder,
            json.loads(JOURNEY.read_text()),
            f"http://127.0.0.1:{runner.port}",
            waits=WAITS,
            launch_keys=keys,
        )
        with injecting(folder, scenario, deadline=seconds + 120) as injector:
            began: list[float] = []

            def watch(state: str) -> None:
                if state != "window":
                    return
                now = time.monotonic()
                began.append(now)
                if not memory or now - began[0] >= memory[-1][0] + _SAMPLE_SECONDS:
                    memory.append((now - began[0], _resident_kibibytes(injector.worker_pid)))
                    say(f"{memory[-1][0]:4.0f} s  worker {memory[-1][1] / 1024:.1f} MiB")

            record = injector.run(
                0, users=USERS, seconds=seconds, spawn_rate=USERS, warm_up=_WARM_UP_SECONDS, watch=watch
            )
        replayed = Replayed(
            seconds,
            requests_of(record),
            failures_of(record),
            record["counters"]["launches"],
            record["counters"]["submissions"],
            tuple(memory),
        )
        # A busy machine delays requests; here nothing is measured that this would change.
        if replayed.failures or set(problems_of(record)) - {"WorkerLate", "WorkerSaturated"}:
            raise BenchError(f"{replayed.failures} requests failed: {record['failures'][:5]} {record['problems']}")
        compare(replayed, runner.lines())
    return replayed


def compare(replayed: Replayed, lines: list[dict[str, Any]]) -> None:
    """BenchError where the lines of the Runner's log do not say what the record says."""
    entries = json.loads(JOURNEY.read_text())["requests"]
    last = (entries[-1]["method"], entries[-1]["url"].partition("?")[0])
    if sum((entry["method"], entry["url"].partition("?")[0]) == last for entry in entries) > 1:
        raise BenchError("the journey's last request comes more than once: it tells no submission")
    seen = Counter((line["method"], line["path"]) for line in lines if line["window"] == label(0))
    said = (replayed.requests, replayed.launches, replayed.submissions)
    logged = (sum(seen.values()), seen["GET", "/session"], seen[last])
    if said != logged:
        raise BenchError(f"requests, launches, submissions: the record says {said}, the Runner's log {logged}")


def _resident_kibibytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@contextmanager
def _runner(folder: Path) -> Iterator[tuple[Served, Path]]:
    stack = Stack(folder)
    try:
        stack.start()
        # Over plain http a client that keeps cookies as it should does not send a Secure one back.
        plain = {"EQ_ENABLE_SECURE_SESSION_COOKIE": "False"}
        with stack.serve("gunicorn-async", "ephemeral_storage", "False", **plain) as served:
            yield served, stack.keys
    finally:
        stack.close()


def table(replayed: Replayed) -> str:
    """The run, as Markdown."""
    first, last = replayed.memory[0][1] / 1024, replayed.memory[-1][1] / 1024
    row = (
        f"| {replayed.seconds:g} | {replayed.requests:,} | {replayed.failures} | {replayed.launches:,} | "
        f"{replayed.submissions:,} | {first:.1f} to {last:.1f} MiB | {replayed.growth_percent:.1f} % |"
    )
    lines = [
        "| seconds | requests | failures | launches | submissions | worker's memory | growth |",
        "|--:|--:|--:|--:|--:|--:|--:|",
        row,
    ]
    note = (
        f"{USERS} users with waits of {WAITS[0]} to {WAITS[1]} s against the sample Runner; all of the window. "
        "Requests, launches and submissions are what the Runner's log has. "
        "Growth: median of the last third against the first."
    )
    return "\n".join([*lines, "", note]) + "\n"
