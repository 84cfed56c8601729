"""The window that is measured, on both clocks."""

from __future__ import annotations

import time
from typing import NamedTuple

import gevent

_NANOS = 1_000_000_000
_NANOS_PER_MICRO = 1_000


class Window(NamedTuple):
    """Start and end on the monotonic clock (nanoseconds); the start in seconds since the epoch, too."""

    start: int
    end: int
    started_at: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.start) / _NANOS

    @property
    def ended_at(self) -> float:
        """Its end in seconds since the epoch."""
        return self.started_at + self.seconds

    def micros(self, instant: int) -> int:
        """An instant of the monotonic clock, in microseconds after the start."""
        return (instant - self.start) // _NANOS_PER_MICRO

    def sleep_until(self, instant: int) -> None:
        """Wait for an instant of the monotonic clock; not at all if it is over."""
        gevent.sleep(max(0.0, (instant - time.monotonic_ns()) / _NANOS))
