"""How a worker knows the master's monotonic clock: it pings, and believes the fastest round trip.

Pure. The master's clock was read somewhere between sending and receiving, so the middle of the round trip is off by at
most half of it; nothing is assumed about wall clocks, which may jump.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class RoundTrip(NamedTuple):
    """One ping: sent and received on the worker's clock, answered on the master's (nanoseconds)."""

    sent: int
    master: int
    received: int


class ClockEstimate(NamedTuple):
    """Master's clock minus the worker's, and the most that this can be wrong by (nanoseconds)."""

    offset: int
    uncertainty: int

    def to_worker(self, master: int) -> int:
        """An instant of the master's clock on the worker's clock."""
        return master - self.offset


def estimate(trips: Iterable[RoundTrip]) -> ClockEstimate:
    """The estimate of the fastest round trip. ValueError where there was none."""
    best = min(trips, key=lambda trip: trip.received - trip.sent)
    return ClockEstimate(best.master - (best.sent + best.received) // 2, (best.received - best.sent + 1) // 2)
