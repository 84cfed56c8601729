"""The janitor: removes what a run stored, `artifactTTL` after its end. The LoadTest itself stays, for GitOps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from loadtest.adapters.loadtests import parse
from loadtest.api.status import TERMINAL
from loadtest.ports import Outdated, Unavailable

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0


class Janitor:
    """Remembers, from the events that arrive anyway, when the results of each ended run expire; polls nothing."""

    def __init__(self, remove: Callable[[Any], Awaitable[None]]) -> None:
        """`remove` deletes the stored results of a LoadTest (a `Resource`)."""
        self._remove = remove
        self._ended: dict[str, tuple[datetime, dict[str, Any]]] = {}
        self._removed: dict[str, datetime] = {}

    def note(self, body: Mapping[str, Any]) -> None:
        """Take notice of a LoadTest as it is now."""
        uid = body["metadata"]["uid"]
        resource = parse(dict(body))
        status = resource.status
        if resource.spec is None or status.finished_at is None or status.phase not in TERMINAL:
            self._ended.pop(uid, None)
            return
        if self._removed.get(uid) == status.finished_at:
            return
        expiry = status.finished_at + timedelta(seconds=resource.spec.artifact_ttl.seconds)
        self._ended[uid] = (expiry, dict(body))

    def forget(self, uid: str) -> None:
        """A LoadTest is gone; what it owned goes with it."""
        self._ended.pop(uid, None)
        self._removed.pop(uid, None)

    async def run(self) -> None:
        """Look once a minute, for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.sweep(datetime.now(UTC))

    async def sweep(self, now: datetime) -> None:
        """Remove what has expired."""
        for uid, (expiry, body) in list(self._ended.items()):
            if expiry > now:
                continue
            resource = parse(body)
            try:
                await self._remove(resource)
            except (Unavailable, Outdated) as error:
                log.warning("%s: expired results could not be removed: %s", resource.owner, error)
                continue
            except Exception:  # one LoadTest must not keep the results of all the others
                log.exception("%s: expired results could not be removed", resource.owner)
                continue
            log.info("%s: the results have expired and are removed", resource.owner)
            self._ended.pop(uid, None)
            if resource.status.finished_at is not None:
                self._removed[uid] = resource.status.finished_at
