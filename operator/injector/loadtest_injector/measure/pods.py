"""CPU and memory of pods by the cluster's metrics API (metrics.k8s.io, served by metrics-server or another).

For each pod the API says how much CPU it used between two readings of the kubelet's cumulative counter: a rate, the
length of the interval, and when it ended. Every interval is kept once. Those at the window's edges reach beyond it;
whoever computes a figure takes their share. The last one is known only after the window's end, and waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from loadtest_injector.measure.https import get_json
from loadtest_injector.measure.series import BAD_ANSWER, SOURCE_UNAVAILABLE, Missed, Series, read_secret
from loadtest_injector.measure.sources import PodsSource
from loadtest_injector.measure.window import Window

FIELDS = ("spanMicros", "pod", "cpuNanocores", "memoryBytes")
"""A point is one interval of one pod: it ends at `atMicros`; `pod` is its place among the ordered names."""

LAST_INTERVAL_SECONDS = 75.0
"""How long after the window's end its last interval is waited for: metrics-server looks every 15 s, some every 60 s."""

_NANOS = 1_000_000_000
_EVERY_NANOS = 2 * _NANOS
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_API = "https://kubernetes.default.svc"
_UNITS = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1)}
_SIZES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def expected(_source: PodsSource, _window: Window) -> int:
    """Unknown beforehand: how often the metrics API looks is its own business. What counts is the time covered."""
    return 0


def collect(source: PodsSource, _secrets: Path, series: Series, window: Window) -> None:
    """Take every interval that reaches into the window; return once each pod's last one is there, or it is too late."""
    until = dict.fromkeys(range(len(source.pods)), window.started_at)
    last = window.end + int(LAST_INTERVAL_SECONDS * _NANOS)
    window.sleep_until(window.start)
    while True:
        refused = False
        try:
            for pod, ended_at, point in intervals(_ask(source), source, window):
                if ended_at > until[pod]:
                    until[pod] = ended_at
                    if point[0] - point[1] < window.seconds * 1_000_000:
                        series.add(*point)
        except Missed as missed:
            series.miss(missed)
            refused = missed.reason != SOURCE_UNAVAILABLE  # that will not pass by waiting
        now = time.monotonic_ns()
        covered = min(until.values(), default=window.ended_at) >= window.ended_at
        if now >= last or (now >= window.end and (covered or refused)):
            return
        window.sleep_until(now + _EVERY_NANOS)


def _ask(source: PodsSource) -> Mapping[str, Any]:
    url = f"{_API}/apis/metrics.k8s.io/v1beta1/namespaces/{source.namespace}/pods"
    token = read_secret(_ACCOUNT / "token")  # anew each time: the kubelet renews it
    answer: Mapping[str, Any] = get_json(url, token=token, ca=read_secret(_ACCOUNT / "ca.crt"))
    return answer


def intervals(
    answer: Mapping[str, Any], source: PodsSource, window: Window
) -> Iterator[tuple[int, float, tuple[int, ...]]]:
    """Of each ordered pod in a PodMetricsList: its place, the end of its interval (epoch), its point. Raises Missed."""
    places = {name: place for place, name in enumerate(source.pods)}
    try:
        for item in answer["items"]:
            place = places.get(item["metadata"]["name"])
            if place is None:
                continue
            ended_at = datetime.fromisoformat(item["timestamp"]).timestamp()
            at = round((ended_at - window.started_at) * 1_000_000)
            usage = [container["usage"] for container in item["containers"]]
            cpu = sum(nanocores(each["cpu"]) for each in usage)
            yield place, ended_at, (at, span_micros(item["window"]), place, cpu, sum(size(u["memory"]) for u in usage))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise Missed(BAD_ANSWER, f"the metrics API answers without {type(error).__name__}: {error}") from error


def nanocores(text: str) -> int:
    """A quantity of CPU, such as 12345n or 2."""
    number = text.rstrip("num")
    return int(Decimal(number) * _UNITS[text[len(number) :]] * 1_000_000_000)


def size(text: str) -> int:
    """A quantity of memory in bytes, such as 12345Ki."""
    number = text.rstrip("KMGik")
    return int(Decimal(number) * _SIZES[text[len(number) :]])


def span_micros(text: str) -> int:
    """A duration as Go writes it, such as 10.174s or 1m0s."""
    minutes, _, seconds = text.rpartition("m")
    return int(Decimal(minutes or 0) * 60_000_000 + Decimal(seconds.rstrip("s")) * 1_000_000)
