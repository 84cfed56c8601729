"""A small world in memory behind the ports: a release, its pods, Locust masters, ConfigMaps. Time moves when told to.

It keeps the rules of the real one: helm Jobs take time and write an outcome, pods start after a while, a master runs
what it is ordered, names are never taken twice. The world as it is before and after each write can be kept, so that
another operator starts from there, as after a crash.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from loadtest.adapters.loadtests import parse
from loadtest.adapters.store import decode, encode
from loadtest.api import names
from loadtest.api.crd import definition
from loadtest.api.status import LoadTestStatus, PlanRef, initial_status
from loadtest.core.expand import RunPlan
from loadtest.core.observed import (
    InjectorPod,
    Injectors,
    Lease,
    Master,
    Observed,
    Outcome,
    Problem,
    Resource,
    StageProgress,
    Target,
    TargetPod,
    Workload,
)
from loadtest.handlers.loadtest import has_work
from loadtest.ports import Outdated, Ref, Refused, Stored
from loadtest.reconcile.loop import Reconciler
from loadtest.reconcile.ports import Ports
from loadtest_injector.histogram import index_of
from tests.unit.reconcile import helm

START = datetime(2026, 1, 1, tzinfo=UTC)
SPEC: dict[str, Any] = {
    "target": {
        "url": "http://runner.runner.svc:80",
        "release": {"name": "runner", "namespace": "runner", "preset": "eq-questionnaire-runner", "settle": "0s"},
    },
    "variants": [
        {"name": "seven", "runner": {"workerClass": "gthread", "threads": 7, "replicas": 1}},
        {"name": "two", "runner": {"workerClass": "gthread", "threads": 2, "replicas": 1}},
    ],
    "load": {
        "stages": [{"injectors": 1, "duration": "10s"}, {"injectors": 2, "duration": "10s"}],
        "usersPerInjector": 10,
        "spawnRatePerInjector": 10,
        "warmUp": "0s",
    },
    "scenario": {"requests": {"configMap": {"name": "journey", "key": "journey.json"}}},
}
assert definition()["kind"] == "CustomResourceDefinition"


@dataclass
class World:
    """The outside world. `values` is the variant that the release has; None for the original."""

    spec: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(SPEC))
    now: datetime = START
    generation: int = 1
    deleting: bool = False
    gone: bool = False
    status: dict[str, Any] = field(default_factory=initial_status)
    version: int = 1
    variant: str | None = None
    revision: int = 1
    upgrades: list[str] = field(default_factory=list)
    lease: str | None = None
    lease_renewed: datetime | None = None
    state: bool = False
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    jobs: dict[str, tuple[datetime, str, str]] = field(default_factory=dict)
    dead_jobs: dict[str, Problem] = field(default_factory=dict)
    lease_writes: int = 0
    owner_of_jobs: str = ""
    violations: list[str] = field(default_factory=list)
    """What the operator did before it might."""
    dead_man_acted: bool = False
    silences: dict[str, Any] = field(default_factory=dict)
    """Key of a dead-man Job -> for how long it has seen no renewal."""
    pods: dict[str, tuple[InjectorPod, datetime]] = field(default_factory=dict)
    stages: dict[str, dict[tuple[int, int], tuple[datetime, dict[str, Any], int]]] = field(default_factory=dict)
    config_maps: dict[str, bytes] = field(default_factory=dict)
    plan_json: str | None = None
    events: list[tuple[str, str, str]] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    status_writes: int = 0
    writes: int = 0
    moments: list[tuple[str, World]] | None = None
    """If a list: the world before and after each write is put there."""
    invalid_attempts: dict[tuple[int, int, int], str] = field(default_factory=dict)
    """(position, stage, attempt) -> reason: the master reports that attempt as invalid."""
    slow: set[tuple[int, int]] = field(default_factory=set)
    """(position, stage): the requests of that stage take a hundred times as long, 0.1 to 1 s."""
    unsupported: tuple[str, ...] = ()
    refuse_scenario: Refused | None = None
    earlier: dict[str, LoadTestStatus] = field(default_factory=dict)
    """LoadTests whose run has ended, by name."""
    third_party: bool = False
    target_restarts: int = 0
    fault: Any = None
    """What goes wrong: asked before and after each write, and at each read; see tests/faults."""
    snapshot: bool = False
    foreign: bool = False
    """Somebody else has deployed: what is live is neither the original nor of this run."""
    stuck: bool = False
    """The release's last revision failed or is pending."""
    release_gone: bool = False
    target_gone: bool = False
    rollout_seconds: float = 0.0
    rolled_at: datetime = START - timedelta(days=1)
    extra_pods: int = 0
    """Pods of the target that an autoscaler has added."""
    helm_faults: dict[str, str] = field(default_factory=dict)
    """Key of a helm Job -> what becomes of it: fails, fails-half-way, killed, killed-half-way, killed-after, hangs."""
    pod_trouble: Problem | None = None
    """New injector pods do not start, for this reason."""
    refuse_pods: Refused | None = None
    started: set[str] = field(default_factory=set)
    masters_silent: bool = False
    skew: timedelta = timedelta(0)
    """How much the operator's clock is wrong."""
    failing: bool = False
    """The target fails every request."""
    stale: dict[str, Any] | None = None
    """What reads of the LoadTest answer instead of the truth."""
    uid: str = "uid-1"
    annotations: dict[str, str] = field(default_factory=dict)
    refused: Problem | None = None
    """Why the LoadTest may not load its target."""

    def ref(self) -> Ref:
        return Ref("performance", "test", self.uid)

    def body(self) -> dict[str, Any]:
        meta = {
            "namespace": "performance",
            "name": "test",
            "uid": self.uid,
            "generation": self.generation,
            "resourceVersion": str(self.version),
        }
        if self.deleting:
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if self.annotations:
            meta["annotations"] = dict(self.annotations)
        return {"metadata": meta, "spec": self._copy(self.spec), "status": self._copy(self.status)}

    @staticmethod
    def _copy(value: dict[str, Any]) -> Any:
        """A copy as the API server gives one: by way of JSON, which is also several times faster than deepcopy."""
        return json.loads(json.dumps(value))

    def edit(self, **changes: Any) -> None:
        self.spec.update(changes)
        self.generation += 1
        self.version += 1

    def delete(self) -> None:
        """Somebody deletes the LoadTest: it goes at once, unless the operator has its finalizer on it."""
        self.deleting, self.generation, self.version = True, self.generation + 1, self.version + 1
        self.gone = not has_work(self.body())

    def seconds(self) -> float:
        return self.now.timestamp()

    def write(self, what: str) -> _Write:
        return _Write(self, what)

    def look(self, what: str) -> None:
        """A read by the operator."""
        if self.fault is not None:
            self.fault.read(self, what)

    @property
    def parsed(self) -> LoadTestStatus:
        return LoadTestStatus.model_validate(self.status)

    def ports(self) -> Ports:
        return Ports(_LoadTests(self), _Targets(self), _Pool(self), _Store(self), _Clock(self))


class _Write:
    """One write to the world: the places where an operator can die."""

    def __init__(self, world: World, what: str) -> None:
        self.world = world
        self.what = what

    def __enter__(self) -> None:
        if self.world.fault is not None:
            self.world.fault.before(self.world, self.what)
        self.world.writes += 1
        self._keep("before")

    def __exit__(self, *error: object) -> None:
        self._keep("after")
        if self.world.fault is not None:
            self.world.fault.after(self.world, self.what)

    def _keep(self, when: str) -> None:
        moments, self.world.moments = self.world.moments, None
        if moments is not None:
            moments.append((f"{when} write {self.world.writes}", copy.deepcopy(self.world)))
        self.world.moments = moments


class _Part:
    def __init__(self, world: World) -> None:
        self.w = world


class _Clock(_Part):
    def now(self) -> datetime:
        return self.w.now + self.w.skew


class _LoadTests(_Part):
    async def read(self, ref: Ref) -> Resource | None:
        self.w.look("LoadTest")
        return None if self.w.gone or ref.uid != self.w.uid else parse(self.w.stale or self.w.body())

    async def ended(self, namespace: str, name: str) -> LoadTestStatus | None:
        return self.w.earlier.get(name)

    async def write_status(self, resource: Resource, status: LoadTestStatus) -> Resource:
        if resource.resource_version != str(self.w.version):
            raise Outdated("changed")
        with self.w.write("status"):
            self.w.status = status.to_wire()
            self.w.version += 1
            self.w.status_writes += 1
            if not self.w.phases or self.w.phases[-1] != status.phase.value:
                self.w.phases.append(status.phase.value)
        return parse(self.w.body())

    async def event(self, resource: Resource, kind: str, reason: str, message: str) -> None:
        self.w.events.append((kind, reason, message))


class _Targets(_Part):
    async def observe(self, resource: Resource, plan: RunPlan) -> Target:
        w = self.w
        w.look("target")
        lease = Lease(w.lease, w.lease_renewed) if w.lease else Lease()
        if w.target_gone:
            return Target(gone=True)
        jobs = helm.jobs(w)  # before the outcomes: what has ended by now has written its own
        return Target(
            lease=lease,
            prepared=w.state,
            outcomes=dict(w.outcomes),
            jobs=jobs,
            workloads=() if w.release_gone else (self._workload(plan),),
            refused=w.refused,
        )

    def _workload(self, plan: RunPlan) -> Workload:
        w = self.w
        env = {"WEB_SERVER_TYPE": "gunicorn-async", "WEB_SERVER_THREADS": "1"}
        if w.variant and not w.foreign:
            env |= plan.variant(w.variant).env
        names = [f"runner-{w.revision}", *(f"runner-{w.revision}-{n}" for n in range(w.extra_pods))]
        pods = tuple(
            TargetPod(
                name, f"uid-{name}", ready=True, terminating=False, template_hash=str(w.revision), env=env,
                restarts=w.target_restarts, ready_since=START,
            )
            for name in names
        )  # fmt: skip
        count = len(pods)
        old = 1 if (w.now - w.rolled_at).total_seconds() < w.rollout_seconds else 0
        return Workload("runner", w.revision, w.revision, count, count + old, count, count, pods)

    def _there(self) -> None:
        if self.w.target_gone:
            raise Refused("TargetGone", "namespace runner does not exist")

    async def acquire(self, resource: Resource, plan: RunPlan, seen: Target) -> None:
        self._there()
        with self.w.write("Lease"):
            if self.w.lease not in {None, seen.lease.holder}:
                raise Outdated("another run has taken the Lease meanwhile")
            self.w.lease, self.w.lease_renewed = f"{resource.owner}/{resource.uid}/{plan.run}", self.w.now + self.w.skew
            self.w.lease_writes += 1

    async def prepare(self, resource: Resource, plan: RunPlan) -> None:
        self._there()
        with self.w.write("state"):
            self.w.state = True

    async def helm(self, resource: Resource, plan: RunPlan, op: str, key: str, variant: str) -> None:
        self._there()
        with self.w.write(f"Job {op}"):
            me = self.w.owner_of_jobs = f"{resource.owner}/{resource.uid}/{plan.run}"
            if op == "apply" and self.w.lease != me:
                self.w.violations.append(f"{key} was ordered without the Lease")
            if op == "apply" and not self.w.snapshot:
                self.w.violations.append(f"{key} was ordered without a snapshot")
            self.w.jobs.setdefault(key, (self.w.now, op, variant))

    async def dismiss(self, plan: RunPlan, key: str) -> None:
        with self.w.write("dismiss"):
            self.w.jobs.pop(key, None)

    async def clean(self, plan: RunPlan) -> None:
        with self.w.write("clean"):
            if not self.w.jobs:
                self.w.state = self.w.snapshot = False
                self.w.outcomes = {}
            self.w.jobs, self.w.dead_jobs, self.w.silences = {}, {}, {}

    async def release(self, resource: Resource, plan: RunPlan) -> None:
        with self.w.write("give the Lease back"):
            me = f"{resource.owner}/{resource.uid}/{plan.run}"
            if self.w.lease in {me, names.dead_man_holder(me)}:
                self.w.lease = None


class _Pool(_Part):
    async def observe(self, resource: Resource, plan: RunPlan) -> Injectors:
        w = self.w
        w.look("injectors")
        if w.pod_trouble is None:
            w.started |= {name for name, (_, created) in w.pods.items() if w.now - created >= timedelta(seconds=2)}
        pods = tuple(self._pod(pod, created) for pod, created in w.pods.values())
        masters = [pod for pod in pods if pod.is_master and pod.running]
        if not masters:
            return Injectors(pods)
        if w.masters_silent:
            return Injectors(pods, unreachable="as ordered by the test")
        stages = {
            key: self._progress(masters[-1].position, key, begun, order)
            for key, (begun, order, _) in w.stages.get(masters[-1].name, {}).items()
        }
        return Injectors(pods, Master(tuple(pod.name for pod in pods if not pod.is_master and pod.running), stages))

    def _pod(self, pod: InjectorPod, created: datetime) -> InjectorPod:
        if pod.name not in self.w.started and self.w.pod_trouble is not None:
            return replace(pod, problem=self.w.pod_trouble)
        running = pod.name in self.w.started and not pod.ended
        return replace(pod, running=running, ip="10.0.0.1" if self.w.now > created else "")

    def _admitted(self) -> None:
        if self.w.refuse_pods:
            raise self.w.refuse_pods

    def _progress(
        self, position: int, key: tuple[int, int], begun: datetime, order: Mapping[str, Any]
    ) -> StageProgress:
        elapsed = (self.w.now - begun).total_seconds() - 1
        reason = self.w.invalid_attempts.get((position, *key))
        state = "window" if elapsed < order["durationSeconds"] else "invalid" if reason else "complete"
        problems = (Problem(reason, "as ordered by the test"),) if reason and state == "invalid" else ()
        return StageProgress(
            *key, state, order["users"], max(0.0, elapsed), order["durationSeconds"], 100, 0, 50, 90_000, problems
        )

    async def create_master(self, resource: Resource, plan: RunPlan, position: int, generation: int) -> None:
        self._admitted()
        name = names.master(plan.run, position, generation)
        with self.w.write("master"):
            pod = InjectorPod(
                name, position, generation, -1, running=False, ended=False, terminating=False, created_at=self.w.now
            )
            self.w.pods.setdefault(name, (pod, self.w.now))

    async def create_worker(
        self, resource: Resource, plan: RunPlan, position: int, generation: int, index: int, master_ip: str
    ) -> None:
        self._admitted()
        name = names.worker(plan.run, position, generation, index)
        with self.w.write("worker"):
            pod = InjectorPod(
                name, position, generation, index, running=False, ended=False, terminating=False, created_at=self.w.now
            )
            self.w.pods.setdefault(name, (pod, self.w.now))

    async def delete(self, resource: Resource, names: tuple[str, ...]) -> None:
        with self.w.write("delete injectors"):
            for name in names:
                self.w.pods.pop(name, None)
                self.w.stages.pop(name, None)
                self.w.started.discard(name)

    async def start_stage(self, o: Observed, position: int, stage: int, attempt: int, order: Mapping[str, Any]) -> None:
        master = next(pod for pod in o.injectors.pods if pod.is_master)
        with self.w.write("order"):
            if (self.w.now - self.w.rolled_at).total_seconds() < self.w.rollout_seconds:
                self.w.violations.append(f"stage {stage} was started while the rollout went on")
            self.w.stages.setdefault(master.name, {}).setdefault((stage, attempt), (self.w.now, dict(order), position))

    async def record(self, o: Observed, position: int, stage: int, attempt: int) -> dict[str, Any]:
        master = next(pod for pod in o.injectors.pods if pod.is_master)
        _, order, _ = self.w.stages[master.name][stage, attempt]
        reason = self.w.invalid_attempts.get((position, stage, attempt))
        factor = 100 if (position, stage) in self.w.slow else 1
        outcome = "failure" if self.w.failing else "success"
        return record(o.plan.run if o.plan else "", position, stage, attempt, order, reason, factor, outcome)


class _Store(_Part):
    async def freeze(self, resource: Resource, plan: RunPlan) -> PlanRef:
        if self.w.refuse_scenario:
            raise self.w.refuse_scenario
        with self.w.write("plan"):
            self.w.plan_json = plan.to_json()
        return PlanRef(name=names.plan(plan.run), sha256="s")

    async def plan(self, resource: Resource, run: str) -> RunPlan | None:
        self.w.look("plan")
        return RunPlan.from_json(self.w.plan_json) if self.w.plan_json else None

    async def put(self, resource: Resource, name: str, record: Mapping[str, Any]) -> Stored:
        with self.w.write("record"):
            self.w.config_maps.setdefault(name, encode(record))
        return Stored(name, 1, "hash")

    async def get(self, namespace: str, name: str) -> tuple[dict[str, Any], Stored] | None:
        data = self.w.config_maps.get(name)
        return (decode(data), Stored(name, 1, "hash")) if data is not None else None

    async def forget(self, resource: Resource, keep_run: str | None) -> None:
        with self.w.write("forget"):
            self.w.config_maps = {}

    async def drop_plan(self, resource: Resource, run: str) -> None:
        with self.w.write("drop plan"):
            self.w.plan_json = None


def record(
    run: str,
    position: int,
    stage: int,
    attempt: int,
    order: Mapping[str, Any],
    reason: str | None,
    factor: int = 1,
    outcome: str = "success",
) -> dict[str, Any]:
    """A stage record as the master writes it: ten requests of 1 to 10 ms, times `factor`."""
    micros = [(n + 1) * 1000 * factor for n in range(10)]
    return {
        "format": "loadtest.eqrunner.dev/stage-record/v1",
        "run": run,
        "repeat": position,
        "stage": stage,
        "attempt": attempt,
        "order": dict(order),
        "window": {"startedAt": "2026-01-01T00:00:00.000000+00:00", "durationMicros": 10_000_000},
        "histograms": [
            {
                "method": "GET", "name": "/page/", "outcome": outcome, "count": 10, "sumMicros": sum(micros),
                "minMicros": micros[0], "maxMicros": micros[-1], "contentBytes": 10 * 9763,
                "buckets": [[index_of(value), 1] for value in micros],
            }
        ],
        "warmUp": [],
        "counters": {"launches": 1, "submissions": 1},
        "problems": [{"reason": reason, "message": "as ordered by the test"}] if reason else [],
        "complete": reason is None,
    }  # fmt: skip


async def drive(world: World, *, steps: int = 2000, until: Any = None, pace: float = 0.05) -> None:
    """Step until there is nothing left to do, moving time by what each step asks for.

    Args:
        world: what the operator acts on.
        steps: more than these are taken for a run without end.
        until: stops where it is true of the world.
        pace: seconds that a step takes at least; with more of them a run polls less, and writes the same.
    """
    reconciler = Reconciler(world.ports(), monotonic=world.seconds)
    for _ in range(steps):
        if until is not None and until(world):
            return
        delay = await reconciler.step(world.ref())
        if delay is None:
            return
        world.now += timedelta(seconds=max(delay, pace))
    raise AssertionError(f"no end after {steps} steps: {world.parsed.progress} {world.parsed.conditions}")
