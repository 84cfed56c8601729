"""All measurements of one attempt: a greenlet for each, from the window's announcement to its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import gevent

from loadtest_injector.measure.series import SOURCE_UNAVAILABLE, Missed, Series
from loadtest_injector.measure.sources import Source

INTERVAL_NANOS = 1_000_000_000
"""A source that is sampled is asked once a second, and right at both edges of the window."""

_NANOS_PER_MICRO = 1_000
_LAST_ANSWER_SECONDS = 3.0
log = logging.getLogger(__name__)


class Sampler(Protocol):
    """A source that is asked again and again."""

    def sample(self) -> tuple[int, ...]: ...  # noqa: D102 - see RedisSampler
    def close(self) -> None: ...  # noqa: D102


def instants(start: int, end: int) -> Iterator[int]:
    """When a source is asked: at the start, every second after it, and at the end (nanoseconds)."""
    yield from range(start, end, INTERVAL_NANOS)
    yield end


class Sampling:
    """The measurements of one attempt. Without sources it does nothing."""

    def __init__(
        self, sources: Sequence[Source], secrets: Path = Path(), *, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._clock = clock
        self._greenlets: list[gevent.Greenlet[..., None]] = []
        self._sources = sources
        self._secrets = secrets
        self._series: list[Series] = []
        self._end = 0

    def start(self, start: int, end: int) -> None:
        """Begin to sample the window between two instants of the monotonic clock, which may lie ahead."""
        if not self._sources:
            return
        from loadtest_injector.measure import redis  # noqa: PLC0415 - a master without measurements does not load it

        self._end = end
        for source in self._sources:
            series = Series(source.name, "redis", redis.FIELDS, expected=sum(1 for _ in instants(start, end)))
            self._series.append(series)
            sampler = redis.RedisSampler(source, self._secrets)
            self._greenlets.append(gevent.spawn(self._sample, series, sampler, start, end))

    def finish(self) -> list[dict[str, Any]]:
        """The series, as the record has them. After the window's end the last answers are waited for."""
        gevent.joinall(self._greenlets, timeout=_LAST_ANSWER_SECONDS if self._clock() >= self._end else 0)
        gevent.killall(self._greenlets)
        return [series.to_json() for series in self._series]

    def _sample(self, series: Series, sampler: Sampler, start: int, end: int) -> None:
        try:
            for at in instants(start, end):
                if self._clock() >= at + INTERVAL_NANOS:
                    series.miss(Missed(SOURCE_UNAVAILABLE, "the answer before took longer than a second"))
                    continue
                gevent.sleep(max(0.0, (at - self._clock()) / 1e9))
                asked = self._clock()
                try:
                    values = sampler.sample()
                except Missed as missed:
                    series.miss(missed)
                else:
                    series.add(((asked + self._clock()) // 2 - start) // _NANOS_PER_MICRO, *values)
        except Exception:
            log.exception("measurement %s failed", series.name)
            series.miss(Missed("InternalError", "the sampler failed: see the master's log"))
        finally:
            sampler.close()
