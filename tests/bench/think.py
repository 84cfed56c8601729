"""Users who think: 6,000 of them in one worker process, and how many injectors of 200 users one core carries."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.cases import CASES
from tests.bench.injector import failures_of, label, loading, problems_of, requests_of
from tests.bench.programs import BenchError, cpu_seconds
from tests.bench.site import Site
from tests.bench.throughput import say

USERS_PER_INJECTOR = 200
SEED_INJECTORS = 30
WAITS = (1, 2)
MOST_CPU_PERCENT = 90.0
MOST_DELAY_MICROS = 5_000
LEAST_SHARE = 0.95
"""An injector is carried whole where its users make this share at least of what waits alone would let them make."""

_REQUESTS_PER_USER_SECOND = 2 / (sum(WAITS) / 2)
"""A page and its form for each wait of 1 or 2 s, were answers to take no time."""

_MOST_INJECTORS = 75  # 15,000 users: nginx has 16,384 connections here
_SPAWN_RATE = 1_500.0
_MAX_STAGES = 7


@dataclass(frozen=True)
class Thinking:
    """One stage of thinking users."""

    injectors: int
    rate: float
    cpu_percent: float
    delay_micros: int
    p99_micros: int
    server_percent: float
    problems: tuple[str, ...]

    @property
    def carried(self) -> bool:
        """Whether the core carried these injectors: valid, not saturated, in time, and as much load as was wanted."""
        wanted = self.injectors * USERS_PER_INJECTOR * _REQUESTS_PER_USER_SECOND
        return (
            not self.problems
            and self.cpu_percent <= MOST_CPU_PERCENT
            and self.delay_micros < MOST_DELAY_MICROS
            and self.rate >= LEAST_SHARE * wanted
        )


def run(site: Site, *, seconds: float, folder: Path) -> list[Thinking]:
    """The seeds' 30 injectors first, then what is needed to find the most that one core carries."""
    stages: list[Thinking] = []
    deadline = _MAX_STAGES * (seconds + 40)
    with loading(site, CASES["journey"], folder, deadline=deadline, waits=WAITS) as injector:

        def carried(injectors: int) -> bool:
            site.forget()
            users, stage = injectors * USERS_PER_INJECTOR, len(stages)
            before = cpu_seconds(injector.worker_pid), site.cpu_seconds()
            record = injector.run(stage, users=users, seconds=seconds, spawn_rate=_SPAWN_RATE, warm_up=3)
            after = cpu_seconds(injector.worker_pid), site.cpu_seconds()
            served = sum(count for key, count in site.answers().items() if key[2] == label(stage))
            if served != requests_of(record) or failures_of(record):
                raise BenchError(
                    f"we counted {requests_of(record)} requests, {failures_of(record)} failed; the server {served}"
                )
            stages.append(_thinking(injectors, record, (after[1] - before[1]) / (after[0] - before[0] or 1)))
            found = stages[-1]
            say(
                f"{injectors:3} injectors  {found.rate:8,.0f} requests/s  CPU {found.cpu_percent:.0f} %  "
                f"own delay p99 {found.delay_micros / 1000:.2f} ms  {', '.join(found.problems) or 'valid'}"
            )
            return found.carried

        most_carried(carried, SEED_INJECTORS, _MOST_INJECTORS, _MAX_STAGES)
    return stages


def most_carried(carried: Callable[[int], bool], start: int, most: int, tries: int) -> int:
    """The most injectors for which `carried` holds: from `start` by a third up or down, then by halves, in `tries`."""
    good, bad = 0, most + 1
    count = start
    for _ in range(tries):
        if carried(count):
            good = count
        else:
            bad = count
        if bad - good <= 1:
            break
        if bad > most:
            count = min(most, good + max(1, good // 3))
        elif good == 0:
            count = max(1, bad - max(1, bad // 3))
        else:
            count = (good + bad) // 2
    return good


def _thinking(injectors: int, record: dict[str, Any], server_per_worker: float) -> Thinking:
    (worker,) = record["workers"]
    pages = [histogram for histogram in record["histograms"] if histogram["outcome"] == "success"]
    blocks = worker["cpuPercentBlocks"] or [worker["cpuPercentMax"] or 0.0]
    return Thinking(
        injectors,
        requests_of(record) / record["window"]["durationMicros"] * 1e6,
        worker["cpuPercentMax"] or 0.0,
        worker["latenessMicrosP99"] or 0,
        _percentile(pages, "99"),
        sum(blocks) / len(blocks) * server_per_worker,
        tuple(problems_of(record)),
    )


def _percentile(histograms: list[dict[str, Any]], percent: str) -> int:
    from loadtest_injector.histogram import Histogram  # noqa: PLC0415 - the other parts of the bench need no path to it

    merged = Histogram()
    for histogram in histograms:
        merged.merge(Histogram.from_json(histogram))
    return merged.percentile(percent) or 0


def table(stages: list[Thinking]) -> str:
    """The stages in order of size, as Markdown, and the largest that one core carried."""
    lines = [
        "| injectors of 200 users | requests/s | CPU of the worker | own delay, p99 | latency, p99 | CPU of nginx | |",
        "|--:|--:|--:|--:|--:|--:|---|",
    ]
    for stage in sorted(stages, key=lambda stage: stage.injectors):
        verdict = "carried" if stage.carried else "not carried"
        delay, latency = stage.delay_micros / 1000, stage.p99_micros / 1000
        lines.append(
            f"| {stage.injectors} | {stage.rate:,.0f} | {stage.cpu_percent:.0f} % | {delay:.2f} ms | "
            f"{latency:.1f} ms | {stage.server_percent:.0f} % | {verdict} |"
        )
    most = max((stage.injectors for stage in stages if stage.carried), default=0)
    more = min((stage.injectors for stage in stages if not stage.carried and stage.injectors > most), default=None)
    note = (
        f"Waits of {WAITS[0]} to {WAITS[1]} s after each page. One worker process on one core carried {most} injectors "
        f"({most * USERS_PER_INJECTOR:,} users){'' if more is None else f', and not {more}'}."
    )
    return "\n".join([*lines, "", note]) + "\n"
