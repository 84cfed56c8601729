"""`spec.baselineRef`, and `status.comparison`: each variant beside the baseline, and what may be said of it."""

from typing import Annotated, Literal

from pydantic import Field

from loadtest.api.fields import ObjectName, VariantName
from loadtest.api.model import ListMap, SpecModel, StatusModel


class BaselineRef(SpecModel):
    """A variant of another LoadTest of the same namespace, whose run has ended."""

    name: ObjectName = Field(description="Name of the LoadTest.")
    variant: VariantName | None = Field(
        default=None, description="Which of its variants; may be left out where it has only one."
    )


ClaimWord = Literal["Better", "Worse", "Higher", "Lower", "Equivalent", "Inconclusive", "Indicative"]


class MetricComparison(StatusModel):
    """One metric of a variant beside the same of the baseline; of several repeats, their geometric means."""

    metric: str = Field(
        description="p50, p90, p95, p99, p999 (response times), requestsPerSecond, or a measurement and its field, "
        "such as redis.connectionsPeak."
    )
    verdict: ClaimWord = Field(
        description="Indicative: fewer than 5 repeats of either, or the run was ended early; no claim. Better, Worse "
        "(a measurement: Higher, Lower): the difference is no chance, at a family-wise 5 % over the stages. "
        "Equivalent: within spec.equivalenceMargin, at the same level. Inconclusive: neither could be shown."
    )
    ratio_permille: int = Field(description="Variant divided by baseline, in thousandths; 1000 is equal.")
    difference_micros: int | None = Field(
        default=None, description="Variant minus baseline of a response time, in microseconds."
    )
    difference_requests_per_second_milli: int | None = Field(
        default=None, description="Variant minus baseline of the throughput, in thousandths of a request per second."
    )
    difference: int | None = Field(
        default=None, description="Variant minus baseline of a measurement, in the unit that its field names."
    )
    ratio_low_permille: int | None = Field(
        default=None, description="Lower end of the 95 % interval of the ratio, of this comparison alone."
    )
    ratio_high_permille: int | None = Field(default=None, description="Upper end of that interval.")
    effect_permille: int | None = Field(
        default=None,
        description="Cliff's delta in thousandths: over all pairs of repeats, the share in which the variant is higher "
        "minus that in which it is lower. 1000 and -1000: the repeats do not overlap.",
    )
    detectable_permille: int | None = Field(
        default=None, description="Smallest difference that these repeats would have shown four times of five."
    )


class StageComparison(StatusModel):
    """One stage of a variant beside the same stage of the baseline."""

    stage: int = Field(description="Which stage of load.stages, counted from 0.")
    injectors: int = Field(description="Injectors of the stage.")
    repeats: int = Field(description="Repeats of the variant in which the stage is valid.")
    baseline_repeats: int = Field(description="The same of the baseline.")
    metrics: Annotated[list[MetricComparison], ListMap("metric")] = Field(
        description="The metrics that both have; a percentile only where all have requests enough for it."
    )


class OverallComparison(StatusModel):
    """The stages that are valid in every repeat of every variant, as if they were one stage."""

    stages: list[int] = Field(description="Which stages of load.stages, counted from 0.")
    repeats: int = Field(description="Repeats of the variant.")
    baseline_repeats: int = Field(description="Repeats of the baseline.")
    metrics: Annotated[list[MetricComparison], ListMap("metric")] = Field(
        description="The metrics of each repeat's pooled requests, and the measurements."
    )


class VariantComparison(StatusModel):
    """A variant beside the baseline."""

    variant: str = Field(description="Name of the variant.")
    baseline: str = Field(
        description="Name of the variant that it is compared with; with spec.baselineRef, LoadTest/variant."
    )
    overall: OverallComparison | None = Field(
        default=None, description="Over the stages valid in every repeat of every variant; absent where there are none."
    )
    stages: Annotated[list[StageComparison], ListMap("stage")] = Field(
        description="Stage by stage, where both have a valid one."
    )
