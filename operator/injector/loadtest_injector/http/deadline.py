"""A time limit that costs next to nothing where it is not reached.

`gevent.Timeout` starts and stops a timer of the event loop for each use. Here a timer runs on: when it fires, it looks
whether somebody waits and until when, and is set for what is left.
"""

from __future__ import annotations

import math
from time import monotonic
from typing import Any

import gevent

from loadtest_injector.http.errors import TIMEOUT, HttpError


class Deadline:
    """Raises HttpError of kind timeout in the greenlet that waits, at the instant given to `start`."""

    __slots__ = ("_due", "_fires", "_hub", "_message", "_timer", "_waiting")

    def __init__(self, hub: Any) -> None:
        self._hub = hub
        self._timer: Any = None
        self._fires = math.inf
        self._due = 0.0
        self._message = ""
        self._waiting: Any = None

    def start(self, due: float, message: str) -> None:
        """From now on this greenlet gets a timeout when time.monotonic() is past `due` (seconds)."""
        self._waiting = gevent.getcurrent()
        self._due = due
        self._message = message
        if due < self._fires:
            self._set(due)

    def stop(self) -> None:
        """Nobody waits any more. The timer may fire once more, to find that."""
        self._waiting = None

    def close(self) -> None:
        """Stop the timer too."""
        self._waiting = None
        self._fires = math.inf
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _set(self, due: float) -> None:
        if self._timer is not None:
            self._timer.close()
        # Not counted by the loop as a reason to go on: the socket is.
        self._timer = self._hub.loop.timer(max(0.0, due - monotonic()), ref=False)
        self._fires = due
        self._timer.start(self._fire)

    def _fire(self) -> None:
        waiting = self._waiting
        if waiting is None:
            self.close()
        elif monotonic() < self._due:
            self._set(self._due)
        else:
            self.close()
            waiting.throw(HttpError(TIMEOUT, self._message))
