"""The report's section on the baseline: what differs from it, and what may be said of that."""

from __future__ import annotations

from collections.abc import Sequence

from loadtest.api.comparison import MetricComparison, VariantComparison
from loadtest.report.document import Section, Table, table
from loadtest.results.tables import DASH, ratio

NAMES = {
    "p50": "50th",
    "p90": "90th",
    "p95": "95th",
    "p99": "99th",
    "p999": "99.9th",
    "requestsPerSecond": "Requests/s",
}
HEADER = ("Metric", "Ratio", "95 % interval", "Difference", "Would have shown", "Verdict")


def section(found: Sequence[VariantComparison] | None) -> Section | None:
    """Every variant beside the baseline; None where nothing was compared."""
    if not found:
        return None
    return Section(
        f"Compared with {found[0].baseline}",
        text=tuple(_notes(found)),
        tables=tuple(_summary(found)),
        sections=tuple(_details(one) for one in found),
    )


def _notes(found: Sequence[VariantComparison]) -> list[str]:
    words = {metric.verdict for one in found for metric in _all(one)}
    notes = ["Ratio and difference are of the variant to the baseline; of several repeats, of their geometric means."]
    if "Indicative" in words:
        notes.append(
            "Indicative: fewer than 5 repeats, or the run was ended early. Another run of the same variant would "
            "differ too, by an amount that this one cannot tell: no winner is named."
        )
    if words - {"Indicative"}:
        notes.append(
            "Better, worse, higher, lower: no chance, at 5 % over all stages together (Welch's test of the repeats' "
            'logarithms, Holm). Inconclusive: not shown; a difference as large as the column "Would have shown" would '
            "have been found four times of five."
        )
    return notes


def _all(one: VariantComparison) -> list[MetricComparison]:
    overall = one.overall.metrics if one.overall else []
    return [*overall, *(metric for stage in one.stages for metric in stage.metrics)]


def _summary(found: Sequence[VariantComparison]) -> list[Table]:
    """A line per variant and stage: each metric's ratio, with its verdict where it is one."""
    rows = []
    for one in found:
        if one.overall is not None:
            stages = ", ".join(map(str, one.overall.stages))
            rows.append([one.variant, f"all valid ({stages})", *_cells(one.overall.metrics)])
        rows += [[one.variant, f"{row.stage} ({row.injectors})", *_cells(row.metrics)] for row in one.stages]
    return [table(["Variant", "Stage (injectors)", *NAMES.values()], rows, "Ratios to the baseline")]


def _cells(metrics: Sequence[MetricComparison]) -> list[str]:
    by_name = {metric.metric: metric for metric in metrics}
    return [_cell(by_name.get(name)) for name in NAMES]


def _cell(metric: MetricComparison | None) -> str:
    if metric is None:
        return DASH
    said = "" if metric.verdict == "Indicative" else f" {metric.verdict.lower()}"
    return ratio(metric.ratio_permille) + said


def _details(one: VariantComparison) -> Section:
    """How sure each figure is, of one variant."""
    tables = []
    if one.overall is not None:
        repeats = f"{one.overall.repeats} and {one.overall.baseline_repeats} repeats"
        tables.append(_table(one.overall.metrics, f"Stages valid in every variant, {repeats}"))
    tables += [
        _table(
            row.metrics,
            f"Stage {row.stage} ({row.injectors} injectors), {row.repeats} and {row.baseline_repeats} repeats",
        )
        for row in one.stages
    ]
    return Section(f"{one.variant} against {one.baseline}", tables=tuple(tables), folded=True)


def _table(metrics: Sequence[MetricComparison], title: str) -> Table:
    return table(HEADER, [_row(metric) for metric in metrics], title)


def _row(metric: MetricComparison) -> list[str]:
    low, high = metric.ratio_low_permille, metric.ratio_high_permille
    shown = metric.detectable_permille
    return [
        NAMES.get(metric.metric, metric.metric),
        ratio(metric.ratio_permille),
        DASH if low is None else f"{ratio(low)} to {ratio(high)}",
        _difference(metric),
        DASH if shown is None else f"{shown / 10:.1f} %",
        metric.verdict.lower(),
    ]


def _difference(metric: MetricComparison) -> str:
    if metric.difference_micros is not None:
        return f"{metric.difference_micros / 1000:+.2f} ms"
    if metric.difference_requests_per_second_milli is not None:
        return f"{metric.difference_requests_per_second_milli / 1000:+.1f}/s"
    return DASH if metric.difference is None else f"{metric.difference:+,}"
