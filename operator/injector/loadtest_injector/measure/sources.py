"""The measurements of a stage order, checked field by field. Pure.

Names of Secrets and paths are not in an order: what a source needs lies in the folder of secrets, under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_MEASUREMENTS = 16
_MAX_TEXT = 4_096
_MAX_PORT = 65_535
_MAX_SECONDS = 3_600


class SourceError(ValueError):
    """A measurement is refused: `field` names what is wrong, below `measurements`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True)
class RedisSource:
    """A Redis server. With `password` there is a file of that name; with `ca` there is a file ca.crt."""

    kind = "redis"

    name: str
    host: str
    port: int
    username: str | None
    password: bool
    tls: bool
    ca: bool


@dataclass(frozen=True)
class PodsSource:
    """Pods of one namespace, by name, through the metrics API of the cluster that the master runs in."""

    kind = "pods"

    name: str
    namespace: str
    pods: tuple[str, ...]


@dataclass(frozen=True)
class PrometheusSource:
    """A query of a Prometheus. With `token` and `ca` there are files token and ca.crt."""

    kind = "prometheus"

    name: str
    url: str
    query: str
    step_seconds: int
    delay_seconds: float
    token: bool
    ca: bool


@dataclass(frozen=True)
class CloudMonitoringSource:
    """Series of Google Cloud Monitoring, aligned and reduced to one; aligner and reducer by the names of its API."""

    kind = "cloudMonitoring"

    name: str
    project: str
    filter: str
    aligner: str
    reducer: str
    alignment_seconds: int
    delay_seconds: float


Source = RedisSource | PodsSource | PrometheusSource | CloudMonitoringSource


def parse_sources(value: object) -> tuple[Source, ...]:
    """Read the list; SourceError names the first field that is wrong."""
    if not isinstance(value, list) or len(value) > MAX_MEASUREMENTS:
        raise SourceError("measurements", f"must be a list of at most {MAX_MEASUREMENTS} measurements")
    sources = tuple(_source(entry, f"measurements[{number}]") for number, entry in enumerate(value))
    if len({source.name for source in sources}) != len(sources):
        raise SourceError("measurements", "must have different names")
    return sources


def _source(entry: object, where: str) -> Source:
    if not isinstance(entry, dict):
        raise SourceError(where, "must be a JSON object")
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1 or not isinstance(entry[kinds[0]], dict):
        raise SourceError(where, f"must have exactly one of {', '.join(_KINDS)}, a JSON object")
    return _KINDS[kinds[0]](_text(entry, "name", where), entry[kinds[0]], f"{where}.{kinds[0]}")


def _redis(name: str, body: Mapping[str, Any], where: str) -> Source:
    port = body.get("port")
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= _MAX_PORT:
        raise SourceError(f"{where}.port", f"must be a whole number from 1 to {_MAX_PORT}")
    return RedisSource(
        name=name,
        host=_text(body, "host", where),
        port=port,
        username=_text(body, "username", where) if "username" in body else None,
        password=bool(body.get("password")),
        tls=bool(body.get("tls")),
        ca=bool(body.get("ca")),
    )


def _pods(name: str, body: Mapping[str, Any], where: str) -> Source:
    pods = body.get("pods")
    if not isinstance(pods, list) or not all(isinstance(pod, str) and pod for pod in pods):
        raise SourceError(f"{where}.pods", "must be a list of names")
    return PodsSource(name=name, namespace=_text(body, "namespace", where), pods=tuple(pods))


def _prometheus(name: str, body: Mapping[str, Any], where: str) -> Source:
    return PrometheusSource(
        name=name,
        url=_text(body, "url", where),
        query=_text(body, "query", where),
        step_seconds=int(_number(body, "stepSeconds", where, lowest=1)),
        delay_seconds=_number(body, "delaySeconds", where, lowest=0),
        token=bool(body.get("token")),
        ca=bool(body.get("ca")),
    )


def _cloud_monitoring(name: str, body: Mapping[str, Any], where: str) -> Source:
    return CloudMonitoringSource(
        name=name,
        project=_text(body, "project", where),
        filter=_text(body, "filter", where),
        aligner=_text(body, "aligner", where),
        reducer=_text(body, "reducer", where),
        alignment_seconds=int(_number(body, "alignmentSeconds", where, lowest=1)),
        delay_seconds=_number(body, "delaySeconds", where, lowest=0),
    )


_KINDS: dict[str, Callable[[str, Mapping[str, Any], str], Source]] = {
    "redis": _redis,
    "pods": _pods,
    "prometheus": _prometheus,
    "cloudMonitoring": _cloud_monitoring,
}


def _number(body: Mapping[str, Any], field: str, where: str, *, lowest: int) -> float:
    value = body.get(field)
    if not isinstance(value, int | float) or isinstance(value, bool) or not lowest <= value <= _MAX_SECONDS:
        raise SourceError(f"{where}.{field}", f"must be a number of {lowest} to {_MAX_SECONDS}")
    return value


def _text(body: Mapping[str, Any], field: str, where: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not 1 <= len(value) <= _MAX_TEXT:
        raise SourceError(f"{where}.{field}", f"must be a text of 1 to {_MAX_TEXT} characters")
    return value
