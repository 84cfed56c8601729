"""Starts the programs of the bench on the core that is theirs, bounds them in time and ends them by pid."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.paths import TREE

SERVER_CORE = 0
LOAD_CORE = 1
PYTHON = sys.executable
_GRACE_SECONDS = 5.0
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """A measurement could not be made, or is not to be believed; the message says why."""


def pinned(core: int, command: list[str]) -> list[str]:
    """The command on one core and no other; what it starts stays there too."""
    return ["taskset", "--cpu-list", str(core), *command]


def environment(**more: str) -> dict[str, str]:
    """The environment of our own programs."""
    path = os.pathsep.join(str(TREE / part) for part in ("operator/injector", "operator", "."))
    return {**os.environ, "PYTHONPATH": path, **more}


@contextmanager
def running(core: int, command: list[str], log: Path, env: Mapping[str, str] | None = None) -> Iterator[int]:
    """Keeps a program running on its core; yields its pid and ends it, whatever happens."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            pinned(core, command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=env
        )
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def output_of(core: int, command: list[str], seconds: float, env: Mapping[str, str] | None = None) -> str:
    """What a program prints that ends by itself, within `seconds`; BenchError where it fails or takes longer."""
    try:
        done = subprocess.run(
            pinned(core, command), capture_output=True, text=True, timeout=seconds, env=env, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise BenchError(f"{command[0]} was still running after {seconds:.0f} s") from late
    if done.returncode:
        raise BenchError(f"{' '.join(command)} failed ({done.returncode}):\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of its children that still run."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
    return own + sum(cpu_seconds(int(child)) for child in children)


def busy_percent(seconds: float = 2.0) -> float:
    """How much of the whole machine other programs use, by looking for `seconds` while nothing of ours runs."""
    before = _ticks()
    time.sleep(seconds)
    idle, total = (after - early for after, early in zip(_ticks(), before, strict=True))
    return (1 - idle / total) * 100 if total else 0.0


def _ticks() -> tuple[int, int]:
    """Idle and all ticks of all cores since boot (proc(5): the first line of /proc/stat)."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def wait_until(ready: Callable[[], bool], seconds: float, what: str) -> None:
    """Returns when `ready` says so; BenchError after `seconds`."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise BenchError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)
