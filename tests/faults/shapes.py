"""The shapes of runs: what the LoadTest asks for, and what people do to it meanwhile."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.faults.phases import phase_of
from tests.unit.reconcile.world import SPEC, World

Script = Iterator[tuple[Callable[[World], bool], Callable[[World], None]]]
"""Pairs of what is waited for, and what is then done; one after the other."""


@dataclass(frozen=True)
class Shape:
    """One shape. `script` is what people do."""

    name: str
    variants: int = 1
    stages: int = 1
    spec: tuple[tuple[str, Any], ...] = ()
    script: Callable[[], Script] = lambda: iter(())
    invalid: tuple[tuple[int, int, int], ...] = ()

    def world(self) -> World:
        """A new world with this LoadTest in it."""
        spec = copy.deepcopy(SPEC)
        threads = (7, 2, 5)
        spec["variants"] = [
            {"name": f"v{n}", "runner": {"workerClass": "gthread", "threads": n, "replicas": 1}}
            for n in threads[: self.variants]
        ]
        spec["load"]["stages"] = [{"injectors": n + 1, "duration": "10s"} for n in range(self.stages)]
        if not self.variants:
            del spec["variants"], spec["target"]["release"]
        spec.update(dict(self.spec))
        return World(
            spec=spec, rollout_seconds=3.0, invalid_attempts=dict.fromkeys(self.invalid, "WorkerLost")
        )  # the rollout takes longer than the injectors take to start


def _loading(position: int) -> Callable[[World], bool]:
    def reached(w: World) -> bool:
        orders = [order for orders in w.stages.values() for order in orders.values() if order[2] == position]
        return phase_of(w) == "P5" and bool(orders)

    return reached


def _ended(w: World) -> bool:
    return w.status.get("phase") in {"Succeeded", "Failed", "Aborted"}


def _abort() -> Script:
    yield _loading(2), lambda w: w.edit(abort=True)


def _delete() -> Script:
    yield _loading(1), World.delete


def _suspend() -> Script:
    yield _loading(1), lambda w: w.edit(suspend=True)
    since: list[datetime] = []

    def held(w: World) -> bool:
        if any(c["reason"] == "Suspended" for c in w.status.get("conditions") or ()) and not since:
            since.append(w.now)
        return bool(since) and w.now >= since[0] + timedelta(minutes=1)

    yield held, lambda w: w.edit(suspend=False)


def _rerun() -> Script:
    yield _ended, lambda w: w.edit(rerun="again")


def _drift() -> Script:
    yield _loading(1), lambda w: w.edit(deadline="5h")


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("matrix", variants=2, stages=2),
        Shape("one-variant", variants=1, stages=2),
        Shape("three-variants", variants=3),
        Shape("repeats", variants=2, spec=(("repeats", 2), ("order", "Interleaved"))),
        Shape("no-release", variants=0, stages=2),
        Shape("rerun-of-a-stage", variants=1, stages=2, invalid=((1, 0, 1),)),
        Shape("abort", variants=2, script=_abort),
        Shape("delete", variants=1, stages=2, script=_delete),
        Shape("suspend", variants=2, script=_suspend),
        Shape("rerun", variants=1, script=_rerun),
        Shape("edit", variants=1, stages=2, script=_drift),
    )
}
