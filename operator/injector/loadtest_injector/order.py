"""The order of one attempt at a stage: the body of PUT /v1/stages/{repeat}/{stage}/{attempt}, checked field by field.

Pure. An order is accepted whole or refused with the name of the first wrong field, so that nothing starts half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from loadtest_injector.measure.sources import Source, SourceError, parse_sources

MAX_WORKERS = 1_000
MAX_USERS = 1_000_000
MAX_RATE = 10_000_000
MAX_SECONDS = 7 * 86_400.0
MAX_NAME = 253  # of a Kubernetes object
_FIELDS = {
    "injectors",
    "users",
    "spawnRate",
    "expectedWorkers",
    "durationSeconds",
    "warmUpSeconds",
    "joinTimeoutSeconds",
    "requestTimeoutSeconds",
    "context",
    "measurements",
    "arrivalsPerSecond",
}


class OrderError(ValueError):
    """The order is refused: `field` names what is wrong, the message says what it must be."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True)
class StageOrder:
    """What one attempt at a stage is to do. Durations are in seconds, spawn_rate in users per second.

    arrivals_per_second is that of open load, over all workers; 0 in closed load.
    """

    injectors: int
    users: int
    spawn_rate: float
    expected_workers: tuple[str, ...]
    duration_seconds: float
    warm_up_seconds: float
    join_timeout_seconds: float
    request_timeout_seconds: float
    measurements: tuple[Source, ...]
    arrivals_per_second: int
    body: dict[str, Any]
    """The order as it was sent; returned in the record and compared to tell a repeated PUT from another one."""


def parse_order(body: object) -> StageOrder:
    """Check the decoded JSON body of a PUT; OrderError names the first field that is wrong."""
    if not isinstance(body, dict):
        raise OrderError("body", "must be a JSON object")
    for field in body:
        if field not in _FIELDS:
            raise OrderError(str(field)[:MAX_NAME], f"is unknown; an order has {', '.join(sorted(_FIELDS))}")
    workers = _workers(body.get("expectedWorkers"))
    users = _integer(body, "users", MAX_USERS)
    if users < len(workers):
        raise OrderError("users", f"must be at least one for each of the {len(workers)} expected workers")
    if not isinstance(body.get("context", {}), dict):
        raise OrderError("context", "must be a JSON object")
    try:
        measurements = parse_sources(body.get("measurements", []))
    except SourceError as error:
        raise OrderError(error.field, error.message) from error
    return StageOrder(
        injectors=_integer(body, "injectors", MAX_USERS),
        users=users,
        spawn_rate=_number(body, "spawnRate", above=0, highest=MAX_USERS),
        expected_workers=workers,
        duration_seconds=_number(body, "durationSeconds", above=0, highest=MAX_SECONDS),
        warm_up_seconds=_number(body, "warmUpSeconds", above=-1, highest=MAX_SECONDS, default=0),
        join_timeout_seconds=_number(body, "joinTimeoutSeconds", above=0, highest=86_400, default=120),
        request_timeout_seconds=_number(body, "requestTimeoutSeconds", above=0, highest=3_600, default=60),
        measurements=measurements,
        arrivals_per_second=_integer(body, "arrivalsPerSecond", MAX_RATE) if "arrivalsPerSecond" in body else 0,
        body=body,
    )


def _integer(body: dict[str, Any], field: str, highest: int) -> int:
    value = body.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= highest:
        raise OrderError(field, f"must be a whole number from 1 to {highest}")
    return value


def _number(body: dict[str, Any], field: str, *, above: float, highest: float, default: float | None = None) -> float:
    value = body.get(field, default)
    lowest = "0" if above < 0 else "above 0"
    remedy = f"must be a number of {lowest} to {highest:g}"
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise OrderError(field, remedy)
    if value > highest or (value < 0 if above < 0 else value <= above):
        raise OrderError(field, remedy)
    return float(value)


def _workers(value: object) -> tuple[str, ...]:
    remedy = f"must be a list of 1 to {MAX_WORKERS} different worker names"
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_WORKERS:
        raise OrderError("expectedWorkers", remedy)
    for name in value:
        if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
            raise OrderError("expectedWorkers", f"{remedy}, each of 1 to {MAX_NAME} characters")
    if len(set(value)) != len(value):
        raise OrderError("expectedWorkers", remedy)
    return tuple(value)
