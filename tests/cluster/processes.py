"""Starts daemons, knows them again by pid, start time and program, and ends them and nothing else."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.log import ClusterError
from tests.cluster.paths import write_atomically

_TAIL_BYTES = 3000


@dataclass(frozen=True)
class Identity:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    started: int
    """Start time in clock ticks since boot, field 22 of /proc/PID/stat."""
    program: str
    """First word of its command line."""
    boot: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        return self == identify(self.pid)


def identify(pid: int) -> Identity | None:
    """The identity of the process that has this pid now, None if there is none or only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        words = command_line(pid)
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if stat[0] in "ZX" or not words:
        return None
    return Identity(pid, int(stat[19]), words[0], boot)


def command_line(pid: int) -> list[str]:
    """The words of a process' command line, empty for kernel threads and processes that are gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [word.decode(errors="replace") for word in raw.split(b"\0") if word]


def all_pids() -> list[int]:
    """Every process that this machine shows."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def start(command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Starts a program in a session of its own, so that it outlives the caller, its output going to the log file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=None if environment is None else dict(environment),
        )


def remember(folder: Path, name: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Writes the pid file of a daemon that was just started."""
    # Popen returns in the middle of the exec, when the new command line is not there yet.
    while (identity := identify(process.pid)) is None:
        if process.poll() is not None:
            raise ClusterError(f"{name} ended at once:\n{tail(log)}")
        time.sleep(0.001)
    write_atomically(folder / f"{name}.json", json.dumps(identity.__dict__))


def remembered(folder: Path) -> dict[str, Identity]:
    """The daemons of the pid files, by name, whether they still run or not."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path.stem] = Identity(**json.loads(path.read_text()))
        except (ValueError, TypeError):
            path.unlink()  # torn by a full disk: the scan for strays finds the process
    return found


def end(identities: Iterable[Identity], patience: float = 5.0) -> None:
    """Asks these processes to end, and kills those that are still there after `patience` seconds."""
    waiting = [identity for identity in identities if identity.alive]
    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        for identity in waiting:
            _signal(identity, number)
        deadline = time.monotonic() + seconds
        while waiting and time.monotonic() < deadline:
            waiting = [identity for identity in waiting if identity.alive]
            time.sleep(0.02)
    if waiting:
        raise ClusterError(f"processes that cannot be killed: {', '.join(str(left.pid) for left in waiting)}")


def _signal(identity: Identity, number: signal.Signals) -> None:
    if identity.alive:
        try:
            os.kill(identity.pid, number)
        except ProcessLookupError:
            return


def tail(log: Path) -> str:
    """The last lines of a log file, for error messages."""
    try:
        return log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return "(no log)"
