"""One step: observe, decide, record intent, execute, project, patch the status; then say when to look again.

Nothing is kept between steps but pacing: when the status was last written for progress alone, and how often a step
has failed in a row. Losing it costs a write or a pause, never a run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from loadtest.api.conditions import Reason, reason_of
from loadtest.api.status import LoadTestStatus
from loadtest.core.actions import Admit
from loadtest.core.decide import decide
from loadtest.core.decision import Decision, Ending
from loadtest.core.events import events_between
from loadtest.core.observed import Observed, Resource
from loadtest.core.project import after_action, before_action
from loadtest.ports import Outdated, Ref, Refused, Unavailable
from loadtest.reconcile import trace
from loadtest.reconcile.execute import execute
from loadtest.reconcile.observe import observe
from loadtest.reconcile.ports import Ports

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 10.0
"""At most one status write in this many seconds while nothing but progress changes."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LONGEST_CONFLICT_PAUSE = 5.0
"""Somebody who changes the LoadTest all the time must not make the loop a hot one."""


Observer = Callable[..., None]
"""Told of each step: `(ref, seconds, failure=kind)`; the kind is None, or forbidden, unavailable or unexpected."""


@dataclass
class _Pace:
    lock: asyncio.Lock
    running_since: float | None = None
    due: float | None = None
    """When the next step is to begin, by the monotonic clock; None while one runs."""
    written_at: float = -PROGRESS_SECONDS
    failures: int = 0
    conflicts: int = 0


class Reconciler:
    """The loop of every LoadTest. `step` may be called from anywhere: one step per LoadTest runs at a time.

    Args:
        ports: the world.
        monotonic: seconds, for pacing.
        progress_seconds: at most one status write in this many seconds while nothing but progress changes.
    """

    def __init__(
        self,
        ports: Ports,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        progress_seconds: float = PROGRESS_SECONDS,
    ) -> None:
        self._ports = ports
        self._monotonic = monotonic
        self._progress_seconds = progress_seconds
        self._paces: dict[str, _Pace] = {}
        self.observer: Observer = lambda *_, **__: None
        self.on_event: Callable[[str], None] = lambda _: None
        """Told the reason of each event."""

    def longest_running(self) -> float:
        """Seconds since the oldest step that is still running began; 0 where none is."""
        now = self._monotonic()
        return max(
            (now - pace.running_since for pace in self._paces.values() if pace.running_since is not None), default=0.0
        )

    def longest_overdue(self) -> float:
        """Seconds by which the next step of a LoadTest with a run is late; 0 where none is."""
        now = self._monotonic()
        return max(
            (now - pace.due for pace in self._paces.values() if pace.due is not None and pace.due < now), default=0.0
        )

    def forget(self, uid: str) -> None:
        """Nobody drives a LoadTest any more: it is at rest, or gone. No step of it is due."""
        pace = self._paces.get(uid)
        if pace is not None:
            pace.due = None
            if not pace.lock.locked():
                self._paces.pop(uid)

    async def step(self, ref: Ref) -> float | None:
        """One step; seconds until the next, None where nothing is left to do."""
        pace = self._paces.setdefault(ref.uid, _Pace(asyncio.Lock()))
        async with pace.lock:
            begun = pace.running_since = self._monotonic()
            pace.due = None
            failure: str | None = None
            trace.begin(f"{ref.namespace}/{ref.name}")
            try:
                delay = await self._step(ref, pace)
                pace.failures = pace.conflicts = 0
            except Outdated as reason:
                log.debug("%s/%s changed meanwhile: %s", ref.namespace, ref.name, reason)
                delay = min(LONGEST_CONFLICT_PAUSE, 0.1 * 2.0 ** min(pace.conflicts, 10))
                pace.conflicts += 1
            except Unavailable as error:
                delay, failure = self._pause(pace), "forbidden" if error.forbidden else "unavailable"
                log.warning("%s/%s: %s; next try in %.0f s", ref.namespace, ref.name, error, delay)
                if error.forbidden:  # other failures pass by themselves
                    await self._tell(ref, Reason.FORBIDDEN, str(error), pace)
            except Exception as error:
                # A mistake of ours must be seen and must not end the loop: the target may be changed.
                delay, failure = self._pause(pace), "unexpected"
                log.exception("%s/%s: unexpected; next try in %.0f s", ref.namespace, ref.name, delay)
                await self._tell(ref, Reason.OPERATOR_ERROR, f"{type(error).__name__}: {error}", pace)
            finally:
                pace.running_since = None
                self.observer(ref, self._monotonic() - begun, failure=failure)
            pace.due = None if delay is None else self._monotonic() + delay
        if delay is None:
            self._paces.pop(ref.uid, None)
        return delay

    async def _step(self, ref: Ref, pace: _Pace) -> float | None:
        o = await observe(self._ports, ref)
        if o is None:
            return None
        trace.mark(run=o.resource.status.run_id or o.resource.desired_run)
        decision = decide(o)
        if decision.action is not None:
            log.info("%s: %s: %s", o.resource.owner, type(decision.action).__name__, decision.message)
        status = before_action(o, decision)
        resource = o.resource
        if self._must_store(o, decision, status, pace):
            resource = await self._save(resource, status, pace)
        if decision.action is None:
            return decision.wait
        try:
            done = await execute(self._ports, o, decision.action)
        except Refused as refusal:
            await self._refuse(o, resource, decision, refusal, pace)
            return 0.0
        final = after_action(o, done, resource.status)
        if final != resource.status:
            await self._save(resource, final, pace)
        return decision.wait

    def _must_store(self, o: Observed, decision: Decision, status: LoadTestStatus, pace: _Pace) -> bool:
        """Whether the status is to be written before the action: facts always, progress at its pace."""
        if status == o.resource.status:
            return False
        if _substance(status) != _substance(o.resource.status):
            return True
        if pace.failures:  # what is shown of a failure stays until a step has succeeded
            return False
        return decision.wait is None or self._monotonic() - pace.written_at >= self._progress_seconds

    async def _save(self, resource: Resource, status: LoadTestStatus, pace: _Pace) -> Resource:
        saved = await self._ports.loadtests.write_status(resource, status)
        pace.written_at = self._monotonic()
        for kind, reason, message in events_between(resource.status, saved.status):
            self.on_event(reason)
            await self._ports.loadtests.event(saved, kind, reason, message)
        return saved

    async def _refuse(self, o: Observed, resource: Resource, decision: Decision, refusal: Refused, pace: _Pace) -> None:
        """The world said a lasting no: the run ends with its reason, and what was changed is restored."""
        log.warning("%s: %s: %s", resource.owner, refusal.reason, refusal.message)
        if resource.status.ending is not None:
            forbidden = refusal.reason == Reason.FORBIDDEN
            raise Unavailable(f"{refusal.reason}: {refusal.message}", forbidden=forbidden) from refusal
        ending = Ending("Failed", reason_of(refusal.reason), refusal.message)
        refused = decision.action.run if isinstance(decision.action, Admit) else None
        no = Decision(decision.phase, ending.reason, ending.message, ending=ending, refuse=refused)
        now = Observed(
            now=o.now, resource=resource, plan=o.plan, frozen=o.frozen, target=o.target, injectors=o.injectors
        )
        await self._save(resource, before_action(now, no), pace)

    @staticmethod
    def _pause(pace: _Pace) -> float:
        """How long to wait after one more failure in a row."""
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(pace.failures, 10))
        pace.failures += 1
        return pause

    async def _tell(self, ref: Ref, reason: Reason, message: str, pace: _Pace) -> None:
        """Show a failure as a condition, once in a row of failures."""
        if pace.failures > 1:
            return
        try:
            resource = await self._ports.loadtests.read(ref)
            if resource is not None:
                o = Observed(now=self._ports.clock.now(), resource=resource)
                await self._save(
                    resource, before_action(o, Decision("Keep", reason, message, wait=LONGEST_PAUSE)), pace
                )
        except Exception as again:  # noqa: BLE001 - showing a failure must not be one that ends the loop
            log.warning("%s/%s: the failure could not be shown: %s", ref.namespace, ref.name, again)


def _substance(status: LoadTestStatus) -> LoadTestStatus:
    """A status without what changes all the time and only informs."""
    bare = status.model_copy(update={"progress": None, "summary": None})
    bare.conditions = [
        condition.model_copy(update={"message": "", "reason": ""})
        if condition.type in {"Ready", "Reconciling"} and condition.status != "False"
        else condition
        for condition in status.conditions
    ]
    return bare
