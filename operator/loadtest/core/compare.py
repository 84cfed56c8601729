"""Variants beside the baseline, metric by metric: what differs, and what may be claimed of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from loadtest.api.comparison import (
    ClaimWord,
    MetricComparison,
    OverallComparison,
    StageComparison,
    VariantComparison,
)
from loadtest.api.figures import Figures, StageResult
from loadtest.api.objectives import share_of
from loadtest.api.status import BaselineResult, RunResult, VariantResult
from loadtest.core.baseline import as_variant
from loadtest.core.expand import RunPlan
from loadtest.results.claims import Claim, claims
from loadtest.results.figures import PERCENTILES
from loadtest.results.sampling import fewest_values

LATENCIES = ("p50", "p90", "p95", "p99", "p999")
THROUGHPUT = "requestsPerSecond"

Overall = Mapping[tuple[str, int], Figures]
"""Variant and repeat -> the figures of that repeat's requests in the stages that are valid everywhere."""

_OVERALL = -1
"""The key of the overall comparison among the stages'."""


def common_stages(variants: Iterable[VariantResult]) -> list[int]:
    """The stages that are valid in every repeat that was begun, of every variant."""
    valid = [{stage.index for stage in run.stages if stage.valid == "True"} for one in variants for run in one.runs]
    return sorted(set.intersection(*valid)) if valid else []


def baseline_of(plan: RunPlan) -> str:
    """Name of the variant that the others are compared with."""
    return plan.spec.baseline or plan.variants[0].name


def comparisons(
    plan: RunPlan,
    variants: list[VariantResult],
    overall: Overall,
    *,
    complete: bool,
    earlier: BaselineResult | None = None,
) -> list[VariantComparison]:
    """Every variant but the baseline beside it.

    Args:
        plan: of the run.
        variants: what was measured.
        overall: each repeat over `common_stages`; empty where its records cannot be read any more.
        complete: the run came to its planned end. Otherwise nothing is claimed: somebody may have ended it for what
            the figures showed.
        earlier: the baseline where it is of an earlier LoadTest; it is compared with stage by stage alone.
    """
    base = (
        as_variant(plan, earlier) if earlier else next((one for one in variants if one.name == baseline_of(plan)), None)
    )
    if base is None:
        return []
    stages = common_stages(variants)
    found = [
        _Sides(plan, _samples(base, overall), _samples(variant, overall), stages).compared(
            variant.name, base.name, complete=complete
        )
        for variant in variants
        if variant is not base
    ]
    return [one for one in found if one.stages]


Samples = dict[int, list[Figures]]
"""Stage, or `_OVERALL` -> the figures of each valid repeat."""


def _samples(variant: VariantResult, overall: Overall) -> Samples:
    samples: Samples = {}
    for run in variant.runs:
        for stage in _valid(run):
            samples.setdefault(stage.index, []).append(stage)
        if (variant.name, run.repeat) in overall:
            samples.setdefault(_OVERALL, []).append(overall[variant.name, run.repeat])
    return samples


def _valid(run: RunResult) -> list[StageResult]:
    return [stage for stage in run.stages if stage.valid == "True" and stage.latency_micros]


@dataclass
class _Sides:
    """A variant and the baseline."""

    plan: RunPlan
    base: Samples
    other: Samples
    common: list[int]

    def compared(self, variant: str, baseline: str, *, complete: bool) -> VariantComparison:
        """Each metric is one family over the stages and the whole."""
        places = sorted(set(self.base) & set(self.other))
        rows: dict[int, list[MetricComparison]] = {place: [] for place in places}
        names = dict.fromkeys(
            name for place in places for name in values_of(self.other[place][0], beside=place == _OVERALL)
        )
        margin = float(share_of(self.plan.spec.equivalence_margin)) if self.plan.spec.equivalence_margin else None
        for name in names:
            pairs = {place: pair for place in places if (pair := self._pair(name, place)) is not None}
            said = claims(list(pairs.values()), lower_is_better=name != THROUGHPUT, margin=margin, may_claim=complete)
            for place, claim in zip(pairs, said, strict=True):
                rows[place].append(_row(name, claim))
        return VariantComparison(
            variant=variant,
            baseline=baseline,
            overall=OverallComparison(
                stages=self.common,
                repeats=len(self.other[_OVERALL]),
                baseline_repeats=len(self.base[_OVERALL]),
                metrics=rows[_OVERALL],
            )
            if rows.get(_OVERALL)
            else None,
            stages=[
                StageComparison(
                    stage=place,
                    injectors=self.plan.stages[place].injectors,
                    repeats=len(self.other[place]),
                    baseline_repeats=len(self.base[place]),
                    metrics=rows[place],
                )
                for place in places
                if place != _OVERALL
            ],
        )

    def _pair(self, name: str, place: int) -> tuple[list[float], list[float]] | None:
        """A metric of every repeat of both; None where one repeat cannot say it."""
        sides = tuple(
            [values_of(figures, beside=place == _OVERALL).get(name, 0) for figures in side[place]]
            for side in (self.base, self.other)
        )
        return (sides[0], sides[1]) if all(value > 0 for side in sides for value in side) else None


def values_of(figures: Figures, *, beside: bool) -> dict[str, float]:
    """The metrics of one repeat: percentiles of requests enough, throughput, and, with `beside`, the measurements."""
    values: dict[str, float] = {}
    successes = (figures.requests or 0) - (figures.failures or 0)
    for name in LATENCIES:
        if figures.latency_micros is not None and successes >= fewest_values(PERCENTILES[name]):
            values[name] = getattr(figures.latency_micros, name)
    if figures.requests_per_second_milli:
        values[THROUGHPUT] = figures.requests_per_second_milli
    if beside:
        for one in figures.measured():
            fields = one.to_wire()
            values |= {
                f"{one.name}.{field}": value
                for field, value in fields.items()
                if isinstance(value, int) and field not in {"points", "pointsExpected"}
            }
    return values


def _row(name: str, claim: Claim) -> MetricComparison:
    change = _whole((claim.ratio - 1) * claim.base)
    row = MetricComparison(metric=name, verdict=_word(name, claim), ratio_permille=_whole(1000 * claim.ratio))
    if name in LATENCIES:
        row.difference_micros = change
    elif name == THROUGHPUT:
        row.difference_requests_per_second_milli = change
    else:
        row.difference = change
    if claim.interval is not None and claim.effect is not None and claim.detectable is not None:
        row.ratio_low_permille, row.ratio_high_permille = (_whole(1000 * end) for end in claim.interval)
        row.effect_permille = _whole(1000 * claim.effect)
        row.detectable_permille = _whole(1000 * claim.detectable)
    return row


def _word(name: str, claim: Claim) -> ClaimWord:
    """The claim; of a measurement nobody has said whether more is better."""
    if name in LATENCIES or name == THROUGHPUT:
        return claim.word
    words: dict[str, ClaimWord] = {"Better": "Lower", "Worse": "Higher"}
    return words.get(claim.word, claim.word)


def _whole(value: float) -> int:
    return round(Fraction(value))
