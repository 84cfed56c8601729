"""One run of the loop in the world in memory, with a fault in it, judged at its end."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from loadtest.api.status import TERMINAL
from tests.faults.crew import Crew
from tests.faults.injection import Crash, Fault, Tap
from tests.faults.oracle import Expected, Reference, end_of, judge
from tests.faults.shapes import SHAPES, Shape
from tests.unit.reconcile import helm
from tests.unit.reconcile.world import START, World

MOST_STEPS = 4000
PACE = 0.25
"""Seconds that a step takes at least."""


@dataclass(frozen=True)
class LoopRun:
    """One run. `id` alone is enough to run it again, to the letter: nothing here depends on chance or on real time."""

    id: str
    shape: str
    fault: Callable[[], Fault]
    expected: Expected
    operators: int = 1
    """More than one: two operators at once, and this is the seed of how their steps are interleaved."""


async def drive(w: World, shape: Shape, tap: Tap, operators: int = 1) -> str | None:
    """Run the operator, again after each death, until it and the people of the script have nothing left to do.

    Returns:
        What went wrong with driving itself, such as a run that never ends.
    """
    w.fault = tap
    script = shape.script()
    waiting = next(script, None)
    crew = Crew(w, operators)
    for _ in range(MOST_STEPS):
        if waiting is not None and waiting[0](w):
            waiting[1](w)
            waiting = next(script, None)
        tap.tick(w)
        try:
            delay = await crew.step()
        except (Crash, asyncio.CancelledError):
            tap.dead = False
            crew = Crew(w, operators)
            delay = tap.fault.restart_seconds
        if delay is None and w.deleting:
            w.gone = True  # nothing is left to do: the finalizer goes, and with it the LoadTest and what it owns
            w.plan_json, w.config_maps = None, {}
            tap.tick(w)
            delay = None if w.gone else PACE
        if delay is None and not (waiting is not None and waiting[0](w)):
            return None
        _pass(w, max(delay or 0.0, PACE))
    return f"no end after {MOST_STEPS} steps"


def _pass(w: World, seconds: float) -> None:
    """Time goes by, and the dead-man Job looks at the Lease meanwhile, whether an operator lives or not."""
    until = w.now + timedelta(seconds=seconds)
    while w.now < until:
        w.now = min(until, w.now + timedelta(seconds=15))
        helm.go_on(w)


@functools.cache
def reference(shape: str) -> Reference:
    """The undisturbed run of a shape."""
    w, tap = SHAPES[shape].world(), Tap(Fault())
    wrong = asyncio.run(drive(w, SHAPES[shape], tap))
    if wrong or (w.status["phase"] not in TERMINAL and not w.gone):
        raise AssertionError(f"the undisturbed run of {shape} does not end: {wrong} {w.status}")
    return Reference(end_of(w), (w.now - START).total_seconds(), sum(tap.attempts.values()))


def run(planned: LoopRun) -> list[str]:
    """What was wrong with this run; nothing where it passed."""
    logging.getLogger("loadtest").setLevel(logging.CRITICAL)  # what goes wrong here is meant to
    shape, fault = SHAPES[planned.shape], planned.fault()
    before = reference(planned.shape)
    w, tap = shape.world(), Tap(fault)
    wrong = asyncio.run(drive(w, shape, tap, planned.operators))
    found = judge(w, tap, planned.expected, before)
    if not fault.happened:
        found.insert(0, "the fault did not happen: this run shows nothing")
    return [*([wrong] if wrong else []), *found]
