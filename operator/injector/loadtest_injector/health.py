"""Whether workers were fit to measure: what makes a stage invalid, and what is only worth a note. Pure.

A worker that is short of CPU, or that begins its requests late, measures itself. Both have a bound above which the
stage does not count, and one above which the record has a note with the remedy.
"""

from __future__ import annotations

from loadtest_injector.cpu import SATURATED_PERCENT
from loadtest_injector.histogram import Histogram
from loadtest_injector.problems import WORKER_BUSY, WORKER_LATE, WORKER_SATURATED, Problem

BUSY_PERCENT = 70.0
"""A worker with a 10 s mean above this has little left for a slower moment."""

LATE_MICROS = 200_000
"""The 99th percentile of a worker's own delay above which its load is not the one that was asked for."""

NOTED_MICROS = 50_000
"""The same, above which the record has a note."""

FEWEST_DELAYS = 1_000
"""Of fewer requests than these the few that a single pause of the process makes late would decide."""

REMEDY = "lower load.injectorsPerPod or load.usersPerInjector, or give each worker pod more CPU"


def judge(name: str, cpu_percent_max: float | None, delays: Histogram | None) -> tuple[list[Problem], list[Problem]]:
    """Problems and notes of one worker, from its highest 10 s mean of CPU and its own delays; None: it sent none."""
    problems, notes = [], []
    if cpu_percent_max is not None and cpu_percent_max > BUSY_PERCENT:
        text = f"worker {name} was at {cpu_percent_max} % CPU in its highest 10 s mean: {REMEDY}"
        if cpu_percent_max > SATURATED_PERCENT:
            problems.append(Problem(WORKER_SATURATED, text))
        else:
            notes.append(Problem(WORKER_BUSY, text))
    late = delays.percentile(99) if delays is not None and delays.count >= FEWEST_DELAYS else None
    if late is not None and late > NOTED_MICROS:
        text = f"worker {name} began one request in a hundred {late / 1000:.0f} ms late or more: {REMEDY}"
        (problems if late > LATE_MICROS else notes).append(Problem(WORKER_LATE, text))
    return problems, notes
