"""Series of measurements -> figures. Pure.

A window's figures stand on at least 90 % of its points; with fewer the measurement is unknown, as a whole. Rates come
from cumulative counters: the difference between the window's last point and its first, divided by the time between.
Over several windows, peaks are the highest of all, counts and times are added, and a mean is that of all points. If
the measurement is unknown in one of them it is unknown over all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from loadtest.api.measured import QueryFigures, RedisFigures
from loadtest.results import pods
from loadtest.results.points import POINTS_MISSING, Window, together, too_few
from loadtest.results.record import Problem, Record, Series
from loadtest.results.rounding import rounded

COUNTERS_RESTARTED = "CountersRestarted"

_COUNTERS = ("cpuMicros", "commands", "evictedKeys")


def beside(records: Sequence[Record]) -> dict[str, Any]:
    """The measurements over one stage or several, as fields of `Figures`."""
    by_name: dict[str, list[Window]] = {}
    for record in records:
        for series in record.series:
            by_name.setdefault(series.name, []).append((record, series))
    found: dict[str, Any] = {}
    queries = []
    for windows in by_name.values():
        match windows[0][1].kind:
            case "redis":
                found["redis"] = redis_figures(windows)
            case "pods":
                found["runner"] = pods.figures(windows)
            case _:
                queries.append(query_figures(windows))
    return found | ({"measurements": queries} if queries else {})


def missing(record: Record) -> Problem | None:
    """The first required measurement that is unknown: it makes the stage invalid."""
    for series in record.series:
        problem = _problem((record, series)) if series.required else None
        if problem is not None:
            return Problem("MeasurementMissing", f"required measurement {series.name}: {problem.message}")
    return None


def _problem(window: Window) -> Problem | None:
    match window[1].kind:
        case "redis":
            return _redis_problem(window[1])
        case "pods":
            return pods.problem(window)
        case _:
            return too_few(window[1])


def redis_figures(windows: Sequence[Window]) -> RedisFigures:
    """The Redis server over one or several windows."""
    all_series = [series for _, series in windows]
    common = _common(all_series)
    if (unknown := together([_redis_problem(series) for series in all_series])) is not None:
        return RedisFigures(**common, unknown_reason=unknown.reason, unknown_message=unknown.message)
    micros = sum(_grown(series, "atMicros") for series in all_series)
    connections = [value for series in all_series for value in series.columns["connections"]]
    cpu = Fraction(sum(_grown(series, "cpuMicros") for series in all_series), micros)
    commands = Fraction(sum(_grown(series, "commands") for series in all_series) * 1_000_000, micros)
    return RedisFigures(
        **common,
        connections_peak=max(connections),
        connections_mean=rounded(Fraction(sum(connections), len(connections))),
        cpu_millicores=rounded(cpu * 1_000),
        cpu_microcores=rounded(cpu * 1_000_000),
        ops_per_second=rounded(commands),
        evicted_keys=sum(_grown(series, "evictedKeys") for series in all_series),
        memory_bytes_peak=max(value for series in all_series for value in series.columns["memoryBytes"]),
    )


def query_figures(windows: Sequence[Window]) -> QueryFigures:
    """A query's values over one or several windows."""
    all_series = [series for _, series in windows]
    common = _common(all_series)
    if (unknown := together([too_few(series) for series in all_series])) is not None:
        return QueryFigures(**common, unknown_reason=unknown.reason, unknown_message=unknown.message)
    values = [value for series in all_series for value in series.columns["valueMilli"]]
    return QueryFigures(
        **common,
        mean_milli=rounded(Fraction(sum(values), len(values))),
        min_milli=min(values),
        max_milli=max(values),
    )


def _common(all_series: Sequence[Series]) -> dict[str, Any]:
    return {
        "name": all_series[0].name,
        "points": sum(series.count for series in all_series),
        "points_expected": sum(series.expected for series in all_series),
    }


def _redis_problem(series: Series) -> Problem | None:
    if (few := too_few(series)) is not None:
        return few
    fell = any(after < before for field in _COUNTERS for before, after in pairwise(series.columns[field]))
    if fell or len(set(series.columns["instance"])) > 1:
        return Problem(COUNTERS_RESTARTED, "the server was restarted or its counters were reset during the window")
    if series.count == 1:
        return Problem(POINTS_MISSING, "a single point has no rates")
    return None


def _grown(series: Series, field: str) -> int:
    """How much a counter, or the time, grew from the first point to the last."""
    return series.columns[field][-1] - series.columns[field][0]
