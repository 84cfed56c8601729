"""The layers at which faults are made: each lists its runs by id, and runs them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import multiprocessing
import os
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

from tests.faults import loop, matrix, server, writes
from tests.faults.standing import standing


class Layer(Protocol):
    """One layer."""

    name: str
    what: str

    def ids(self) -> Iterator[str]:
        """Ids of all runs, in their order."""
        ...

    def not_applicable(self) -> Iterator[tuple[str, str]]:
        """Cells of the matrix without a run here, and why."""
        ...

    def run(self, ids: list[str]) -> Iterator[tuple[str, list[str]]]:
        """Run these; each with what went wrong."""
        ...


@functools.cache
def _loop_runs() -> dict[str, loop.LoopRun]:
    return {run.id: run for run in (*writes.runs(), *matrix.runs())}


def _run_in_memory(id_: str) -> tuple[str, list[str]]:
    try:
        return id_, loop.run(_loop_runs()[id_])
    except Exception:  # noqa: BLE001 - a defect of the test system fails its run, not all the others
        return id_, traceback.format_exc().splitlines()


class InMemory:
    """The loop on the world in memory."""

    name = "loop"
    what = "the loop, on a world in memory"

    def ids(self) -> Iterator[str]:
        """As `Layer`."""
        yield from _loop_runs()

    def not_applicable(self) -> Iterator[tuple[str, str]]:
        """As `Layer`."""
        yield from matrix.not_applicable()

    def run(self, ids: list[str]) -> Iterator[tuple[str, list[str]]]:
        """As `Layer`."""
        if len(ids) == 1:
            yield _run_in_memory(ids[0])
            return
        # Started anew, not forked: a fork would take over whatever threads the parent has.
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
            yield from pool.map(_run_in_memory, ids, chunksize=8)


class ApiServer:
    """The loop and the adapters on a real API server, behind a proxy."""

    name = "apiserver"
    what = "the loop and its adapters, on a real API server behind a proxy that spoils an answer"
    at_once = 4

    def ids(self) -> Iterator[str]:
        """As `Layer`."""
        yield from server.ids()

    def not_applicable(self) -> Iterator[tuple[str, str]]:
        """As `Layer`."""
        yield from server.NOT_APPLICABLE.items()

    def run(self, ids: list[str]) -> Iterator[tuple[str, list[str]]]:
        """As `Layer`."""
        results = self._run(ids)

        async def one_more() -> tuple[str, list[str]] | None:
            return await anext(results, None)

        with asyncio.Runner() as runner:
            while (result := runner.run(one_more())) is not None:
                yield result

    async def _run(self, ids: list[str]) -> AsyncIterator[tuple[str, list[str]]]:
        server.quiet()
        gate = asyncio.Semaphore(self.at_once)
        async with standing() as stand:

            async def one(number: int, id_: str) -> tuple[str, list[str]]:
                async with gate:
                    return id_, await server.run(stand, number, id_)

            tasks = [asyncio.create_task(one(number, id_)) for number, id_ in enumerate(ids)]
            for task in asyncio.as_completed(tasks):
                yield await task


LAYERS: tuple[Layer, ...] = (InMemory(), ApiServer())
