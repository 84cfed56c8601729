"""What a master takes in: its CPU and the bytes of its workers' parts, for the seeds' crews and for a large one."""

import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.bench.injector import failures_of, mastering, problems_of, requests_of
from tests.bench.programs import LOAD_CORE, PYTHON, BenchError, cpu_seconds, environment, running, wait_until
from tests.bench.throughput import say
from tests.cluster.paths import TREE

JOURNEY = TREE / "samples" / "runner" / "journeys" / "census_household_gb_eng.json"
CREWS = (30, 250)
RATE = 246.0
"""Requests a second of one injector of 200 users in the seeds, while nothing is saturated."""

_START_SECONDS = 60.0
_FEWEST = 0.9  # of the requests that were to be made up


@dataclass(frozen=True)
class Taken:
    """One stage of a crew."""

    workers: int
    rate: float
    parts_per_second: float
    bytes_per_second: float
    cpu_percent: float
    peak_mebibytes: float


def run(seconds: float, folder: Path) -> list[Taken]:
    """One stage for each crew."""
    return [_take(workers, seconds, folder / f"crew-{workers}") for workers in CREWS]


def _take(workers: int, seconds: float, folder: Path) -> Taken:
    folder.mkdir(parents=True)
    command = [PYTHON, "-m", "tests.bench.crew"]
    used: list[tuple[float, float]] = []
    with mastering(folder, deadline=seconds + 300) as master:

        def watch(state: str) -> None:
            if state == "window":
                used.append((time.monotonic(), cpu_seconds(master.master_pid)))

        arguments = [str(master.bind_port), str(workers), str(RATE), str(JOURNEY)]
        log = folder / "crew.log"
        with running(LOAD_CORE, [*command, *arguments], log, environment()):
            wait_until(lambda: master.workers() == workers, _START_SECONDS, f"{workers} workers join")
            names = [f"w{number}" for number in range(workers)]
            record = master.run(
                0, users=workers, seconds=seconds, spawn_rate=workers, warm_up=0, workers=names, watch=watch
            )
            peak = _peak_mebibytes(master.master_pid)
    if problems := problems_of(record):
        raise BenchError(f"the stage of {workers} workers is invalid: {Counter(problems)}")
    requests = requests_of(record)
    wanted = workers * RATE * seconds
    if failures_of(record) or not _FEWEST * wanted <= requests <= wanted / _FEWEST:
        raise BenchError(f"{requests} requests arrived of {wanted:.0f}")
    sent = json.loads(log.read_text().strip().splitlines()[-1])
    (first, before), (last, after) = used[0], used[-1]
    taken = Taken(
        workers,
        requests / seconds,
        sent["parts"] / seconds,
        sent["bytes"] / seconds,
        (after - before) / (last - first) * 100,
        peak,
    )
    say(f"{workers:3} workers  {taken.rate:8,.0f} requests/s  master's CPU {taken.cpu_percent:.0f} %")
    return taken


def _peak_mebibytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def table(stages: list[Taken], *, seconds: float) -> str:
    """The crews, as Markdown."""
    lines = [
        "| workers | requests/s | parts/s | bytes of a part | kB/s | CPU of the master | its memory, at most |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {stage.workers} | {stage.rate:,.0f} | {stage.parts_per_second:.0f} | "
        f"{stage.bytes_per_second / stage.parts_per_second:,.0f} | {stage.bytes_per_second / 1000:,.0f} | "
        f"{stage.cpu_percent:.0f} % | {stage.peak_mebibytes:.0f} MiB |"
        for stage in stages
    ]
    note = f"The census journey, {RATE:.0f} requests/s of each worker for {seconds:g} s; parts are those of the window."
    return "\n".join([*lines, "", note]) + "\n"
