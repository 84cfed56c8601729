"""Child processes of the engine, each under a warden, so that none outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from loadtest.local import warden

LOOPBACK = "127.0.0.1"
PORTS = range(15_000, 32_000)
"""Below the ports that Linux and macOS give to outgoing connections: a port that was free stays free."""

GRACE_SECONDS = 15.0
TAIL_BYTES = 4096


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
            return port
    raise OSError(f"no port from {PORTS.start} to {PORTS.stop} is free")


class Program:
    """One child process with its descendants; its output goes to `log`.

    Attributes:
        pid: process id of its warden, which is also its process group.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self.log = log
        self.pid = process.pid

    @classmethod
    async def start(
        cls, argv: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path, grace: float = GRACE_SECONDS
    ) -> Program:
        """Start `argv` in `folder` with exactly this environment."""
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                warden.__file__,
                str(grace),
                *argv,
                stdin=asyncio.subprocess.PIPE,  # the lifeline: closed when this process ends, however that happens
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,  # Ctrl-C at the terminal is for the engine alone
            )
        return cls(process, log)

    @property
    def code(self) -> int | None:
        """The exit code, None while it runs."""
        return self._process.returncode

    def environment(self) -> dict[str, str]:
        """The environment of the running program, as the operating system shows it; empty where it has ended."""
        with contextlib.suppress(psutil.Error, IndexError):
            environment: dict[str, str] = psutil.Process(self.pid).children()[0].environ()
            return environment
        return {}

    def last_words(self) -> str:
        """The last line of its output."""
        with self.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")

    def terminate(self) -> None:
        """Ask it to end; after its grace it is killed."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def cut(self) -> None:
        """Kill it and its descendants at once."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def wait(self) -> int:
        """Wait for its end; its exit code."""
        code = await self._process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what a warden that was itself killed has left
        return code

    async def stop(self) -> int:
        """End it and wait for that."""
        self.terminate()
        return await self.wait()
