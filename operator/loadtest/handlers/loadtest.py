"""The handlers of LoadTests: a daemon while there is work, a wake-up for each event, and the finalizer's restore.

A daemon and a deletion handler match only while there is work to do (`has_work`), and kopf keeps its finalizer only
while one of them matches. So a LoadTest at rest has no daemon, no finalizer and no cost, and can be deleted, or survive
the operator, freely; an edit makes it match again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import kopf

from loadtest.api import names
from loadtest.api.status import TERMINAL
from loadtest.handlers.janitor import Janitor
from loadtest.handlers.metrics import Metrics
from loadtest.handlers.wakeups import Wakeups
from loadtest.ports import Ref
from loadtest.reconcile.loop import Reconciler

RESOURCE = (names.GROUP, names.VERSION, names.PLURAL)
STOP_SECONDS = 10.0
"""How long a step may take to end when its daemon is told to stop; after that it is cancelled, as if it had crashed."""


def has_work(body: Mapping[str, Any], **_: Any) -> bool:
    """Whether the loop has something to do: a run that is on, a spec not looked at yet, a restore that is owed."""
    status, meta = body.get("status") or {}, body["metadata"]
    if status.get("phase") not in TERMINAL:
        return True
    owed = any(c["type"] == "TargetRestored" and c["status"] == "False" for c in status.get("conditions") or ())
    if owed:
        annotations = meta.get("annotations") or {}
        return annotations.get(names.ANNOTATION_GIVE_UP_RESTORE) != "true"
    return bool(status.get("observedGeneration") != meta.get("generation")) and not meta.get("deletionTimestamp")


def register(
    registry: kopf.OperatorRegistry, reconciler: Reconciler, wakeups: Wakeups, janitor: Janitor, metrics: Metrics
) -> None:
    """Register the handlers for one reconciler."""

    @kopf.daemon(
        *RESOURCE,
        registry=registry,
        when=has_work,
        cancellation_backoff=STOP_SECONDS,
        cancellation_timeout=STOP_SECONDS,
    )
    async def drive(
        namespace: str | None, name: str | None, uid: str | None, stopped: kopf.DaemonStopped, **_: Any
    ) -> None:
        ref = Ref(namespace or "", name or "", uid or "")
        while not stopped:
            delay = await reconciler.step(ref)
            await _wait_or_stop(wakeups, ref.uid, delay, stopped)
        reconciler.forget(ref.uid)

    @kopf.on.event(*RESOURCE, registry=registry)
    async def wake(event: kopf.RawEvent, body: kopf.Body, uid: str | None, **_: Any) -> None:
        if event["type"] == "DELETED":
            wakeups.forget(uid or "")
            janitor.forget(uid or "")
            metrics.forget(uid or "")
            reconciler.forget(uid or "")
        else:
            janitor.note(body)
            metrics.note(body)
            wakeups.set(uid or "")

    @kopf.on.delete(*RESOURCE, registry=registry, when=has_work, backoff=5.0)
    async def finish(namespace: str | None, name: str | None, uid: str | None, **_: Any) -> None:
        ref = Ref(namespace or "", name or "", uid or "")
        while (delay := await reconciler.step(ref)) is not None:
            await wakeups.wait(ref.uid, delay)


async def _wait_or_stop(wakeups: Wakeups, uid: str, delay: float | None, stopped: kopf.DaemonStopped) -> None:
    """Sleep until it is time, something happened, or the daemon is told to stop."""
    sleep = asyncio.ensure_future(wakeups.wait(uid, delay))
    stop = asyncio.ensure_future(stopped.wait())
    _, pending = await asyncio.wait({sleep, stop}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
