"""The target as a process: started anew for each variant, watched, and started again where it ends by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from loadtest.api import names
from loadtest.core.observed import Problem, TargetPod, Workload
from loadtest.local.programs import LOOPBACK, Program

LOOK_SECONDS = 0.1
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
ANSWER = aiohttp.ClientTimeout(total=5)
GRACE_SECONDS = 15.0
"""As the sample Runner's chart has it: longer than the 10 s in which the web server answers what it has begun."""


@dataclass(frozen=True)
class Command:
    """What serves: a program, where it runs, and its environment without that of a variant.

    Attributes:
        what: in words, for people.
        path: path of the address that answers when it is ready; any answer will do.
        before: what must stand before it is started.
    """

    what: str
    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    path: str
    before: Callable[[], Awaitable[None]] | None = None


class NotServing(Exception):  # noqa: N818 - named for the fact
    """The target did not come up; the message says why."""


class Serving:
    """One target at a time, on one port."""

    def __init__(self, command: Command, port: int, logs: Path) -> None:
        self._command, self._port, self._logs = command, port, logs
        self._program: Program | None = None
        self._watch: asyncio.Task[None] | None = None
        self._generation = self._restarts = 0
        self._ready_since: datetime | None = None
        self._environment: dict[str, str] = {}

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def generation(self) -> int:
        """How often it was started with a new environment."""
        return self._generation

    async def start(self, variant: Mapping[str, str], limit: float) -> None:
        """Stop what runs, start the target with `variant`'s environment, and wait until it answers.

        Raises:
            NotServing: it ended, or does not answer within `limit` seconds.
        """
        await self.stop()
        if self._command.before is not None:
            await self._command.before()
        self._generation, self._restarts = self._generation + 1, 0
        self._environment = {**self._command.environment, **variant}
        program = self._program = await self._run()
        try:
            async with asyncio.timeout(limit):
                await self._answers(program)
        except TimeoutError:
            raise NotServing(f"{self._command.what} does not answer at {self.url} after {limit:.0f} s") from None
        self._ready_since = datetime.now(UTC)
        self._watch = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """End the target and wait for that."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
        program, self._program, self._watch, self._ready_since = self._program, None, None, None
        if program is not None:
            await program.stop()

    def cut(self) -> None:
        """Kill the target at once."""
        if self._watch is not None:
            self._watch.cancel()
        if self._program is not None:
            self._program.cut()

    def workloads(self) -> tuple[Workload, ...]:
        """The target as the rollout gate looks at it: one workload with one pod, or none."""
        program = self._program
        if program is None:
            return ()
        lives = program.code is None
        ready = self._ready_since is not None and lives
        problem = None if lives else Problem("ContainerExited", _ended(program, self._command.what))
        pod = TargetPod(
            name=f"target-{self._generation}",
            uid=f"{names.sha256_of(str(self._logs))[:8]}-{self._generation}",
            ready=ready,
            terminating=False,
            template_hash=names.sha256_of(names.canonical_json(self._environment))[:10],
            env=program.environment(),
            restarts=self._restarts,
            ready_since=self._ready_since if ready else None,
            problem=problem,
        )
        count = int(ready)
        return (Workload("target", self._generation, self._generation, 1, 1, 1, count, (pod,)),)

    async def _run(self) -> Program:
        log = self._logs / f"target-{self._generation}.log"
        command = self._command
        return await Program.start(command.argv, self._environment, log, command.folder, GRACE_SECONDS)

    async def _keep(self) -> None:
        """Start the target again when it ends by itself, as a kubelet does, ever more slowly."""
        pause = FIRST_PAUSE
        while self._program is not None:
            await self._program.wait()
            self._ready_since = None
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)
            self._restarts += 1
            self._program = await self._run()
            with contextlib.suppress(NotServing):
                await self._answers(self._program)
                self._ready_since = datetime.now(UTC)

    async def _answers(self, program: Program) -> None:
        """Wait for any answer to a GET; NotServing where the program ends first."""
        async with aiohttp.ClientSession(trust_env=False, timeout=ANSWER) as session:
            while program.code is None:
                with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
                    async with session.get(f"{self.url}{self._command.path}", allow_redirects=False):
                        return
                await asyncio.sleep(LOOK_SECONDS)
        raise NotServing(_ended(program, self._command.what))


def _ended(program: Program, what: str) -> str:
    return f"{what} ended with exit code {program.code}: {program.last_words()} (all of it: {program.log})"
