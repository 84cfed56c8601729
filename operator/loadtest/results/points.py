"""Whether the points of a measurement are enough for figures, and why not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from loadtest.results.record import Problem, Record, Series

Window = tuple[Record, Series]
"""A stage and the points of one measurement in it."""

ENOUGH = Fraction(9, 10)
"""Share of its points that a window must have, or of its time that they must cover."""

POINTS_MISSING = "PointsMissing"
PARTLY_UNKNOWN = "PartlyUnknown"


def too_few(series: Series) -> Problem | None:
    """Why there are too few points; None where there are enough."""
    if series.count > 0 and series.count >= series.expected * ENOUGH:
        return None
    return because(series, f"{series.count} of {series.expected} points")


def because(series: Series, what: str) -> Problem:
    """What is missing, for the reason that was seen most often."""
    if not series.problems:
        return Problem(POINTS_MISSING, what)
    return Problem(series.problems[0].reason, f"{what}: {series.problems[0].message}")


def together(problems: Sequence[Problem | None]) -> Problem | None:
    """Why a measurement is unknown over several windows: as soon as it is in one."""
    found = [problem for problem in problems if problem is not None]
    if not found or len(problems) == 1:
        return found[0] if found else None
    message = f"unknown in {len(found)} of {len(problems)} stages, first because: {found[0].message}"
    return Problem(PARTLY_UNKNOWN, message)
