"""The ports: what the loop needs from the outside world. The cluster and the laptop implement the same ones.

Every method is idempotent: asked twice, it does nothing more. Methods raise `Refused` where the world says a no that
will stay a no (a missing ConfigMap, a forbidden request), and `Unavailable` where trying again makes sense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from loadtest.api.status import LoadTestStatus, PlanRef
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Injectors, Observed, Resource, Target


class Refused(Exception):  # noqa: N818 - named for the fact
    """The outside world says a no that trying again will not change. Ends the run with `reason`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Unavailable(Exception):  # noqa: N818 - named for the fact
    """The outside world does not answer, or not now. The loop tries again, with a growing pause."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class Outdated(Exception):  # noqa: N818 - named for the fact
    """The LoadTest changed since it was read: look again and decide anew."""


@dataclass(frozen=True)
class Ref:
    """Which LoadTest."""

    namespace: str
    name: str
    uid: str


class Clock(Protocol):
    """Time for people: UTC. Durations of load are the master's business, on its monotonic clock."""

    def now(self) -> datetime:
        """The time now, timezone-aware."""
        ...


class LoadTests(Protocol):
    """The LoadTest resources."""

    async def read(self, ref: Ref) -> Resource | None:
        """The resource as it is now; None where it is gone, or where another has its name."""
        ...

    async def ended(self, namespace: str, name: str) -> LoadTestStatus | None:
        """The status of the LoadTest of that name, if it is there and its last run has ended."""
        ...

    async def write_status(self, resource: Resource, status: LoadTestStatus) -> Resource:
        """Store a status; Outdated where the resource changed since it was read."""
        ...

    async def event(self, resource: Resource, kind: str, reason: str, message: str) -> None:
        """Tell people of a transition. `kind` is Normal or Warning. Never fails the step."""
        ...


class Targets(Protocol):
    """The target, its release, and what stands beside it."""

    async def observe(self, resource: Resource, plan: RunPlan) -> Target:
        """The Lease, the helm Jobs and their outcomes, and the target's pods."""
        ...

    async def acquire(self, resource: Resource, plan: RunPlan, seen: Target) -> None:
        """Take or renew the Lease that `seen` showed as free, left, or ours."""
        ...

    async def prepare(self, resource: Resource, plan: RunPlan) -> None:
        """Create the state and request ConfigMaps."""
        ...

    async def helm(self, resource: Resource, plan: RunPlan, op: str, key: str, variant: str) -> None:
        """Start a helm Job."""
        ...

    async def dismiss(self, plan: RunPlan, key: str) -> None:
        """Delete the helm Job of that key."""
        ...

    async def clean(self, plan: RunPlan) -> None:
        """Delete everything of the run beside the target, but the Lease."""
        ...

    async def release(self, resource: Resource, plan: RunPlan) -> None:
        """Give the Lease back."""
        ...


class InjectorPool(Protocol):
    """The Locust masters and workers."""

    async def observe(self, resource: Resource, plan: RunPlan) -> Injectors:
        """Every injector of the run and the answer of the current master."""
        ...

    async def create_master(self, resource: Resource, plan: RunPlan, position: int, generation: int) -> None:
        """Create the master of a repeat."""
        ...

    async def create_worker(
        self, resource: Resource, plan: RunPlan, position: int, generation: int, index: int, master_ip: str
    ) -> None:
        """Create one worker of a repeat."""
        ...

    async def delete(self, resource: Resource, names: tuple[str, ...]) -> None:
        """Delete injectors; a missing one is fine."""
        ...

    async def start_stage(self, o: Observed, position: int, stage: int, attempt: int, order: Mapping[str, Any]) -> None:
        """Order the current master to run a stage."""
        ...

    async def record(self, o: Observed, position: int, stage: int, attempt: int) -> dict[str, Any]:
        """The record of a stage that is over."""
        ...


@dataclass(frozen=True)
class Stored:
    """Where a record was stored: name of the (first) ConfigMap, number of parts, hash of the stored bytes."""

    name: str
    parts: int
    sha256: str


class Store(Protocol):
    """What outlives the pods: the frozen plan and scenario, and the stage records."""

    async def freeze(self, resource: Resource, plan: RunPlan) -> PlanRef:
        """Store plan and scenario, immutable; Refused where the scenario is missing or cannot be used."""
        ...

    async def plan(self, resource: Resource, run: str) -> RunPlan | None:
        """The frozen plan of a run."""
        ...

    async def put(self, resource: Resource, name: str, record: Mapping[str, Any]) -> Stored:
        """Store a record under `name`; one that is there already stays."""
        ...

    async def get(self, namespace: str, name: str) -> tuple[dict[str, Any], Stored] | None:
        """A stored record and where it is; None where there is none, or not all of it."""
        ...

    async def forget(self, resource: Resource, keep_run: str | None) -> None:
        """Delete plans, scenarios and records of every run but `keep_run`."""
        ...

    async def drop_plan(self, resource: Resource, run: str) -> None:
        """Delete the frozen plan and scenario of a run that is over."""
        ...


__all__ = [
    "Clock",
    "InjectorPool",
    "LoadTests",
    "Outdated",
    "Ref",
    "Refused",
    "Store",
    "Stored",
    "Targets",
    "Unavailable",
]
