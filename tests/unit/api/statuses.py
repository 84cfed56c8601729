"""A status as full as it can be."""

from datetime import UTC, datetime

from loadtest.api.comparison import MetricComparison, OverallComparison, StageComparison, VariantComparison
from loadtest.api.status import (
    Interval,
    Latency,
    LatencyIntervals,
    MethodFigures,
    OldDefinition,
    ResultRef,
    ShortLatency,
    StageResult,
    WarmUp,
)

LATENCY = Latency(
    p50=55_000, p66=60_000, p75=70_000, p80=80_000, p90=90_000, p95=95_000, p98=98_000, p99=140_000, p999=201_000,
    p9999=1_201_000, min=4_000, mean=61_234, max=60_000_000,
)  # fmt: skip
WIDE = Interval(low=1_201_000, high=1_202_000)
METHOD = MethodFigures(requests=1_500_000, latency_micros=LATENCY)


def full_stage(index: int) -> StageResult:
    """A stage with every figure that a stage can have."""
    return StageResult(
        index=index, injectors=1000, users=200_000, attempt=2, valid="True",
        started_at=datetime(2026, 1, 2, tzinfo=UTC), duration_millis=1_200_000,
        requests=2_956_643, failures=12_345, launches=25_000, submissions=24_000, requests_per_second=2464,
        requests_per_second_milli=2_463_869, average_content_bytes=9763,
        latency_micros=LATENCY, latency_interval_micros=LatencyIntervals(p50=WIDE, p95=WIDE, p99=WIDE, p999=WIDE),
        failure_latency_micros=ShortLatency(p50=1, p99=2, max=3), gets=METHOD, posts=METHOD,
        old_definition=OldDefinition(
            p50_micros=1, p90_micros=2, p95_micros=3, p99_micros=4, p999_micros=5, gets_p99_micros=6,
            posts_p99_micros=7, all_p99_micros=8,
        ),
        warm_up=WarmUp(requests=1, failures=0, latency_micros=ShortLatency(p50=1, p99=2)),
        result_ref=ResultRef(name="ldt-0123456789abcdef-r100-s10-a2", parts=3, sha256="0" * 64),
    )  # fmt: skip


def full_comparison(variant: str, stages: int) -> VariantComparison:
    """A comparison with every metric that it can have."""
    metrics = [
        MetricComparison(
            metric=name, verdict="Indicative", ratio_permille=1014, difference_micros=14_000, ratio_low_permille=1001,
            ratio_high_permille=1099, effect_permille=-1000, detectable_permille=15,
        )
        for name in ("p50", "p90", "p95", "p99", "p999", "requestsPerSecond")
    ]  # fmt: skip
    rows = [
        StageComparison(stage=index, injectors=1000, repeats=5, baseline_repeats=5, metrics=metrics)
        for index in range(stages)
    ]
    whole = OverallComparison(stages=list(range(stages)), repeats=5, baseline_repeats=5, metrics=metrics)
    return VariantComparison(variant=variant, baseline="seven-threads", overall=whole, stages=rows)
