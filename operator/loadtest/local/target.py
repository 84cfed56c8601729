"""The target of a run on this machine. What helm does to a release in a cluster, a restart does here to a process.

snapshot    nothing to keep: the target is made for the run, and goes with it
apply       the target is started anew, with the variant's environment
restore     the target is stopped
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from loadtest.api import names
from loadtest.api.conditions import Reason
from loadtest.core.expand import RunPlan
from loadtest.core.observed import HelmJob, Lease, Outcome, Resource, Target
from loadtest.local.serving import NotServing, Serving
from loadtest.ports import Refused

STOPPED = "the target, which was made for this run, is stopped"
START_SECONDS = 120.0
"""How long a target without a release, and so without a rolloutTimeout, may take to answer."""


class LocalTargets:
    """The `Targets` port, of one LoadTest. `serving` is None where the target is loaded as it is, where it is."""

    def __init__(self, serving: Serving | None) -> None:
        self._serving = serving
        self._holder: str | None = None
        self._renewed: datetime | None = None
        self._prepared = False
        self._outcomes: dict[str, Outcome] = {}
        self._jobs: dict[str, HelmJob] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def observe(self, resource: Resource, plan: RunPlan) -> Target:  # noqa: ARG002 - the port's shape
        """What runs, and what was done to it."""
        return Target(
            lease=Lease(holder=self._holder, renewed_at=self._renewed),
            prepared=self._prepared,
            outcomes=dict(self._outcomes),
            jobs=dict(self._jobs),
            workloads=self._serving.workloads() if self._serving else (),
        )

    async def acquire(self, resource: Resource, plan: RunPlan, seen: Target) -> None:  # noqa: ARG002
        """Nobody else knows of this target. One without a release has no variants to apply, and is started here."""
        if plan.spec.target.release is None and self._serving is not None and not self._serving.generation:
            try:
                await self._serving.start({}, START_SECONDS)
            except NotServing as error:
                raise Refused(Reason.TARGET_GONE, str(error)) from error
        self._holder = f"{resource.owner}/{resource.uid}/{plan.run}"
        self._renewed = datetime.now(UTC)

    async def prepare(self, resource: Resource, plan: RunPlan) -> None:  # noqa: ARG002
        """Nothing has to be made beside the target."""
        self._prepared = True

    async def helm(self, resource: Resource, plan: RunPlan, op: str, key: str, variant: str) -> None:  # noqa: ARG002
        """Start the operation, once per key; its outcome is observed later."""
        if key in self._tasks:
            return
        self._jobs[key] = HelmJob(key=key, running=True, ready=True, created_at=datetime.now(UTC))
        if op == names.DEAD_MAN:  # the target is a child of this program: it ends with it, and nothing stays changed
            return
        self._tasks[key] = asyncio.create_task(self._carry_out(plan, op, key, variant))

    async def _carry_out(self, plan: RunPlan, op: str, key: str, variant: str) -> None:
        outcome = Outcome(key=key, op=op, ok=True, changed=op != "snapshot")
        try:
            if op == "apply":
                await self._apply(plan, variant)
            elif op == "restore":
                await self._stop()
                outcome = replace(outcome, reason=Reason.RELEASE_GONE, message=STOPPED)
        except NotServing as error:
            outcome = replace(outcome, ok=False, reason=Reason.VARIANT_NOT_LIVE, message=str(error))
        except Refused as error:
            outcome = replace(outcome, ok=False, reason=error.reason, message=error.message)
        except asyncio.CancelledError:
            outcome = replace(outcome, ok=False, reason=Reason.ABORTED, message="it was not waited for any longer")
        except Exception as error:  # noqa: BLE001 - as a Job that fails: with its message, and the loop goes on
            outcome = replace(outcome, ok=False, reason=Reason.HELM_FAILED, message=f"{type(error).__name__}: {error}")
        revision = 1 + (self._serving.generation if self._serving else 0)
        self._outcomes[key] = replace(outcome, revision=revision, finished_at=datetime.now(UTC))
        self._jobs[key] = replace(self._jobs[key], running=False)

    async def _apply(self, plan: RunPlan, variant: str) -> None:
        release = plan.spec.target.release
        if self._serving is None or release is None:  # pragma: no cover - only a release is applied to
            raise AssertionError("a target without a release has no variants")
        await self._serving.start(plan.variant(variant).env, release.rollout_timeout.seconds)

    async def _stop(self) -> None:
        if self._serving is not None:
            await self._serving.stop()

    async def dismiss(self, plan: RunPlan, key: str) -> None:  # noqa: ARG002
        """Forget a Job."""
        self._jobs.pop(key, None)

    async def clean(self, plan: RunPlan) -> None:  # noqa: ARG002
        """Forget what was done."""
        self._prepared = False
        self._jobs.clear()
        self._outcomes.clear()

    async def release(self, resource: Resource, plan: RunPlan) -> None:  # noqa: ARG002
        """Stop what `acquire` started."""
        await self._stop()
        self._holder = None

    def hurry(self) -> None:
        """Wait no longer for a target that is being started: the run is aborted."""
        for key, task in self._tasks.items():
            if key.startswith("apply-"):
                task.cancel()

    async def close(self) -> None:
        """Drop what is still being done."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values())
