"""CPU and memory of the target's pods from the intervals of the metrics API. Pure.

An interval says how much CPU a pod used between two readings of a cumulative counter. One that reaches beyond the
window counts with the share that lies in it, at its own mean. A pod's CPU is the mean over the time that its intervals
cover, which must be at least 90 % of the window; that of all pods is the sum. Intervals carry wall-clock times of the
cluster in whole seconds, the window that of its Locust master: by what the clocks differ the window is shifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from loadtest.api.measured import PodsFigures
from loadtest.results.points import ENOUGH, POINTS_MISSING, Window, because, together
from loadtest.results.record import Problem, Series
from loadtest.results.rounding import rounded

PODS_CHANGED = "PodsChanged"


class _Pod(NamedTuple):
    """What one pod did in the window: time that is known, CPU in it, most memory."""

    covered: int
    nanocores: Fraction
    memory: int


def problem(window: Window) -> Problem | None:
    """Why the pods of a window are unknown; None where they are known."""
    record, series = window
    names: Sequence[str] = series.source["pods"]
    if not names:
        return Problem(POINTS_MISSING, "the target has no pods")
    if set(record.pods_after) != set(names):
        return Problem(PODS_CHANGED, "pods came or went during the stage")
    if not record.duration_micros:
        return Problem(POINTS_MISSING, "the window did not begin")
    for place, name in enumerate(names):
        share = Fraction(_covered(series, place, record.duration_micros).covered, record.duration_micros)
        if share < ENOUGH:
            return because(series, f"pod {name} is known for {rounded(share * 100)} % of the window")
    return None


def figures(windows: Sequence[Window]) -> PodsFigures:
    """The target's pods over one or several windows; over several, CPU is the mean over their time."""
    name = windows[0][1].name
    points = sum(series.count for _, series in windows)
    if (unknown := together([problem(window) for window in windows])) is not None:
        return PodsFigures(name=name, points=points, unknown_reason=unknown.reason, unknown_message=unknown.message)
    each = [
        [_covered(series, place, record.duration_micros) for place in range(len(series.source["pods"]))]
        for record, series in windows
    ]
    time = sum(record.duration_micros for record, _ in windows)
    used = sum(
        sum((pod.nanocores for pod in pods), Fraction(0)) * record.duration_micros
        for pods, (record, _) in zip(each, windows, strict=True)
    )
    least = min(
        Fraction(pod.covered, record.duration_micros)
        for pods, (record, _) in zip(each, windows, strict=True)
        for pod in pods
    )
    return PodsFigures(
        name=name,
        points=points,
        pods=_same([len(pods) for pods in each]),
        restarts=sum(sum(record.pods_after.values()) - sum(record.pods_before.values()) for record, _ in windows),
        cpu_millicores=rounded(Fraction(used) / time / 1_000_000),
        cpu_millicores_available=_same([series.source.get("cpuMillicoresAvailable") for _, series in windows]),
        memory_bytes_peak=max(pod.memory for pods in each for pod in pods),
        covered_permille=int(least * 1000),
    )


def _covered(series: Series, place: int, duration: int) -> _Pod:
    """The pod's intervals laid over the window, each instant counted once."""
    columns = series.columns
    rows = zip(
        columns["atMicros"],
        columns.get("spanMicros", ()),
        columns.get("pod", ()),
        columns.get("cpuNanocores", ()),
        columns.get("memoryBytes", ()),
        strict=False,
    )
    covered = used = memory = known_until = 0
    for at, span, _, nanocores, size in sorted(row for row in rows if row[2] == place):
        begin, end = max(at - span, known_until), min(at, duration)
        if end > begin:
            covered, used, memory = covered + end - begin, used + nanocores * (end - begin), max(memory, size)
            known_until = end
    return _Pod(covered, Fraction(used, covered) if covered else Fraction(0), memory)


def _same(values: Sequence[int | None]) -> int | None:
    """The one value of all; None where they differ."""
    return values[0] if len(set(values)) == 1 else None
