"""The layers at which faults are made: each lists its runs by id, and runs them."""

from __future__ import annotations

import concurrent.futures
import functools
import multiprocessing
import os
import traceback
from collections.abc import Iterator
from typing import Protocol

from tests.faults import loop, matrix, writes


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


LAYERS: tuple[Layer, ...] = (InMemory(),)
