"""All measurements of one attempt: a greenlet for each, from the window's announcement until its points are in."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import gevent

from loadtest_injector.measure.series import Missed, Series
from loadtest_injector.measure.sources import Source
from loadtest_injector.measure.window import Window

_MODULES = {"cloudMonitoring": "cloud_monitoring"}
log = logging.getLogger(__name__)


class Sampling:
    """The measurements of one attempt. Without sources it does nothing."""

    def __init__(
        self, sources: Sequence[Source], secrets: Path = Path(), *, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        # Only what is used is loaded: a master without measurements stays as small as it was. And now, when
        # nothing is in a hurry: loading takes a second on a busy machine, in which the master would hear nobody.
        self._sources = [
            (source, import_module(f"loadtest_injector.measure.{_MODULES.get(source.kind, source.kind)}"))
            for source in sources
        ]
        self._secrets = secrets
        self._clock = clock
        self._series: list[Series] = []
        self._greenlets: list[gevent.Greenlet[..., None]] = []

    def start(self, start: int, end: int) -> None:
        """Begin to measure the window between two instants of the monotonic clock, which may lie ahead."""
        window = Window(start, end, time.time() + (start - self._clock()) / 1e9)
        for source, module in self._sources:
            series = Series(source.name, source.kind, module.FIELDS, expected=module.expected(source, window))
            self._series.append(series)
            self._greenlets.append(gevent.spawn(self._collect, module.collect, source, series, window))

    @property
    def over(self) -> bool:
        """Whether every source has been asked to the end."""
        return all(greenlet.ready() for greenlet in self._greenlets)

    def finish(self) -> list[dict[str, Any]]:
        """The series, as the record has them. What is still being asked is ended."""
        gevent.killall(self._greenlets)
        return [series.to_json() for series in self._series]

    def _collect(self, collect: Callable[..., None], source: Source, series: Series, window: Window) -> None:
        try:
            collect(source, self._secrets / source.name, series, window)
        except Exception:
            log.exception("measurement %s failed", source.name)
            series.miss(Missed("InternalError", "the measurement failed: see the master's log"))
