"""Observed worlds, written by hand: a good one of each kind, and a way to change it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from loadtest.api.figures import Latency, StageResult
from loadtest.api.spec import LoadTestSpec
from loadtest.api.status import Ending, LoadTestStatus, Phase, ReleaseStatus, RunResult, VariantResult
from loadtest.core.expand import RunPlan, expand
from loadtest.core.observed import (
    HelmJob,
    InjectorPod,
    Injectors,
    Lease,
    Master,
    Observed,
    Outcome,
    Resource,
    StageProgress,
    Target,
    TargetPod,
    Workload,
)
from tests.unit.api.cases.base import BARE, WITH_RELEASE, merged

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN = "0123456789abcdef"
HOLDER = f"performance/test/uid-1/{RUN}"
ENV = {
    "WEB_SERVER_TYPE": "gunicorn-threads",
    "WEB_SERVER_WORKERS": "7",
    "WEB_SERVER_THREADS": "7",
    "DATASTORE_USE_GRPC": "True",
}
"""What a pod shows of the first variant of `WITH_RELEASE`."""


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def spec(change: dict[str, Any] | None = None, base: dict[str, Any] = WITH_RELEASE) -> LoadTestSpec:
    return LoadTestSpec.model_validate(merged(base, change or {}))


SMALL: dict[str, Any] = {
    "variants": [
        {"name": "seven", "runner": {"workerClass": "gthread", "workers": 7, "threads": 7, "replicas": 1}},
        {"name": "two", "runner": {"workerClass": "gthread", "workers": 7, "threads": 2, "replicas": 1}},
    ],
    "load": {"stages": [{"injectors": 1, "duration": "10s"}, {"injectors": 2, "duration": "10s"}]},
}
"""Two variants of one pod each, two short stages."""


def plan(change: dict[str, Any] | None = None, base: dict[str, Any] = WITH_RELEASE) -> RunPlan:
    return expand(RUN, spec(change, base))


def bare_plan(change: dict[str, Any] | None = None) -> RunPlan:
    return plan(change, BARE)


def resource(of: LoadTestSpec | None, status: LoadTestStatus | None = None, **changes: Any) -> Resource:
    made = Resource(
        namespace="performance",
        name="test",
        uid="uid-1",
        generation=1,
        resource_version="1",
        spec=of,
        invalid=None,
        status=status or LoadTestStatus(),
        desired_run=RUN,
    )
    return replace(made, **changes)


def running(**changes: Any) -> LoadTestStatus:
    """The status of an admitted run."""
    status = LoadTestStatus(phase=Phase.RUNNING, run_id=RUN, started_at=ago(600), observed_generation=1)
    return status.model_copy(update=changes)


def release(intended: str | None = None) -> ReleaseStatus:
    return ReleaseStatus(name="runner", namespace="runner", chart="runner-1.0.0", revision=3, intended_variant=intended)


def ending(phase: Phase, reason: str) -> Ending:
    return Ending(phase=phase, reason=reason, message="because")


def latency(p99: int = 1000, **changes: int) -> Latency:
    fields = dict.fromkeys(Latency.model_fields, 500) | {"p99": p99, "max": 2 * p99} | changes
    return Latency(**fields)


def stage(index: int, valid: str = "True", attempt: int = 1, **changes: Any) -> StageResult:
    made = StageResult(index=index, injectors=1, users=200, attempt=attempt, valid=valid, finished_at=ago(60))
    return made.model_copy(update=changes)


def variants(*runs: tuple[str, int, list[StageResult]]) -> list[VariantResult]:
    """Variants from (name, position, stages); repeats of one name are counted in order."""
    found: dict[str, VariantResult] = {}
    for name, position, stages in runs:
        variant = found.setdefault(name, VariantResult(name=name))
        variant.runs.append(RunResult(repeat=len(variant.runs) + 1, position=position, stages=stages))
    return list(found.values())


def pod(name: str = "runner-a", **changes: Any) -> TargetPod:
    made = TargetPod(
        name, f"uid-{name}", ready=True, terminating=False, template_hash="h1", env=ENV, ready_since=ago(300)
    )
    return replace(made, **changes)


def workload(*pods: TargetPod, **changes: Any) -> Workload:
    pods = pods or (pod(),)
    count = len(pods)
    return replace(Workload("runner", 2, 2, count, count, count, count, pods), **changes)


def outcome(key: str, **changes: Any) -> Outcome:
    made = Outcome(key, key.partition("-")[0], ok=True, revision=3, chart="runner-1.0.0", finished_at=ago(120))
    return replace(made, **changes)


def target(*outcomes: Outcome, **changes: Any) -> Target:
    """A target whose Lease we hold, prepared, with these outcomes of helm Jobs and a finished rollout.

    A dead-man Job stands by, beside the `jobs` that are given, unless these are none.
    """
    if changes.get("prepared", True) and changes.get("jobs") != {}:
        standing_by = HelmJob("dead-man-1", running=True, ready=True)
        changes["jobs"] = {"dead-man-1": standing_by} | changes.get("jobs", {})
    made = Target(
        lease=Lease(HOLDER, renewed_at=ago(10)),
        prepared=True,
        outcomes={entry.key: entry for entry in outcomes},
        workloads=(workload(),),
    )
    return replace(made, **changes)


def master_pod(position: int = 1, generation: int = 1, **changes: Any) -> InjectorPod:
    made = InjectorPod(
        f"m-{position}-{generation}", position, generation, -1,
        running=True, ended=False, terminating=False, ip="10.0.0.1", created_at=ago(30),
    )  # fmt: skip
    return replace(made, **changes)


def worker_pod(index: int = 0, position: int = 1, generation: int = 1, **changes: Any) -> InjectorPod:
    made = InjectorPod(
        f"w-{position}-{generation}-{index}", position, generation, index,
        running=True, ended=False, terminating=False, ip="10.0.0.2", created_at=ago(30),
    )  # fmt: skip
    return replace(made, **changes)


def injectors(*pods: InjectorPod, stages: tuple[StageProgress, ...] = (), **changes: Any) -> Injectors:
    """These pods; every worker has joined the master, if there is one."""
    joined = tuple(pod.name for pod in pods if not pod.is_master)
    answer = Master(joined, {(progress.stage, progress.attempt): progress for progress in stages})
    made = Injectors(pods, answer if any(pod.is_master for pod in pods) else None)
    return replace(made, **changes)


def observed(status: LoadTestStatus | None = None, of: RunPlan | None = None, **changes: Any) -> Observed:
    """A run that is on, unless `status` says otherwise."""
    of = of or plan(SMALL)
    made = Observed(
        now=NOW,
        resource=resource(of.spec, status or running()),
        plan=of,
        frozen=True,
        target=target(),
        injectors=Injectors(),
    )
    return replace(made, **changes)
