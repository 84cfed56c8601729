"""Wake-ups: an event about a LoadTest is a hint to look again now, never work in itself."""

from __future__ import annotations

import asyncio
from collections import defaultdict


class Wakeups:
    """One flag per uid, that ends a wait early."""

    def __init__(self) -> None:
        self._flags: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def set(self, uid: str) -> None:
        """End the current wait for `uid`, or the next one."""
        self._flags[uid].set()

    def forget(self, uid: str) -> None:
        """Drop the flag of a LoadTest that is gone."""
        self._flags.pop(uid, None)

    async def wait(self, uid: str, seconds: float | None) -> None:
        """Wait until woken, or for so many seconds; None waits until woken."""
        flag = self._flags[uid]
        try:
            await asyncio.wait_for(flag.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            flag.clear()
