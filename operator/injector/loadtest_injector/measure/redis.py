"""A Redis server by INFO: connections, memory, and the cumulative counters of CPU time, commands and evictions.

Counters are kept as they are read, so that a rate is a difference of two of them and no mean of samples. The one
connection that asks is not counted among the connections; its INFO, once a second, is counted among the commands.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError
from redis.retry import Retry

from loadtest_injector.measure.series import BAD_ANSWER, SECRET_MISSING, SOURCE_UNAVAILABLE, UNAUTHORIZED, Missed
from loadtest_injector.measure.sources import RedisSource

FIELDS = ("connections", "cpuMicros", "commands", "evictedKeys", "memoryBytes", "instance")
"""`instance` counts servers that answered, from 0: where it changes, the counters began anew."""

_TIMEOUT_SECONDS = 0.9
"""Of connecting and of an answer each: a sample that takes longer is a point that is missing."""

_MICROS = 1_000_000


class RedisSampler:
    """One connection, kept. `sample` takes one point."""

    def __init__(self, source: RedisSource, secrets: Path) -> None:
        self._source = source
        self._secrets = secrets / source.name
        self._client: redis.Redis | None = None
        self._instances: list[str] = []

    def sample(self) -> tuple[int, ...]:
        """The values of `FIELDS` now. Raises Missed."""
        where = f"Redis at {self._source.host}:{self._source.port}"
        try:
            if self._client is None:
                self._client = self._connect()
            info: dict[str, Any] = self._client.info()
        except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
            raise Missed(UNAUTHORIZED, f"{where} refuses: {error}") from error
        except (RedisError, OSError) as error:
            raise Missed(SOURCE_UNAVAILABLE, f"{where}: {type(error).__name__}: {error}") from error
        try:
            return values(info, self._instances)
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
                tls["ssl_ca_data"] = self._secret("ca.crt")
        return redis.Redis(
            host=source.host,
            port=source.port,
            username=source.username,
            password=self._secret("password") if source.password else None,
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

    def _secret(self, name: str) -> str:
        path = self._secrets / name
        try:
            return path.read_text().rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise Missed(SECRET_MISSING, f"{path} cannot be read: {type(error).__name__}: is it there?") from error


def values(info: dict[str, Any], instances: list[str]) -> tuple[int, ...]:
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
