"""The actions of the loop: each is one idempotent change of the world, named for what it does.

`decide` chooses one, `reconcile.execute` carries it out through the ports. Done twice, an action does nothing more
than done once: every object has a name derived from the run, and is created, never overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Admit:
    """Freeze plan and scenario in immutable ConfigMaps and give the run its id; the last run's results are dropped."""

    run: str


@dataclass(frozen=True)
class AcquireLease:
    """Take the Lease of the target, or renew it."""


@dataclass(frozen=True)
class PrepareTarget:
    """Create the state and request ConfigMaps of the run in the target's namespace."""


@dataclass(frozen=True)
class RunHelm:
    """Start a helm Job: `op` is snapshot, apply (of `variant`) or restore; `key` names the Job."""

    op: str
    key: str
    variant: str = ""


@dataclass(frozen=True)
class DeleteInjectors:
    """Delete the named injector pods."""

    pods: tuple[str, ...]


@dataclass(frozen=True)
class CreateMaster:
    """Create the Locust master of a repeat."""

    position: int
    generation: int


@dataclass(frozen=True)
class CreateWorkers:
    """Create the missing Locust workers of a repeat."""

    position: int
    generation: int
    indexes: tuple[int, ...]
    master_ip: str


@dataclass(frozen=True)
class StartStage:
    """Order the master to run one stage with exactly these workers."""

    position: int
    stage: int
    attempt: int
    workers: tuple[str, ...]


@dataclass(frozen=True)
class CollectStage:
    """Fetch a stage's record, store it, and write its figures into the status."""

    position: int
    stage: int
    attempt: int


@dataclass(frozen=True)
class LoseStage:
    """Note that an attempt at a stage is lost with its master: there is no record of it."""

    position: int
    stage: int
    attempt: int
    reason: str
    message: str


@dataclass(frozen=True)
class DismissDeadMan:
    """Delete the dead-man Job of this key: the run has ended, and what it left is for a person."""

    key: str


@dataclass(frozen=True)
class CleanTarget:
    """Delete everything of the run in the target's namespace but the Lease."""


@dataclass(frozen=True)
class ReleaseLease:
    """Give the Lease of the target back."""


@dataclass(frozen=True)
class Evaluate:
    """Compare the variants and find how far they scale, from the status and the stored records."""


@dataclass(frozen=True)
class DropPlan:
    """Delete the frozen plan and scenario of a run that is over; its results stay."""


Action = (
    Admit
    | AcquireLease
    | PrepareTarget
    | RunHelm
    | DeleteInjectors
    | CreateMaster
    | CreateWorkers
    | StartStage
    | CollectStage
    | LoseStage
    | DismissDeadMan
    | CleanTarget
    | ReleaseLease
    | Evaluate
    | DropPlan
)
