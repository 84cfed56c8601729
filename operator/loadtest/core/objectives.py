"""Objectives: each valid stage judged on its own window, and each objective over all stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from loadtest.api.figures import Figures, StageResult, Validity, value_of
from loadtest.api.objectives import MeasurementObjective, Objective, per_second, share_of
from loadtest.api.status import LoadTestStatus, ObjectiveResult, RunResult, VariantResult
from loadtest.core.expand import RunPlan
from loadtest.results.figures import PERCENTILES
from loadtest.results.sampling import fewest_values, is_plausible

FIELDS = {percent: field for field, percent in PERCENTILES.items()}
"""Percentile -> field of the status."""


def is_met(objective: Objective, figures: Figures) -> bool | None:
    """Whether these figures meet an objective; None where they cannot tell.

    A percentile of fewer requests than its sampling interval needs tells nothing, nor does an unknown measurement. A
    failure ratio of as few tells only where so many failures would be out of the ordinary (2.5 %) at the bound.
    """
    if objective.latency is not None:
        percent = objective.latency.percentile
        successes = (figures.requests or 0) - (figures.failures or 0)
        if figures.latency_micros is None or successes < fewest_values(percent):
            return None
        micros: int = getattr(figures.latency_micros, FIELDS[percent])
        return micros < objective.latency.below.millis * 1000
    if objective.failure_ratio is not None:
        return _few_failures(share_of(objective.failure_ratio.below), figures)
    if objective.throughput is not None and figures.requests_per_second_milli is not None:
        return figures.requests_per_second_milli > per_second(objective.throughput.above) * 1000
    if objective.measurement is not None:
        return _within(objective.measurement, figures)
    return None


def _within(bound: MeasurementObjective, figures: Figures) -> bool | None:
    value = value_of(figures, bound.name, bound.field)
    if value is None:
        return None
    return value < bound.below if bound.below is not None else value > (bound.above or 0)


def _few_failures(bound: Fraction, figures: Figures) -> bool | None:
    requests, failures = figures.requests, figures.failures or 0
    if not requests:
        return None
    if bound == 1 or requests >= fewest_values(100 * (1 - bound)):
        return failures < bound * requests
    return False if not is_plausible(failures, requests, bound) else None


def judge(plan: RunPlan, entry: StageResult) -> None:
    """Write into a stage which objectives it missed, and which it cannot tell; an invalid stage tells nothing."""
    entry.missed_objectives = entry.unknown_objectives = None
    if entry.valid != "True":
        return
    told = {
        objective.name: is_met(objective, entry)
        for objective in plan.spec.objectives or ()
        if objective.stages is None or entry.index in objective.stages
    }
    entry.missed_objectives = [name for name, met in told.items() if met is False] or None
    entry.unknown_objectives = [name for name, met in told.items() if met is None] or None


class Stop(NamedTuple):
    """Why a repeat ends early: the stage after which nothing more of it is run, and the objective that it missed."""

    stage: int
    objective: str


def stop_of(plan: RunPlan, entries: Iterable[StageResult]) -> Stop | None:
    """The first stage of a repeat that missed an objective with onMiss StopVariant.

    Each repeat is judged by itself: what one missed by chance, another may meet, and the stages before are worth as
    many repeats as were asked for.
    """
    stopping = [objective.name for objective in plan.spec.objectives or () if objective.on_miss == "StopVariant"]
    for entry in sorted(entries, key=lambda entry: entry.index):
        missed = next((name for name in stopping if name in (entry.missed_objectives or ())), None)
        if missed is not None:
            return Stop(entry.index, missed)
    return None


def mark_skipped(plan: RunPlan, run: RunResult) -> None:
    """Show the stages of a repeat that are not run any more."""
    stop = stop_of(plan, run.stages)
    run.stopped_by = stop.objective if stop else None
    run.skipped_stages = [stage.index for stage in plan.stages if stop and stage.index > stop.stage] or None


class Tally(NamedTuple):
    """What the stages that an objective is about say, of one variant. Stages that run are in none of them."""

    judged: int
    missed: int
    unknown: int
    invalid: int

    @property
    def undecided(self) -> bool:
        """Whether more of the stages that were run say nothing than say something."""
        return self.unknown + self.invalid > self.judged


def tally(objective: Objective, variant: VariantResult) -> Tally:
    """Count a variant's stages."""
    entries = [entry for _, entry in _about(objective, variant)]
    valid = [entry for entry in entries if entry.valid == "True"]
    unknown = sum(objective.name in (entry.unknown_objectives or ()) for entry in valid)
    missed = sum(objective.name in (entry.missed_objectives or ()) for entry in valid)
    return Tally(len(valid) - unknown, missed, unknown, sum(entry.valid == "False" for entry in entries))


def _about(objective: Objective, variant: VariantResult) -> Iterator[tuple[RunResult, StageResult]]:
    for run in variant.runs:
        for entry in run.stages:
            if objective.stages is None or entry.index in objective.stages:
                yield run, entry


def results(plan: RunPlan, status: LoadTestStatus) -> list[ObjectiveResult] | None:
    """Every objective of the plan over all that was measured; None where the spec has none."""
    return [_result(objective, status.variants or []) for objective in plan.spec.objectives or ()] or None


def _result(objective: Objective, variants: list[VariantResult]) -> ObjectiveResult:
    tallies = [tally(objective, variant) for variant in variants]
    judged, missed = sum(one.judged for one in tallies), sum(one.missed for one in tallies)
    met: Validity = "True"
    message = ""
    if missed:
        met, message = "False", next(_misses(objective, variants))
    elif not judged or any(one.undecided for one in tallies):
        met, message = "Unknown", "too few stages could judge it: invalid, of too few requests, or not measured"
    return ObjectiveResult(
        name=objective.name,
        on_miss=objective.on_miss,
        met=met,
        stages=judged,
        missed_stages=missed,
        unknown_stages=sum(one.unknown for one in tallies),
        message=message if variants else "",
    )


def _misses(objective: Objective, variants: list[VariantResult]) -> Iterator[str]:
    for variant in variants:
        for run, entry in _about(objective, variant):
            if objective.name in (entry.missed_objectives or ()):
                yield (
                    f"variant {variant.name}, repeat {run.repeat}, stage {entry.index} ({entry.injectors} injectors): "
                    f"{_measured(objective, entry)}, objective {objective.says()}"
                )


def _measured(objective: Objective, entry: StageResult) -> str:
    if objective.latency is not None and entry.latency_micros is not None:
        percent = objective.latency.percentile
        return f"p{percent} {getattr(entry.latency_micros, FIELDS[percent]) / 1000:.1f} ms"
    if objective.failure_ratio is not None:
        return f"{entry.failures} of {entry.requests} requests failed"
    if (one := objective.measurement) is not None:
        return f"{one.name} {one.field} {value_of(entry, one.name, one.field)}"
    return f"{(entry.requests_per_second_milli or 0) / 1000:.1f} requests/s"
