"""The observed world: what one step of the loop saw, as plain frozen values.

An adapter fills them, `decide` and `project` read them, tests write them by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from loadtest.api.spec import LoadTestSpec
from loadtest.api.status import LoadTestStatus
from loadtest.core.expand import RunPlan


@dataclass(frozen=True)
class Problem:
    """Why something is not as it should be: a CamelCase reason and a sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True)
class Resource:
    """The LoadTest as the API server holds it.

    Attributes:
        spec: None where the spec does not parse; then `invalid` says why.
        desired_run: run id that this uid, test-defining spec and rerun give.
        abandoned: a person allowed the operator, by annotation, to let go without restoring.
        asked: a person asked the operator, by annotation, to try again a restore that is owed.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    spec: LoadTestSpec | None
    invalid: Problem | None
    status: LoadTestStatus
    desired_run: str
    deleting: bool = False
    abandoned: bool = False
    asked: bool = False

    @property
    def owner(self) -> str:
        """`namespace/name`, as written into Leases, releases and messages."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Lease:
    """The Lease of a target. `holder` is `namespace/name/uid/run` of the LoadTest that holds it, None if none does."""

    holder: str | None = None
    renewed_at: datetime | None = None
    seconds: int = 1200
    """How long it holds without a renewal."""
    holder_exists: bool = True
    holder_left_state: bool = False
    """The holder's LoadTest is gone but its state ConfigMap is still there: its restore never finished."""


@dataclass(frozen=True)
class Outcome:
    """What a helm Job wrote about itself into the state ConfigMap."""

    key: str
    op: str
    ok: bool
    reason: str = ""
    message: str = ""
    changed: bool = False
    revision: int | None = None
    values_sha256: str = ""
    manifest_sha256: str = ""
    chart: str = ""
    unsupported: tuple[str, ...] = ()
    finished_at: datetime | None = None


@dataclass(frozen=True)
class HelmJob:
    """A helm Job in the target's namespace. `running` until the Job controller says that it ended."""

    key: str
    running: bool
    problem: Problem | None = None
    created_at: datetime | None = None
    ready: bool = False
    """Its pod runs."""


@dataclass(frozen=True)
class TargetPod:
    """A pod of the target."""

    name: str
    uid: str
    ready: bool
    terminating: bool
    template_hash: str
    env: Mapping[str, str]
    restarts: int = 0
    ready_since: datetime | None = None
    problem: Problem | None = None
    cpu_millicores: int | None = None
    """CPU that it may count on: of each container its limit, else its request; None where a container has neither."""

    def fingerprint(self) -> dict[str, Any]:
        """What must not change while a stage runs."""
        return {"uid": self.uid, "restarts": self.restarts, "templateHash": self.template_hash}


@dataclass(frozen=True)
class Workload:
    """A Deployment of the target with its pods."""

    name: str
    generation: int
    observed_generation: int
    desired: int
    total: int
    updated: int
    ready: int
    pods: tuple[TargetPod, ...] = ()
    failure: Problem | None = None


@dataclass(frozen=True)
class Target:
    """The target and everything of ours beside it."""

    lease: Lease = field(default_factory=Lease)
    prepared: bool = False
    """The state and request ConfigMaps of this run are there."""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    jobs: Mapping[str, HelmJob] = field(default_factory=dict)
    workloads: tuple[Workload, ...] = ()
    gone: bool = False
    """The target's namespace does not exist any more, or is being deleted."""
    refused: Problem | None = None
    """Why the LoadTest may not load this target, or not any more."""

    @property
    def pods(self) -> dict[str, TargetPod]:
        """All live pods of the target by name."""
        return {pod.name: pod for workload in self.workloads for pod in workload.pods}


@dataclass(frozen=True)
class InjectorPod:
    """A Locust master or worker pod of this run."""

    name: str
    position: int
    generation: int
    index: int
    """Worker number from 0; -1 for the master."""
    running: bool
    ended: bool
    terminating: bool
    ip: str = ""
    created_at: datetime | None = None
    problem: Problem | None = None
    crashed: bool = False
    """It ended by itself with an error; not evicted, not killed."""

    @property
    def is_master(self) -> bool:
        """Whether this is the Locust master."""
        return self.index < 0


@dataclass(frozen=True)
class StageProgress:
    """What the master says of one stage, see the control port."""

    stage: int
    attempt: int
    state: str
    users: int = 0
    elapsed_seconds: float = 0.0
    duration_seconds: float = 0.0
    requests: int = 0
    failures: int = 0
    requests_per_second: int = 0
    p99_micros: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def over(self) -> bool:
        """Whether the stage has ended, whole or not, so that its record can be collected."""
        return self.state in {"complete", "invalid", "stopped"}


@dataclass(frozen=True)
class Master:
    """The master's answer. `workers` are the names of those connected and ready."""

    workers: tuple[str, ...]
    stages: Mapping[tuple[int, int], StageProgress]


@dataclass(frozen=True)
class Injectors:
    """Every injector pod of this run, and the current master's answer, None while it does not answer."""

    pods: tuple[InjectorPod, ...] = ()
    master: Master | None = None
    unreachable: str = ""


@dataclass(frozen=True)
class Observed:
    """Everything that one step saw.

    Attributes:
        now: the time of the observation.
        plan: the plan of the admitted run: the frozen one, or made anew from a spec that still gives the same run id;
            None before admission, or where both are lost.
        frozen: the ConfigMap of the frozen plan is there.
    """

    now: datetime
    resource: Resource
    plan: RunPlan | None = None
    frozen: bool = False
    target: Target = field(default_factory=Target)
    injectors: Injectors = field(default_factory=Injectors)
