"""Launch tokens made ahead of the launches that need them.

A token takes half a millisecond of CPU and more, most of it in OpenSSL. A native thread makes it, so that no other
user's request waits; and a user who launches takes one that is there already.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import gevent
from gevent.event import Event
from gevent.threadpool import ThreadPool

SIZE = 64
"""Tokens that lie ready, at most."""

MAX_AGE_SECONDS = 60.0
"""An older one is thrown away: iat and exp are to be those of a respondent who comes now."""


class TokenStock:
    """Hands out what `make` makes, each token once. Must be made and used in one thread's greenlets."""

    def __init__(self, make: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._make = make
        self._clock = clock
        self._thread = ThreadPool(1)
        self._ready: deque[tuple[float, str]] = deque()
        self._wanted = Event()
        self._filling = gevent.spawn(self._fill)

    def token(self) -> str:
        """A token that was made a moment ago; where none is ready it is made now. What `make` raises is raised."""
        self._wanted.set()
        oldest = self._clock() - MAX_AGE_SECONDS
        while self._ready:
            made_at, token = self._ready.popleft()
            if made_at >= oldest:
                return token
        return self._made()

    def _fill(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            while len(self._ready) < SIZE:
                made_at = self._clock()
                self._ready.append((made_at, self._made()))

    def _made(self) -> str:
        return str(self._thread.apply(self._make))
