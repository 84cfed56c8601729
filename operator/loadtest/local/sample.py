"""The sample Runner as the target: its keys, Redis and the Datastore emulator, all processes of this machine."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from loadtest.local.programs import LOOPBACK, Program, free_port
from loadtest.ports import Refused

READY_PATH = "/status"
START_SECONDS = 60.0
LOOK_SECONDS = 0.05
CLONE = Path(__file__).parents[3] / "samples" / "runner"
REDIS_HINT = (
    "install it (Debian, Ubuntu: apt install redis-server; macOS: brew install redis), "
    "or name a target of your own with --command"
)


class Missing(Exception):  # noqa: N818 - named for the fact
    """A program or package that this needs is not on this machine; the message says how to get it."""


def root() -> Path | None:
    """The folder that the sample Runner is imported from; None where it is installed as a package."""
    if (CLONE / "sample_runner").is_dir():
        return CLONE
    if importlib.util.find_spec("sample_runner"):
        return None
    raise Missing("the sample Runner is not beside this installation: run it from a clone, or give --command")


def redis_server() -> str:
    """The path of redis-server."""
    if found := shutil.which("redis-server"):
        return found
    raise Missing(f"redis-server, which keeps the sample Runner's sessions, is not on the PATH: {REDIS_HINT}")


class Backends:
    """Redis and the Datastore emulator, each on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._redis, self._http, self._rpc = free_port(), free_port(), free_port()
        self._programs: list[Program] = []

    @property
    def redis(self) -> str:
        """Host and port of Redis."""
        return f"{LOOPBACK}:{self._redis}"

    @property
    def environment(self) -> dict[str, str]:
        """Where they are, by the Runner's own variables."""
        return {
            "EQ_REDIS_HOST": LOOPBACK,
            "EQ_REDIS_PORT": str(self._redis),
            "DATASTORE_HTTP_ADDRESS": f"{LOOPBACK}:{self._http}",
            "DATASTORE_GRPC_ADDRESS": f"{LOOPBACK}:{self._rpc}",
        }

    @property
    def running(self) -> bool:
        """Whether both were started and still run."""
        return bool(self._programs) and all(program.code is None for program in self._programs)

    async def start(self) -> None:
        """Start both, and wait until they listen; nothing is done where they run."""
        if self.running:
            return
        await self.stop()
        redis = [redis_server(), "--bind", LOOPBACK, "--port", str(self._redis), "--save", "", "--appendonly", "no"]
        emulator = {
            "DATASTORE_EMULATOR_BIND": LOOPBACK,
            "DATASTORE_EMULATOR_HTTP_PORT": str(self._http),
            "DATASTORE_EMULATOR_GRPC_PORT": str(self._rpc),
        }
        python = [sys.executable, "-m", "sample_runner.datastore_emulator"]
        self._programs = [
            await self._start("redis", redis, {}),
            await self._start("datastore", python, emulator),
        ]
        for program, port in ((self._programs[0], self._redis), *((self._programs[1], p) for p in self._ports())):
            await _listening(program, port)

    def _ports(self) -> tuple[int, int]:
        return self._http, self._rpc

    async def _start(self, name: str, argv: list[str], extra: Mapping[str, str]) -> Program:
        return await Program.start(
            argv, {**environment(), **extra}, self._folder / "logs" / f"{name}.log", self._folder
        )

    async def stop(self) -> None:
        """End both."""
        await asyncio.gather(*(program.stop() for program in self._programs))
        self._programs = []

    def cut(self) -> None:
        """Kill both at once."""
        for program in self._programs:
            program.cut()


def environment() -> dict[str, str]:
    """What every process of the sample Runner is given."""
    folder = root()
    path = {"PYTHONPATH": str(folder)} if folder else {}
    return {"PATH": os.environ.get("PATH", os.defpath), **path}


async def make_keys(folder: Path, log: Path) -> None:
    """Make launch keys in `folder`."""
    argv = [sys.executable, "-m", "sample_runner.keys", str(folder)]
    program = await Program.start(argv, environment(), log, folder)
    if await program.wait():
        raise Refused("OperatorError", f"the sample Runner's keys could not be made: {program.last_words()}")


async def _listening(program: Program, port: int) -> None:
    """Wait until a program listens on its port.

    Raises:
        Refused: it ended, or does not listen for a minute.
    """
    end = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        if program.code is not None:
            raise Refused("TargetGone", f"{program.log.stem} ended with {program.code}: {program.last_words()}")
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            if asyncio.get_running_loop().time() > end:
                raise Refused("TargetGone", f"{program.log.stem} does not listen on port {port}") from None
            await asyncio.sleep(LOOK_SECONDS)
        else:
            return
