"""Series of measurements -> figures. Pure.

A window's figures stand on at least 90 % of its points; with fewer the measurement is unknown, as a whole. Rates come
from cumulative counters: the difference between the window's last point and its first, divided by the time between.
Over several windows, peaks are the highest of all, counts and times are added, and a mean is that of all points. If
the measurement is unknown in one of them it is unknown over all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from loadtest.api.measured import RedisFigures
from loadtest.results.record import Problem, Series
from loadtest.results.rounding import rounded

ENOUGH_PERCENT = 90
"""Points that a window must have, of those that a whole one has."""

POINTS_MISSING = "PointsMissing"
PARTLY_UNKNOWN = "PartlyUnknown"
COUNTERS_RESTARTED = "CountersRestarted"

_COUNTERS = ("cpuMicros", "commands", "evictedKeys")


def enough(series: Series) -> bool:
    """Whether the window has enough of its points."""
    return series.count > 0 and series.count * 100 >= series.expected * ENOUGH_PERCENT


def missing(series: Sequence[Series]) -> Problem | None:
    """The first required measurement that has too few points: it makes the stage invalid."""
    for one in series:
        if one.required and not enough(one):
            problem = _too_few(one)
            return Problem("MeasurementMissing", f"required measurement {one.name}: {problem.message}")
    return None


def redis_figures(windows: Sequence[Series]) -> RedisFigures | None:
    """The Redis server over one or several windows; None where none was measured."""
    if not windows:
        return None
    name = windows[0].name
    points, expected = sum(one.count for one in windows), sum(one.expected for one in windows)
    if (unknown := _unknown(windows, _redis_problem)) is not None:
        return RedisFigures(
            name=name,
            points=points,
            points_expected=expected,
            unknown_reason=unknown.reason,
            unknown_message=unknown.message,
        )
    micros = sum(_grown(one, "atMicros") for one in windows)
    connections = [value for one in windows for value in one.columns["connections"]]
    cpu = Fraction(sum(_grown(one, "cpuMicros") for one in windows), micros)
    commands = Fraction(sum(_grown(one, "commands") for one in windows) * 1_000_000, micros)
    return RedisFigures(
        name=name,
        points=points,
        points_expected=expected,
        connections_peak=max(connections),
        connections_mean=rounded(Fraction(sum(connections), len(connections))),
        cpu_millicores=rounded(cpu * 1_000),
        cpu_microcores=rounded(cpu * 1_000_000),
        ops_per_second=rounded(commands),
        evicted_keys=sum(_grown(one, "evictedKeys") for one in windows),
        memory_bytes_peak=max(value for one in windows for value in one.columns["memoryBytes"]),
    )


def _redis_problem(series: Series) -> Problem | None:
    if not enough(series):
        return _too_few(series)
    fell = any(after < before for field in _COUNTERS for before, after in pairwise(series.columns[field]))
    if fell or len(set(series.columns["instance"])) > 1:
        return Problem(COUNTERS_RESTARTED, "the server was restarted or its counters were reset during the window")
    if series.count == 1:
        return Problem(POINTS_MISSING, "a single point has no rates")
    return None


def _unknown(windows: Sequence[Series], problem_of: Callable[[Series], Problem | None]) -> Problem | None:
    """Why a measurement is unknown over these windows."""
    problems = [problem for one in windows if (problem := problem_of(one)) is not None]
    if not problems:
        return None
    if len(windows) == 1:
        return problems[0]
    return Problem(
        PARTLY_UNKNOWN, f"unknown in {len(problems)} of {len(windows)} stages, first because: {problems[0].message}"
    )


def _too_few(series: Series) -> Problem:
    counted = f"{series.count} of {series.expected} points"
    if not series.problems:
        return Problem(POINTS_MISSING, counted)
    why = series.problems[0]
    return Problem(why.reason, f"{counted}: {why.message}")


def _grown(series: Series, field: str) -> int:
    """How much a counter, or the time, grew from the first point to the last."""
    return series.columns[field][-1] - series.columns[field][0]
