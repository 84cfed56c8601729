"""Where a run stands: which attempt at which stage is next, how much is done, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loadtest.api.conditions import Reason
from loadtest.api.status import LoadTestStatus, RunResult, StageResult
from loadtest.core.decision import Ending
from loadtest.core.expand import RepeatPlan, RunPlan, StagePlan


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
    """The first stage that is not over, in the order of the plan; None when all are."""
    for repeat in plan.repeats:
        entries = stage_entries(status, repeat.position)
        for stage in plan.stages:
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


def verdict(plan: RunPlan, status: LoadTestStatus) -> Ending:
    """How a run whose stages are all over ends.

    It says nothing (Inconclusive) where a variant has more invalid stages than valid ones: then what is left of that
    variant is not the load that was asked for.
    """
    for variant in plan.variants:
        positions = [repeat.position for repeat in plan.repeats if repeat.variant == variant.name]
        entries = [entry for position in positions for entry in stage_entries(status, position).values()]
        invalid = [entry for entry in entries if entry.valid != "True"]
        if len(invalid) * 2 > len(entries):
            first = invalid[0]
            return Ending(
                "Succeeded",
                Reason.INCONCLUSIVE,
                f"variant {variant.name}: {len(invalid)} of {len(entries)} stages are invalid, "
                f"such as stage {first.index}: {first.invalid_reason}: {first.invalid_message}",
            )
    return Ending("Succeeded", Reason.COMPLETED, "every stage was run")
