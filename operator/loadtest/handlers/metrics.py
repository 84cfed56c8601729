"""The operator's metrics for Prometheus: its loop, and what became of runs, stages and targets."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from loadtest.api import names
from loadtest.api.conditions import Reason
from loadtest.api.status import TERMINAL, Phase
from loadtest.ports import Ref

RESTORES = frozenset(
    {
        Reason.RESTORED, Reason.RELEASE_GONE, Reason.RESTORE_CONFLICT, Reason.RESTORE_FAILED,
        Reason.RESTORE_VERIFICATION_FAILED, Reason.RESTORE_GIVEN_UP,
    }
)  # fmt: skip
"""Reasons of TargetRestored by which a target that was changed came back, or did not."""

STAGES = {"StageComplete": "valid", "StageInvalid": "invalid"}
"""Reasons of events by which an attempt at a stage ended, and what its result is."""


class _ApiRequests(Collector):
    """Requests to the API server, counted where they are sent."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily("loadtest_api_requests", "Requests to the API server.", labels=["method"])
        for method, count in self._counts.items():
            family.add_metric([method], count)
        yield family


class _LoadTests(Collector):
    """The LoadTests that there are: by phase, and whose targets are not restored."""

    def __init__(self) -> None:
        self.phases: dict[str, str] = {}
        self.unrestored: dict[str, tuple[str, str]] = {}

    def collect(self) -> Iterable[Metric]:
        by_phase = GaugeMetricFamily("loadtest_loadtests", "LoadTests by phase.", labels=["phase"])
        counts = Counts(self.phases.values())
        for phase in Phase:
            by_phase.add_metric([phase.value], counts[phase.value])
        yield by_phase
        owed = GaugeMetricFamily(
            "loadtest_target_not_restored",
            "1 for each LoadTest whose target was changed and is not restored.",
            labels=["namespace", "name"],
        )
        for namespace, name in self.unrestored.values():
            owed.add_metric([namespace, name], 1)
        yield owed


class Metrics:
    """All metrics of one operator, in a registry of their own."""

    def __init__(self, api_requests: Mapping[str, int], ages: Mapping[str, Callable[[], float]]) -> None:
        """`api_requests` counts requests by HTTP method; `ages` are gauges of seconds by name. Read at each scrape."""
        self.registry = CollectorRegistry()
        self._steps = Counter("loadtest_steps", "Steps of the loop.", registry=self.registry)
        self._failures = Counter(
            "loadtest_step_failures", "Steps that failed and were tried again.", ["kind"], registry=self.registry
        )
        for kind in ("forbidden", "unavailable", "unexpected"):
            self._failures.labels(kind)
        self._seconds = Histogram("loadtest_step_seconds", "Duration of steps.", registry=self.registry)
        self._stages = Counter("loadtest_stages", "Attempts at stages that ended.", ["result"], registry=self.registry)
        for result in STAGES.values():
            self._stages.labels(result)
        self._restores = Counter(
            "loadtest_restores", "Restores of changed targets that ended.", ["reason"], registry=self.registry
        )
        for reason in sorted(RESTORES):
            self._restores.labels(reason)
        self._runs = Counter("loadtest_runs", "Runs that ended.", ["phase"], registry=self.registry)
        for phase in sorted(TERMINAL):
            self._runs.labels(phase.value)
        self.lag = Histogram(
            "loadtest_event_loop_lag_seconds",
            "How much later than asked for the event loop woke up.",
            buckets=(0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 30),
            registry=self.registry,
        )
        for name, age in ages.items():
            Gauge(name, "Seconds; 0 where there is none.", registry=self.registry).set_function(age)
        self._loadtests = _LoadTests()
        self.registry.register(self._loadtests)
        self.registry.register(_ApiRequests(api_requests))

    def observe(self, _ref: Ref, seconds: float, *, failure: str | None) -> None:
        """Count one step; `failure` is the kind of error that ended it."""
        self._steps.inc()
        self._seconds.observe(seconds)
        if failure is not None:
            self._failures.labels(failure).inc()

    def told(self, reason: str) -> None:
        """Count a transition that the operator told people of, by the reason of its event."""
        if reason in STAGES:
            self._stages.labels(STAGES[reason]).inc()
        elif reason in RESTORES:
            self._restores.labels(reason).inc()
        elif reason in TERMINAL:
            self._runs.labels(reason).inc()

    def note(self, body: Mapping[str, Any]) -> None:
        """Take notice of a LoadTest as it is now."""
        meta, status = body["metadata"], body.get("status") or {}
        self._loadtests.phases[meta["uid"]] = str(status.get("phase") or Phase.PENDING.value)
        conditions = status.get("conditions") or ()
        owed = any(c["type"] == "TargetRestored" and c["status"] == "False" for c in conditions)
        given_up = (meta.get("annotations") or {}).get(names.ANNOTATION_GIVE_UP_RESTORE) == "true"
        if owed and not given_up:
            self._loadtests.unrestored[meta["uid"]] = (meta["namespace"], meta["name"])
        else:
            self._loadtests.unrestored.pop(meta["uid"], None)

    def forget(self, uid: str) -> None:
        """A LoadTest is gone."""
        self._loadtests.phases.pop(uid, None)
        self._loadtests.unrestored.pop(uid, None)
