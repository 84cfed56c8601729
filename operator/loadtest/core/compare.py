"""Variants beside the baseline: plain ratios per stage, and no claim: with few repeats a difference may be chance."""

from __future__ import annotations

from collections.abc import Iterable

from loadtest.api.figures import StageResult
from loadtest.api.status import StageComparison, VariantResult
from loadtest.core.expand import RunPlan


def compared_with_baseline(plan: RunPlan, variants: list[VariantResult]) -> None:
    """Set `compared_with_baseline` of every variant but the baseline.

    The baseline is spec.baseline, or the first variant. Where a stage has several valid repeats, the means over the
    repeats are compared: the repeat is the unit, and its figures are exact.
    """
    name = plan.spec.baseline or plan.variants[0].name
    baseline = next((variant for variant in variants if variant.name == name), None)
    if baseline is None:
        return
    for variant in variants:
        if variant is not baseline:
            rows = [
                _row(stage.index, _valid(baseline, stage.index), _valid(variant, stage.index)) for stage in plan.stages
            ]
            variant.compared_with_baseline = [row for row in rows if row is not None] or None


def _valid(variant: VariantResult, index: int) -> list[StageResult]:
    return [
        stage
        for run in variant.runs
        for stage in run.stages
        if stage.index == index and stage.valid == "True" and stage.latency_micros
    ]


def _row(index: int, base: list[StageResult], other: list[StageResult]) -> StageComparison | None:
    if not base or not other:
        return None

    def ratio(field: str) -> int | None:
        return permille(
            (getattr(stage.latency_micros, field) for stage in base),
            (getattr(stage.latency_micros, field) for stage in other),
        )

    return StageComparison(
        stage=index,
        p50_permille=ratio("p50"),
        p90_permille=ratio("p90"),
        p95_permille=ratio("p95"),
        p99_permille=ratio("p99"),
        p999_permille=ratio("p999"),
        requests_per_second_permille=permille(
            (stage.requests_per_second_milli or 0 for stage in base),
            (stage.requests_per_second_milli or 0 for stage in other),
        ),
    )


def permille(base: Iterable[int], other: Iterable[int]) -> int | None:
    """Mean of `other` in thousandths of the mean of `base`; None where the base is nothing."""
    base, other = list(base), list(other)
    if not base or not other or not sum(base):
        return None
    return round(1000 * (sum(other) / len(other)) / (sum(base) / len(base)))
