"""A series of Google Cloud Monitoring over the window, asked after its end, when its points have come in.

Points become visible minutes after their time, and a sum over many series is too small until the last is in: it is
first asked when `delay` is over, and again while points are missing or the quota is used up. Points lie at the ends of
alignment periods, counted back from the window's end.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadtest_injector.measure.series import BAD_ANSWER, QUOTA_EXCEEDED, SOURCE_UNAVAILABLE, Missed, Series
from loadtest_injector.measure.sources import CloudMonitoringSource
from loadtest_injector.measure.window import Window

FIELDS = ("valueMilli",)
"""The value of the alignment period that ends then, in thousandths, rounded."""

PATIENCE_SECONDS = 180.0
"""How long after `delay` missing points are waited for."""

_NANOS = 1_000_000_000
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0
_PROCESS_SECONDS = 90.0
_MAX_MILLI = 2**63 - 1
_CLIENT = "loadtest_injector.measure.cloud_monitoring_client"


def expected(source: CloudMonitoringSource, window: Window) -> int:
    """One point for each whole alignment period."""
    return int(window.seconds // source.alignment_seconds)


def collect(source: CloudMonitoringSource, _secrets: Path, series: Series, window: Window) -> None:
    """Wait until points are in, ask, and ask again with growing pauses while some are missing."""
    if series.expected == 0:
        series.miss(Missed(BAD_ANSWER, f"the window is shorter than the alignment of {source.alignment_seconds} s"))
        return
    window.sleep_until(window.end + int(source.delay_seconds * _NANOS))
    last = time.monotonic_ns() + int(PATIENCE_SECONDS * _NANOS)
    newest: list[tuple[int, int]] = []
    pause = _FIRST_PAUSE
    while True:
        try:
            newest = points_of(_ask(source, window), window)
        except Missed as missed:
            series.miss(missed)
            if missed.reason not in {SOURCE_UNAVAILABLE, QUOTA_EXCEEDED}:
                break
        if len(newest) >= series.expected or time.monotonic_ns() >= last:
            break
        window.sleep_until(min(last, time.monotonic_ns() + int(pause * _NANOS)))
        pause = min(_LONGEST_PAUSE, pause * 2)
    for point in newest:
        series.add(*point)


def _ask(source: CloudMonitoringSource, window: Window) -> Sequence[Sequence[float]]:
    periods = expected(source, window)
    question = {
        "project": source.project,
        "filter": source.filter,
        "aligner": source.aligner,
        "reducer": source.reducer,
        "alignmentSeconds": source.alignment_seconds,
        "start": window.ended_at - periods * source.alignment_seconds,
        "end": window.ended_at,
    }
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", _CLIENT],
            input=json.dumps(question), capture_output=True, text=True, check=False, timeout=_PROCESS_SECONDS,
        )  # fmt: skip
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise Missed(SOURCE_UNAVAILABLE, f"no answer within {_PROCESS_SECONDS:.0f} s") from error
    except (OSError, ValueError) as error:
        raise Missed(SOURCE_UNAVAILABLE, "the client failed: see the master's log") from error
    if "points" not in answer:
        raise Missed(answer["reason"], answer["message"])
    points: Sequence[Sequence[float]] = answer["points"]
    return points


def points_of(points: Sequence[Sequence[float]], window: Window) -> list[tuple[int, int]]:
    """Time and value in thousandths; NaN and infinities are points that are missing."""
    return [
        (round((ended_at - window.started_at) * 1_000_000), round(value * 1000))
        for ended_at, value in points
        if math.isfinite(value) and abs(value) * 1000 <= _MAX_MILLI
    ]
