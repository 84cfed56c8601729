"""A query of a Prometheus over the window, asked once after its end: the server has kept the points and their times.

Also of what speaks the same API, such as Google Cloud Managed Service for Prometheus through its frontend, Thanos or
Mimir. The query must give one series. A step without a value, NaN and infinities are points that are missing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from loadtest_injector.measure.address import require_allowed
from loadtest_injector.measure.https import get_json
from loadtest_injector.measure.series import BAD_ANSWER, SOURCE_UNAVAILABLE, Missed, Series, read_secret
from loadtest_injector.measure.sources import PrometheusSource
from loadtest_injector.measure.window import Window

FIELDS = ("valueMilli",)
"""The query's value in thousandths, rounded."""

_NANOS = 1_000_000_000
_TRIES_SECONDS = (0, 2, 5, 10)
"""Pauses before the tries: a server that does not answer is asked again for a while."""

_MAX_MILLI = 2**63 - 1


def expected(source: PrometheusSource, window: Window) -> int:
    """A point at the window's start, and one each step."""
    return int(window.seconds // source.step_seconds) + 1


def collect(source: PrometheusSource, secrets: Path, series: Series, window: Window) -> None:
    """Wait until the server has scraped the window's end, then ask."""
    window.sleep_until(window.end + int(source.delay_seconds * _NANOS))
    for pause in _TRIES_SECONDS:
        window.sleep_until(time.monotonic_ns() + pause * _NANOS)
        try:
            points = read_points(_ask(source, secrets, window), window)
        except Missed as missed:
            series.miss(missed)
            if missed.reason != SOURCE_UNAVAILABLE:
                return
            continue
        series.problems.clear()
        for point in points:
            series.add(*point)
        return


def _ask(source: PrometheusSource, secrets: Path, window: Window) -> Mapping[str, Any]:
    query = {
        "query": source.query,
        "start": f"{window.started_at:.3f}",
        "end": f"{window.started_at + (expected(source, window) - 1) * source.step_seconds:.3f}",
        "step": f"{source.step_seconds}s",
    }
    url = urlsplit(source.url)
    require_allowed(url.hostname or "", url.port or (443 if url.scheme == "https" else 80))
    answer: Mapping[str, Any] = get_json(
        f"{source.url.rstrip('/')}/api/v1/query_range?{urlencode(query)}",
        token=read_secret(secrets / "token") if source.token else None,
        ca=read_secret(secrets / "ca.crt") if source.ca else None,
    )
    return answer


def read_points(answer: Mapping[str, Any], window: Window) -> list[tuple[int, int]]:
    """Time and value of each point of the answer to a range query. Raises Missed."""
    try:
        if answer["status"] != "success" or answer["data"]["resultType"] != "matrix":
            raise Missed(BAD_ANSWER, f"the query gives {answer.get('error') or answer['data']['resultType']}")
        result = answer["data"]["result"]
        if len(result) > 1:
            raise Missed(BAD_ANSWER, f"the query gives {len(result)} series: let it give one, such as by sum(...)")
        points = []
        for at, text in result[0]["values"] if result else ():
            value = float(text)
            if math.isfinite(value) and abs(value) * 1000 <= _MAX_MILLI:
                points.append((round((at - window.started_at) * 1_000_000), round(value * 1000)))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Missed(BAD_ANSWER, f"not the answer of a Prometheus: {type(error).__name__}: {error}") from error
    return points
