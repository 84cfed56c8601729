"""How far each variant scales, from the figures of its valid stages."""

from __future__ import annotations

import math
from collections.abc import Iterable

from loadtest.api.capacity import Scalability, VariantCapacity
from loadtest.api.figures import Interval, StageResult
from loadtest.api.status import VariantResult
from loadtest.results.capacity import EXTRAPOLATION, Point, central, efficiencies, fit, knee, resampled


def capacities(variants: Iterable[VariantResult]) -> list[VariantCapacity]:
    """Every variant that has a valid stage with requests."""
    return [found for variant in variants if (found := _capacity(variant)) is not None]


def _capacity(variant: VariantResult) -> VariantCapacity | None:
    stages = [stage for run in variant.runs for stage in run.stages if stage.valid == "True"]
    points = [
        Point(stage.injectors, stage.requests_per_second_milli / 1000)
        for stage in stages
        if stage.requests_per_second_milli
    ]
    if not points:
        return None
    bend = knee(points)
    missed = _missed(stages)
    return VariantCapacity(
        variant=variant.name,
        largest_injectors=max(point.injectors for point in points),
        knee_injectors=bend,
        knee_efficiency_permille=None if bend is None else round(1000 * efficiencies(points)[bend]),
        missed_injectors=missed[0].injectors if missed else None,
        missed_objectives=sorted({name for stage in missed for name in stage.missed_objectives or ()}) or None,
        scalability=_scalability(points),
    )


def _missed(stages: Iterable[StageResult]) -> list[StageResult]:
    """The stages of the smallest load that missed an objective."""
    missing = [stage for stage in stages if stage.missed_objectives]
    smallest = min((stage.injectors for stage in missing), default=None)
    return [stage for stage in missing if stage.injectors == smallest]


def _scalability(points: list[Point]) -> Scalability | None:
    law = fit(points)
    if law is None:
        return None
    drawn = resampled(points, law) or [law]
    limit = EXTRAPOLATION * max(point.injectors for point in points)
    found = Scalability(
        single_injector_requests_per_second_milli=round(1000 * law.single),
        contention_ppm=round(1e6 * law.contention),
        contention_ppm_interval=_interval(1e6 * one.contention for one in drawn),
        coherency_ppb=round(1e9 * law.coherency),
        coherency_ppb_interval=_interval(1e9 * one.coherency for one in drawn),
    )
    if law.peak <= limit:
        low, high = central([one.peak for one in drawn])
        found.peak_injectors = max(1, round(law.peak))
        found.peak_requests_per_second = round(law.throughput(max(1.0, law.peak)))
        found.peak_injectors_low = max(1, round(low)) if low <= limit else None
        found.peak_injectors_high = max(1, round(high)) if math.isfinite(high) and high <= limit else None
    return found


def _interval(values: Iterable[float]) -> Interval:
    low, high = central(list(values))
    return Interval(low=round(low), high=round(high))
