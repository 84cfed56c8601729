"""What `decide` answers, and the few facts about a run that every check asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from loadtest.api.conditions import ConditionType, Reason, find_condition
from loadtest.api.status import LoadTestStatus
from loadtest.core.actions import Action
from loadtest.core.observed import Observed, Resource

TERMINAL = frozenset({"Succeeded", "Failed", "Aborted"})
RENEWALS = 20
"""A Lease is renewed so often within its time: one write a minute, for a Lease of 20 minutes."""


@dataclass(frozen=True)
class Ending:
    """Why and how a run ends; stored in the status before anything is undone."""

    phase: Literal["Succeeded", "Failed", "Aborted"]
    reason: Reason
    message: str


@dataclass(frozen=True)
class Fact:
    """A condition to set: what cannot be observed again, or what people should see."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: Reason
    message: str


@dataclass(frozen=True)
class Snapshot:
    """The original release, as the snapshot Job found it."""

    revision: int
    values_sha256: str
    manifest_sha256: str
    chart: str


@dataclass(frozen=True)
class Started:
    """An attempt at a stage that is about to start: noted first, so that its label is never used twice."""

    position: int
    stage: int
    attempt: int


@dataclass(frozen=True)
class Decision:
    """One decision.

    Attributes:
        phase: for people: what `status.phase` shows; Terminal and Keep leave it as it is.
        reason: of the conditions Ready and Reconciling.
        message: a sentence for people.
        action: what to do now, if anything.
        wait: seconds until the next look; None: nothing is left to do.
        ending: the run's end, decided now.
        refuse: the run id that is refused with `ending`, before it began.
        facts: conditions to set.
        snapshot: facts of the original release, to be stored.
        intended_variant: variant that the action applies; stored before the action.
        started: attempt that the action starts; stored before the action.
        finished: the run is over: phase, verdict and times become final.
    """

    phase: Literal["Pending", "Preparing", "Running", "Restoring", "Terminal", "Keep"]
    reason: Reason
    message: str = ""
    action: Action | None = None
    wait: float | None = 0.0
    ending: Ending | None = None
    refuse: str | None = None
    facts: tuple[Fact, ...] = ()
    snapshot: Snapshot | None = None
    intended_variant: str | None = None
    started: Started | None = None
    finished: bool = False


def active(status: LoadTestStatus) -> bool:
    """Whether a run is on: admitted, and not yet at a terminal phase."""
    return bool(status.run_id) and status.phase not in TERMINAL


def owed(resource: Resource) -> bool:
    """Whether the last run could not restore its target, and nobody has allowed the operator to let go of it."""
    restored = find_condition(resource.status.conditions, ConditionType.TARGET_RESTORED)
    unrestored = restored is not None and restored.status == "False"
    return bool(resource.status.run_id) and unrestored and not resource.abandoned


def engaged(resource: Resource) -> bool:
    """Whether the loop has a run to attend to: an active one, or one whose owed restore is to be tried again."""
    return active(resource.status) or (insisted(resource) and owed(resource))


def insisted(resource: Resource) -> bool:
    """Whether a restore that was called failed goes on: the LoadTest is being deleted, or a person asked for it."""
    return resource.deleting or resource.asked


def renew_due(o: Observed) -> bool:
    """Whether the Lease that this run holds is due for renewal."""
    lease, resource = o.target.lease, o.resource
    ours = lease.holder == f"{resource.owner}/{resource.uid}/{resource.status.run_id}"
    if not ours or not active(resource.status):
        return False
    # A renewal in the future is one by a wrong clock: it says nothing, and the Lease must not run out meanwhile.
    return lease.renewed_at is None or abs(o.now - lease.renewed_at) > timedelta(seconds=lease.seconds / RENEWALS)
