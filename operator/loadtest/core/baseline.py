"""An earlier LoadTest as baseline: its figures, as far as they are of the same load."""

from __future__ import annotations

from loadtest.api.comparison import BaselineRef
from loadtest.api.figures import StageResult
from loadtest.api.status import BaselineResult, BaselineRun, BaselineStage, LoadTestStatus, RunResult, VariantResult
from loadtest.core.expand import RunPlan


class UnusableBaseline(ValueError):  # noqa: N818 - named for the fact
    """The baseline cannot be compared with. The message names the remedy."""


def copied(plan: RunPlan, reference: BaselineRef, status: LoadTestStatus | None) -> BaselineResult:
    """The valid stages of the variant that `reference` names which have the same load as the plan's of that index.

    Args:
        plan: of the run that is compared with them.
        reference: spec.baselineRef.
        status: of that LoadTest; None where it is not there, or its run has not ended.

    Raises:
        UnusableBaseline: there is no such variant, or no such stage.
    """
    if status is None or not status.run_id:
        raise UnusableBaseline(
            f"spec.baselineRef: LoadTest {reference.name} is not in this namespace, or its run has not ended: "
            "correct the name, or wait for its end"
        )
    variant = _variant(reference, status.variants or [])
    runs = [
        BaselineRun(repeat=run.repeat, stages=stages)
        for run in variant.runs
        if (stages := [_short(stage) for stage in run.stages if _same_load(plan, stage)])
    ]
    if not runs:
        raise UnusableBaseline(
            f"spec.baselineRef: variant {variant.name} of LoadTest {reference.name} has no valid stage with the "
            "injectors, users and duration of one of spec.load.stages at the same place: make the stages alike"
        )
    return BaselineResult(load_test=reference.name, variant=variant.name, run_id=status.run_id, runs=runs)


def as_variant(plan: RunPlan, baseline: BaselineResult) -> VariantResult:
    """The baseline as a variant that others are compared with; its stages had the load of the plan's."""
    return VariantResult(
        name=f"{baseline.load_test}/{baseline.variant}",
        runs=[
            RunResult(
                repeat=run.repeat,
                position=run.repeat,
                stages=[
                    StageResult(
                        **stage.model_dump(),
                        injectors=plan.stages[stage.index].injectors,
                        users=plan.stages[stage.index].users,
                        valid="True",
                    )
                    for stage in run.stages
                ],
            )
            for run in baseline.runs
        ],
    )


def _variant(reference: BaselineRef, variants: list[VariantResult]) -> VariantResult:
    named = [variant for variant in variants if reference.variant in {None, variant.name}]
    if len(named) == 1:
        return named[0]
    if named:
        names = ", ".join(variant.name for variant in named[:20])
        raise UnusableBaseline(
            f"spec.baselineRef: LoadTest {reference.name} has the variants {names}: name one in baselineRef.variant"
        )
    wanted = f"variant {reference.variant}" if reference.variant else "variant with results"
    raise UnusableBaseline(f"spec.baselineRef: LoadTest {reference.name} has no {wanted}: correct baselineRef")


def _same_load(plan: RunPlan, stage: StageResult) -> bool:
    if stage.valid != "True" or stage.index >= len(plan.stages) or stage.duration_millis is None:
        return False
    planned = plan.stages[stage.index]
    alike = (stage.injectors, stage.users) == (planned.injectors, planned.users) and stage.requests is not None
    return alike and stage.duration_millis == round(1000 * planned.seconds)


def _short(stage: StageResult) -> BaselineStage:
    return BaselineStage(
        index=stage.index,
        requests=stage.requests or 0,
        failures=stage.failures or 0,
        requests_per_second_milli=stage.requests_per_second_milli or 0,
        latency_micros=stage.latency_micros,
    )
