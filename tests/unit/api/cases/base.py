"""Specs that are accepted and specs that are refused, for the models and for the API server alike.

A case is a change to a good spec: objects are merged, None removes a field, all else replaces. A refusal says which
field the user is pointed to, and a piece of the message, which must be the same from both.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

STAGE = {"injectors": 10, "duration": "20m"}
REQUESTS = {"configMap": {"name": "census-household", "key": "census_household_gb_eng.json"}}
RUNNER = {"workerClass": "gthread", "workers": 7, "threads": 7, "datastoreTransport": "grpc", "replicas": 50}

WITH_RELEASE: dict[str, Any] = {
    "target": {
        "url": "http://runner.runner.svc:80",
        "release": {"name": "runner", "namespace": "runner", "preset": "eq-questionnaire-runner"},
    },
    "variants": [
        {"name": "seven-threads", "runner": RUNNER},
        {"name": "two-threads", "runner": RUNNER | {"threads": 2}},
    ],
    "load": {"stages": [STAGE, {"injectors": 15, "duration": "20m"}]},
    "scenario": {"requests": REQUESTS},
}
"""A good spec with variants."""

BARE: dict[str, Any] = {
    "target": {"url": "http://runner.runner.svc:80"},
    "load": {"stages": [STAGE]},
    "scenario": {"requests": REQUESTS},
}
"""The shortest good spec: a target loaded as it is."""


def merged(base: Any, change: Any) -> Any:
    """The base with the change merged in: objects by field, None removes, all else replaces."""
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return deepcopy(change)
    result = deepcopy(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@dataclass(frozen=True)
class Accepted:
    """A spec that both accept."""

    what: str
    change: dict[str, Any] = field(default_factory=dict)
    base: dict[str, Any] = field(default_factory=lambda: WITH_RELEASE)

    @property
    def spec(self) -> dict[str, Any]:
        """The whole spec."""
        result: dict[str, Any] = merged(self.base, self.change)
        return result


@dataclass(frozen=True)
class Refused(Accepted):
    """A spec that both refuse, pointing `at` a field; `says` is in the message of both."""

    at: str = "spec"
    says: str = ""


def matrix(**more: Any) -> dict[str, Any]:
    axes = [{"setting": "threads", "values": ["2", "3", "7"]}, {"setting": "workers", "values": ["5", "7"]}]
    return {"variants": None, "matrix": {"axes": axes, **more}}


def axes(*values: list[str]) -> dict[str, Any]:
    names = ("threads", "workers", "replicas", "cpu", "uwsgiAsyncCores", "workerClass")
    axes = [{"setting": name, "values": one} for name, one in zip(names, values, strict=False)]
    return {"variants": None, "matrix": {"axes": axes}}


def transport(*exclude: dict[str, str]) -> dict[str, Any]:
    axes = [
        {"setting": "workerClass", "values": ["gthread", "gevent"]},
        {"setting": "datastoreTransport", "values": ["grpc", "http"]},
    ]
    return {"variants": None, "matrix": {"axes": axes, **({"exclude": list(exclude)} if exclude else {})}}


def runner(**settings: Any) -> dict[str, Any]:
    return {"variants": [{"name": "one", "runner": settings}]}


def stages(*stages: Any) -> dict[str, Any]:
    return {"load": {"stages": list(stages)}}


def stage_of(text: Any) -> dict[str, Any]:
    return stages({"injectors": 1, "duration": text})


def one_setting(**more: Any) -> dict[str, Any]:
    return {"target": {"release": {"settings": [{"name": "workers", "paths": ["webServer.workers"], **more}]}}}


def settings_of_its_own(settings: dict[str, Any], preset: str | None = None) -> dict[str, Any]:
    """A release with a setting `poolSize` of its own, and one variant."""
    release = {"preset": preset, "settings": [{"name": "poolSize", "paths": ["pool.size"]}]}
    return {"target": {"release": release}, "variants": [{"name": "one", "settings": settings}]}


def objective(**of: Any) -> dict[str, Any]:
    return {"objectives": [{"name": "one", **of}]}


def share(text: Any) -> dict[str, Any]:
    return objective(failureRatio={"below": text})


def rate(text: Any) -> dict[str, Any]:
    return objective(throughput={"above": text})


def percentile(text: Any, below: Any = "1s") -> dict[str, Any]:
    return objective(latency={"percentile": text, "below": below})


CHART = {"repo": "https://charts.example.org", "name": "runner", "version": "1.0.0"}


def measurement(**redis: Any) -> dict[str, Any]:
    """A spec with one measurement, of a Redis."""
    return {"measurements": [{"name": "redis", "redis": {"address": "redis.runner.svc:6379"} | redis}]}


def pods(account: str | None = "loadtest-measure") -> dict[str, Any]:
    """A spec with one measurement, of the target's pods."""
    measured = {"measurements": [{"name": "runner", "pods": {}}]}
    return measured | ({"injector": {"masterServiceAccount": account}} if account else {})


def query(**prometheus: Any) -> dict[str, Any]:
    """A spec with one measurement, a query."""
    asked = {"url": "http://prometheus:9090", "query": "sum(up)"} | prometheus
    return {"measurements": [{"name": "queue", "prometheus": asked}]}


def google(**asked: Any) -> dict[str, Any]:
    """A spec with one measurement, of Google Cloud Monitoring."""
    return {"measurements": [{"name": "google", "cloudMonitoring": {"project": "eq-test"} | asked}]}
