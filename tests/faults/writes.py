"""Every write of every shape's run, and each thing that can happen at it."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tests.faults.injection import HOWS, OTHER_HOWS, AtWrite
from tests.faults.loop import LoopRun, reference
from tests.faults.oracle import Expected
from tests.faults.shapes import SHAPES

SAME = Expected(same=True, minutes=2.0, writes=15)
"""Whatever happens to one write, the run comes to the same end: nothing done twice, nothing measured twice."""


def runs() -> Iterator[LoopRun]:
    """For each write of each shape: the operator dies before it, after it, loses its answer, and so on."""
    for shape in SHAPES:
        for number in range(1, reference(shape).writes + 1):
            for how in (*HOWS, *OTHER_HOWS):
                fault = functools.partial(AtWrite, number, how)
                yield LoopRun(f"loop/write/{shape}/{how}/{number}", shape, fault, SAME)
