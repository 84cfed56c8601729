"""The projection: what the status says, from what was observed, decided and done. Pure.

Two kinds of words are in the status. Facts that cannot be observed again (run id, ending, snapshot, started attempts,
results, TargetRestored) are set here once, and `decide` reads them. All else is for people: phase, progress, summary,
Ready, Reconciling, Stalled; it is written anew from each observation and never read back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from loadtest.api.capacity import VariantCapacity
from loadtest.api.comparison import VariantComparison
from loadtest.api.conditions import (
    ConditionType,
    Reason,
    set_condition,
)
from loadtest.api.figures import Figures, InvalidAttempt, StageResult
from loadtest.api.status import (
    BaselineResult,
    Ending,
    LoadTestStatus,
    Phase,
    PlanRef,
    Progress,
    ReleaseStatus,
    RunResult,
    Summary,
    VariantResult,
)
from loadtest.core import objectives
from loadtest.core.conditions import set_conditions
from loadtest.core.decision import Decision, Started, active
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Observed, StageProgress
from loadtest.core.progress import Work, current_work, finished_stages, run_status, skipped_stages
from loadtest.core.verdict import judgement

ROLLOUT_GUESS = timedelta(seconds=60)
"""What a change of variant is taken to cost, until it has been seen: only for estimatedCompletion."""


@dataclass(frozen=True)
class Done:
    """What an action brought that belongs into the status.

    Attributes:
        admitted: the run that was admitted, and where its plan is stored.
        baseline: what an admitted run's spec.baselineRef names.
        stage: position of a repeat and the result of an attempt at one of its stages.
        pooled: a variant and the figures of all its valid stages, pooled.
        comparison: every variant beside the baseline, with their `capacity`.
    """

    admitted: tuple[str, PlanRef] | None = None
    baseline: BaselineResult | None = None
    stage: tuple[int, StageResult] | None = None
    pooled: tuple[str, Figures] | None = None
    comparison: tuple[VariantComparison, ...] | None = None
    capacity: tuple[VariantCapacity, ...] = ()


def before_action(o: Observed, decision: Decision) -> LoadTestStatus:
    """The status that must be stored before the decision's action is carried out."""
    status = o.resource.status.model_copy(deep=True)
    status.observed_generation = o.resource.generation
    if decision.refuse is not None:
        status = _refused(o, decision)
    elif decision.ending is not None:
        found = judgement(o.plan, status) if o.plan else None
        status.ending = Ending(
            phase=Phase(decision.ending.phase),
            reason=decision.ending.reason,
            message=decision.ending.message,
            verdict=found.verdict if found else None,
        )
    if decision.snapshot is not None:
        _snapshot(o, decision, status)
    if decision.intended_variant is not None and status.release is not None:
        status.release.intended_variant = decision.intended_variant
    if decision.started is not None and o.plan is not None:
        _begin(o, o.plan, decision.started, status)
    _live_revision(o, status)
    set_conditions(o, decision, status)
    _people(o, decision, status)
    return status


def after_action(o: Observed, done: Done, status: LoadTestStatus) -> LoadTestStatus:
    """`status` with what the action brought."""
    status = status.model_copy(deep=True)
    if done.admitted is not None:
        status = _admitted(o, *done.admitted)
        status.baseline = done.baseline
    if done.stage is not None and o.plan is not None:
        _result(o.plan, *done.stage, status)
    if done.pooled is not None and status.variants is not None:
        name, figures = done.pooled
        next(variant for variant in status.variants if variant.name == name).pooled = figures
    if done.comparison is not None:
        status.comparison = list(done.comparison)
        status.capacity = list(done.capacity)
    if o.plan is not None and active(status):
        _progress(o, o.plan, status)
    return status


def _refused(o: Observed, decision: Decision) -> LoadTestStatus:
    """A run that ends before it began: nothing was touched."""
    ending = decision.ending
    if ending is None:  # pragma: no cover - a refusal always says why
        raise AssertionError("a refusal has an ending")
    status = LoadTestStatus(
        phase=Phase(ending.phase), observed_generation=o.resource.generation, run_id=decision.refuse
    )
    status.ending = Ending(phase=Phase(ending.phase), reason=ending.reason, message=ending.message)
    status.finished_at = _seconds(o.now)
    return status


def _admitted(o: Observed, run: str, plan: PlanRef) -> LoadTestStatus:
    """The status of a new run: nothing of the last one is left."""
    status = LoadTestStatus(
        phase=Phase.PENDING,
        observed_generation=o.resource.generation,
        run_id=run,
        started_at=_seconds(o.now),
        plan=plan,
    )
    for type_, value in ((ConditionType.READY, "Unknown"), (ConditionType.RECONCILING, "True")):
        status.conditions = set_condition(
            status.conditions,
            type_,
            "True" if value == "True" else "Unknown",
            Reason.ADMITTED,
            Reason.ADMITTED.meaning,
            now=o.now,
            observed_generation=o.resource.generation,
        )
    return status


def _snapshot(o: Observed, decision: Decision, status: LoadTestStatus) -> None:
    snapshot, spec = decision.snapshot, o.plan.spec.target.release if o.plan else None
    if snapshot is None or spec is None:
        return
    status.release = ReleaseStatus(
        name=spec.name,
        namespace=spec.namespace,
        chart=snapshot.chart or None,
        revision=snapshot.revision,
        values_sha256=snapshot.values_sha256 or None,
        manifest_sha256=snapshot.manifest_sha256 or None,
    )


def _live_revision(o: Observed, status: LoadTestStatus) -> None:
    """The revision that the latest helm Job left."""
    revisions = [outcome.revision for outcome in o.target.outcomes.values() if outcome.revision is not None]
    if status.release is not None and revisions:
        status.release.live_revision = max(revisions)


def _begin(o: Observed, plan: RunPlan, started: Started, status: LoadTestStatus) -> None:
    """Note that an attempt starts: its label is taken from now on."""
    stage = plan.stages[started.stage]
    run = _run(plan, started.position, status)
    before = next((entry for entry in run.stages if entry.index == started.stage), None)
    if before is not None and before.valid == "Unknown":
        return
    _put(
        run,
        StageResult(
            index=stage.index,
            injectors=stage.injectors,
            users=stage.users,
            attempt=started.attempt,
            valid="Unknown",
            started_at=o.now,
            invalid_attempts=_earlier(before),
        ),
    )


def _earlier(before: StageResult | None) -> list[InvalidAttempt] | None:
    """The attempts that came before the one that starts now."""
    return before.invalid_attempts if before is not None else None


def _result(plan: RunPlan, position: int, result: StageResult, status: LoadTestStatus) -> None:
    run = _run(plan, position, status)
    before = next((entry for entry in run.stages if entry.index == result.index), None)
    earlier = list((before.invalid_attempts if before else None) or [])
    if result.valid != "True" and not any(attempt.attempt == result.attempt for attempt in earlier):
        earlier.append(
            InvalidAttempt(
                attempt=result.attempt, reason=result.invalid_reason or "", message=(result.invalid_message or "")[:300]
            )
        )
    result = result.model_copy()
    result.invalid_attempts = earlier or None
    objectives.judge(plan, result)
    _put(run, result)
    objectives.mark_skipped(plan, run)
    status.objectives = objectives.results(plan, status)


def _run(plan: RunPlan, position: int, status: LoadTestStatus) -> RunResult:
    """The entry of a repeat in the status, made where it is missing."""
    if (found := run_status(status, position)) is not None:
        return found
    repeat = next(repeat for repeat in plan.repeats if repeat.position == position)
    status.variants = status.variants or []
    variant = next((variant for variant in status.variants if variant.name == repeat.variant), None)
    if variant is None:
        variant = VariantResult(name=repeat.variant)
        status.variants.append(variant)
    run = RunResult(repeat=repeat.repeat, position=position)
    variant.runs.append(run)
    return run


def _put(run: RunResult, result: StageResult) -> None:
    run.stages = sorted([*(s for s in run.stages if s.index != result.index), result], key=lambda stage: stage.index)


def _people(o: Observed, decision: Decision, status: LoadTestStatus) -> None:
    if decision.phase not in {"Terminal", "Keep"} and decision.refuse is None:
        status.phase = Phase(decision.phase)
    if decision.phase == "Pending" and decision.refuse is None and not active(o.resource.status):
        # A new run is asked for and not admitted yet: Pending with the last run's id would take that one up again.
        status.run_id = status.ending = None
    if o.plan is None or not (active(status) or decision.finished):
        return
    _progress(o, o.plan, status)
    if status.progress is not None and not decision.finished:
        status.progress.activity = decision.message[:200] or None


def _progress(o: Observed, plan: RunPlan, status: LoadTestStatus) -> None:
    """Progress, and the columns of `kubectl get`."""
    work = None if status.ending is not None else current_work(plan, status)
    live = _live(o, work)
    over = [plan.stages[entry.index] for _, entry in finished_stages(plan, status)]
    over += skipped_stages(plan, status)
    seconds = sum(stage.seconds for stage in over) + (live.elapsed_seconds if live else 0.0)
    total = sum(stage.seconds for stage in plan.stages) * len(plan.repeats)
    progress = status.progress or Progress()
    progress.percent = min(100, int(100 * seconds / total)) if total else None
    progress.stages = plan.stage_runs
    if work is not None:
        progress.variant, progress.repeat = work.repeat.variant, work.repeat.repeat
        progress.stage, progress.position, progress.attempt = work.stage.index, work.repeat.position, work.attempt
        progress.started_at = work.entry.started_at if work.entry and work.running else None
        changes = 1 + len({repeat.position for repeat in plan.repeats if repeat.position > work.repeat.position})
        progress.estimated_completion = _seconds(o.now + timedelta(seconds=total - seconds) + ROLLOUT_GUESS * changes)
    status.progress = progress
    status.summary = _summary(plan, status, live, len(over))


def _live(o: Observed, work: Work | None) -> StageProgress | None:
    master = o.injectors.master
    if work is None or not work.running or master is None:
        return None
    return master.stages.get((work.stage.index, work.attempt))


def _summary(plan: RunPlan, status: LoadTestStatus, live: StageProgress | None, done: int) -> Summary:
    summary = status.summary.model_copy() if status.summary else Summary()
    summary.stage = f"{done}/{plan.stage_runs}"
    entries = [entry for _, entry in finished_stages(plan, status)]
    last = next((entry for entry in reversed(entries) if entry.requests is not None), None)
    summary.failures = sum(entry.failures or 0 for entry in entries if entry.valid == "True")
    if live is not None and live.state in {"window", "tail", "measuring"}:
        summary.requests_per_second = live.requests_per_second
        summary.p99_millis = None if live.p99_micros is None else round(live.p99_micros / 1000)
        summary.failures += live.failures
    elif last is not None:
        summary.requests_per_second = last.requests_per_second
        summary.p99_millis = round(last.latency_micros.p99 / 1000) if last.latency_micros else None
    return summary


def _seconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
