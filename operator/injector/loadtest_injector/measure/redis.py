"""A Redis server by INFO: connections, memory, and the cumulative counters of CPU time, commands and evictions.

Counters are kept as they are read, so that a rate is a difference of two of them and no mean of samples. The one
connection that asks is not counted among the connections; its INFO, once a second, is counted among the commands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError
from redis.retry import Retry

from loadtest_injector.measure.address import require_allowed
from loadtest_injector.measure.series import (
    BAD_ANSWER,
    SOURCE_UNAVAILABLE,
    UNAUTHORIZED,
    Missed,
    Series,
    read_secret,
)
from loadtest_injector.measure.sources import RedisSource
from loadtest_injector.measure.window import Window

FIELDS = ("connections", "cpuMicros", "commands", "evictedKeys", "memoryBytes", "instance")
"""`instance` counts servers that answered, from 0: where it changes, the counters began anew."""

INTERVAL_NANOS = 1_000_000_000
"""The server is asked once a second, and right at both edges of the window."""

_TIMEOUT_SECONDS = 0.9
"""Of connecting and of an answer each: a sample that takes longer is a point that is missing."""

_MICROS = 1_000_000


def instants(start: int, end: int) -> Iterator[int]:
    """When the server is asked: at the start, every second after it, and at the end (nanoseconds)."""
    yield from range(start, end, INTERVAL_NANOS)
    yield end


def expected(_source: RedisSource, window: Window) -> int:
    """How many points a whole window has."""
    return sum(1 for _ in instants(window.start, window.end))


def collect(source: RedisSource, secrets: Path, series: Series, window: Window) -> None:
    """Take the points of the window, as they are due."""
    sampler = RedisSampler(source, secrets)
    try:
        for at in instants(window.start, window.end):
            if time.monotonic_ns() >= at + INTERVAL_NANOS:
                series.miss(Missed(SOURCE_UNAVAILABLE, "the answer before took longer than a second"))
                continue
            window.sleep_until(at)
            asked = time.monotonic_ns()
            try:
                values = sampler.sample()
            except Missed as missed:
                series.miss(missed)
            else:
                series.add(window.micros((asked + time.monotonic_ns()) // 2), *values)
    finally:
        sampler.close()


class RedisSampler:
    """One connection, kept. `sample` takes one point."""

    def __init__(self, source: RedisSource, secrets: Path) -> None:
        self._source = source
        self._secrets = secrets
        self._client: redis.Redis | None = None
        self._instances: list[str] = []

    def sample(self) -> tuple[int, ...]:
        """The values of `FIELDS` now. Raises Missed."""
        where = f"Redis at {self._source.host}:{self._source.port}"
        try:
            if self._client is None:
                require_allowed(self._source.host, self._source.port)
                self._client = self._connect()
            info: dict[str, Any] = self._client.info()
        except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
            raise Missed(UNAUTHORIZED, f"{where} refuses: {error}") from error
        except (RedisError, OSError) as error:
            raise Missed(SOURCE_UNAVAILABLE, f"{where}: {type(error).__name__}: {error}") from error
        try:
            return values_of(info, self._instances)
        except (KeyError, TypeError, ValueError, InvalidOperation) as error:
            raise Missed(BAD_ANSWER, f"{where} answers INFO without {error}") from error

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _connect(self) -> redis.Redis:
        source = self._source
        tls: dict[str, Any] = {}
        if source.tls:
            tls = {"ssl": True, "ssl_check_hostname": True}
            if source.ca:
                tls["ssl_ca_data"] = read_secret(self._secrets / "ca.crt")
        return redis.Redis(
            host=source.host,
            port=source.port,
            username=source.username,
            password=read_secret(self._secrets / "password") if source.password else None,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
            single_connection_client=False,
            max_connections=1,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # every server speaks it; the other begins with a command of its own
            # Commands beside INFO would want further rights.
            driver_info=None,
            **tls,
        )


def values_of(info: dict[str, Any], instances: list[str]) -> tuple[int, ...]:
    """The values of `FIELDS` from a parsed INFO; `instances` are the run ids seen so far, and grows."""
    instance = str(info["run_id"])
    if not instances or instances[-1] != instance:
        instances.append(instance)
    return (
        int(info["connected_clients"]) - 1,
        # CPU time of the server's own process, its threads included; children that save or rewrite are not in it.
        sum(int(Decimal(str(info[field])) * _MICROS) for field in ("used_cpu_sys", "used_cpu_user")),
        int(info["total_commands_processed"]),
        int(info["evicted_keys"]),
        int(info["used_memory"]),
        len(instances) - 1,
    )
