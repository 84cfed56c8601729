"""The decision that the comparison with the baseline bears, and no more than it bears."""

from __future__ import annotations

from collections.abc import Sequence

from loadtest.api.comparison import MetricComparison, VariantComparison
from loadtest.api.conditions import ConditionType, find_condition
from loadtest.api.status import TERMINAL, Phase, Verdict
from loadtest.report.compared import NAMES
from loadtest.report.document import Section
from loadtest.report.result import Result

_DECISIVE = 5
"""Repeats from which anything is claimed (docs/decisions/0017)."""


def decision(result: Result) -> Section | None:
    """What to do, first, and why, variant by variant; None while the run is on, or where it has a single variant."""
    if result.status.phase not in TERMINAL:
        return None
    if (unusable := _unusable(result)) is not None:
        return Section("Decision", text=(unusable,))
    found = result.status.comparison or []
    if not found:
        return None
    return Section("Decision", text=(_proposal(found),), bullets=tuple(_reason(one) for one in found))


def _unusable(result: Result) -> str | None:
    """Why nothing can be decided, where the run did not go as it should have."""
    verdict = result.status.summary.verdict if result.status.summary else None
    ready = find_condition(result.status.conditions, ConditionType.READY)
    why = f": {ready.message.rstrip('.')}" if ready is not None and ready.message else ""
    if result.status.phase is not Phase.SUCCEEDED:
        return f"Nothing can be decided from this run: it ended {result.status.phase.value}{why}."
    if verdict is Verdict.INCONCLUSIVE:
        return f"Nothing can be decided from this run: it is inconclusive{why}."
    return None


def _proposal(found: Sequence[VariantComparison]) -> str:
    baseline = found[0].baseline
    winners = [one.variant for one in found if _words(one, "Better") and not _words(one, "Worse")]
    if len(winners) == 1:
        return f"Proposed: change from {baseline} to {winners[0]}."
    if winners:
        return (
            f"Proposed: change from {baseline} to one of {', '.join(winners)}. Each is better than the baseline; which "
            "of them is best was not tested: make one of them the baseline of another run."
        )
    if any(_words(one, "Indicative") for one in found):
        return (
            f"Proposed: no decision yet. Fewer than {_DECISIVE} repeats cannot tell a difference from chance: run "
            f"again with repeats: {_DECISIVE} or more, and order: Interleaved."
        )
    return f"Proposed: keep {baseline}. No other variant is shown to be better."


def _metrics(one: VariantComparison) -> list[MetricComparison]:
    """The response times and the throughput of all common stages, or of the last one where there is no whole."""
    place = one.overall or (one.stages[-1] if one.stages else None)
    return [metric for metric in (place.metrics if place else ()) if metric.metric in NAMES]


def _words(one: VariantComparison, verdict: str) -> list[MetricComparison]:
    return [metric for metric in _metrics(one) if metric.verdict == verdict]


def _reason(one: VariantComparison) -> str:
    where = "over all common stages" if one.overall is not None else "at the last stage that both have"
    said = [
        f"{word} at {', '.join(_change(metric) for metric in metrics)}"
        for word, metrics in (
            ("better", _words(one, "Better")),
            ("worse", _words(one, "Worse")),
            ("equivalent", _words(one, "Equivalent")),
            ("not shown to differ", _words(one, "Inconclusive")),
            ("no claim, only indicative,", _words(one, "Indicative")),
        )
        if metrics
    ]
    return f"{one.variant} against {one.baseline}, {where}: {'; '.join(said) or 'nothing to compare'}"


def _change(metric: MetricComparison) -> str:
    """The change with its interval, where there is one; of what was not shown, what would have been."""
    change = f"{NAMES[metric.metric]} {(metric.ratio_permille - 1000) / 10:+.1f} %"
    if metric.verdict == "Inconclusive" and metric.detectable_permille is not None:
        return f"{change} (a difference of {metric.detectable_permille / 10:.1f} % would have been found)"
    if metric.ratio_low_permille is None or metric.ratio_high_permille is None:
        return change
    low, high = ((end - 1000) / 10 for end in (metric.ratio_low_permille, metric.ratio_high_permille))
    return f"{change} ({low:+.1f} to {high:+.1f} %)"
