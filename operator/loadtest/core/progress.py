"""Where a run stands: which attempt at which stage is next, and how much is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loadtest.api.conditions import Reason
from loadtest.api.status import LoadTestStatus, RunResult, StageResult
from loadtest.core.expand import RepeatPlan, RunPlan, StagePlan
from loadtest.core.objectives import stop_of


@dataclass(frozen=True)
class Work:
    """The stage to run now, and the attempt at it. `entry` is what the status knows of it.

    Attributes:
        running: the attempt has been started, and its end is not yet in the status.
        lost: attempts of this repeat that were lost with their master; each cost the repeat its injectors.
    """

    repeat: RepeatPlan
    stage: StagePlan
    attempt: int
    entry: StageResult | None
    running: bool
    lost: int


def run_status(status: LoadTestStatus, position: int) -> RunResult | None:
    """The status of the repeat at `position`."""
    return next((run for variant in status.variants or () for run in variant.runs if run.position == position), None)


def stage_entries(status: LoadTestStatus, position: int) -> dict[int, StageResult]:
    """The stages of the repeat at `position` that the status knows, by index."""
    run = run_status(status, position)
    return {stage.index: stage for stage in run.stages} if run else {}


def is_running(entry: StageResult | None) -> bool:
    """Whether an attempt was started and has not ended in the status."""
    return entry is not None and entry.valid == "Unknown"


def is_final(entry: StageResult | None, max_reruns: int) -> bool:
    """Whether a stage is over: valid, or invalid with no rerun left."""
    if entry is None or is_running(entry):
        return False
    return entry.valid == "True" or entry.attempt > max_reruns


def current_work(plan: RunPlan, status: LoadTestStatus) -> Work | None:
    """The first stage that is not over, in the order of the plan; None when all are over or skipped."""
    for repeat in plan.repeats:
        entries = stage_entries(status, repeat.position)
        stop = stop_of(plan, entries.values())
        for stage in plan.stages:
            if stop is not None and stage.index > stop.stage:
                break
            entry = entries.get(stage.index)
            if is_final(entry, plan.spec.load.max_stage_reruns):
                continue
            running = is_running(entry)
            attempt = 1 if entry is None else entry.attempt + (0 if running else 1)
            return Work(repeat, stage, attempt, entry, running, lost_masters(entries))
    return None


def lost_masters(entries: dict[int, StageResult]) -> int:
    """How many attempts of a repeat were lost with their master."""
    return sum(
        1
        for entry in entries.values()
        for attempt in entry.invalid_attempts or ()
        if attempt.reason == Reason.MASTER_LOST
    )


def finished_stages(plan: RunPlan, status: LoadTestStatus) -> Iterator[tuple[RepeatPlan, StageResult]]:
    """The stages that are over, in order."""
    for repeat in plan.repeats:
        for entry in stage_entries(status, repeat.position).values():
            if is_final(entry, plan.spec.load.max_stage_reruns):
                yield repeat, entry


def skipped_stages(plan: RunPlan, status: LoadTestStatus) -> Iterator[StagePlan]:
    """The stages that are not run, of every repeat, because an objective with onMiss StopVariant was missed."""
    for repeat in plan.repeats:
        run = run_status(status, repeat.position)
        for index in (run.skipped_stages if run else None) or ():
            yield plan.stages[index]
