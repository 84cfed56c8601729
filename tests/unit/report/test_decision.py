from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.comparison import MetricComparison, OverallComparison, VariantComparison
from loadtest.api.status import Phase, Summary, Verdict
from loadtest.report.decision import decision
from loadtest.report.document import Section
from tests.unit.report import samples


def metric(verdict: str, name: str = "p99", ratio: int = 900, **changes: Any) -> MetricComparison:
    return MetricComparison.model_validate({"metric": name, "verdict": verdict, "ratio_permille": ratio} | changes)


def one(variant: str, *metrics: MetricComparison) -> VariantComparison:
    overall = OverallComparison(stages=[0], repeats=5, baseline_repeats=5, metrics=list(metrics))
    return VariantComparison(variant=variant, baseline="seven", overall=overall, stages=[])


def decided(
    *found: VariantComparison, phase: Phase = Phase.SUCCEEDED, verdict: Verdict = Verdict.PASS
) -> Section | None:
    result = samples.result(records=False)
    result.status.phase, result.status.summary = phase, Summary(verdict=verdict)
    result.status.comparison = list(found)
    return decision(result)


@pytest.mark.parametrize(
    ("found", "proposal"),
    [
        ([one("two", metric("Better")), one("three", metric("Inconclusive"))], "change from seven to two."),
        ([one("two", metric("Better"), metric("Inconclusive", "p50"))], "change from seven to two."),
        ([one("two", metric("Better")), one("three", metric("Better"))], "change from seven to one of two, three."),
        ([one("two", metric("Better"), metric("Worse", "p50"))], "keep seven."),
        ([one("two", metric("Worse"))], "keep seven."),
        ([one("two", metric("Equivalent"))], "keep seven."),
        ([one("two", metric("Indicative", ratio=500))], "no decision yet."),
        ([one("two", metric("Higher", "redis.connectionsPeak"))], "keep seven."),
    ],
)
def test_only_a_variant_that_is_better_somewhere_and_worse_nowhere_is_proposed(
    found: list[VariantComparison], proposal: str
) -> None:
    section = decided(*found)
    assert section is not None
    assert section.text[0].startswith(f"Proposed: {proposal}")
    assert len(section.bullets) == len(found)


def test_the_reason_gives_change_and_interval_and_what_would_have_been_found() -> None:
    better = metric("Better", ratio=948, ratio_low_permille=930, ratio_high_permille=966)
    section = decided(one("two", better, metric("Inconclusive", "p50", 1004, detectable_permille=21)))
    assert section is not None
    assert section.bullets == (
        (
            "two against seven, over all common stages: better at 99th -5.2 % (-7.0 to -3.4 %); not shown to differ at "
            "50th +0.4 % (a difference of 2.1 % would have been found)"
        ),
    )


@pytest.mark.parametrize(
    ("phase", "verdict", "text"),
    [
        (Phase.ABORTED, Verdict.PASS, "Nothing can be decided from this run: it ended Aborted."),
        (Phase.FAILED, Verdict.PASS, "Nothing can be decided from this run: it ended Failed."),
        (Phase.SUCCEEDED, Verdict.INCONCLUSIVE, "Nothing can be decided from this run: it is inconclusive."),
    ],
)
def test_a_run_that_did_not_go_well_decides_nothing_whatever_its_figures(
    phase: Phase, verdict: Verdict, text: str
) -> None:
    section = decided(one("two", metric("Better")), phase=phase, verdict=verdict)
    assert section is not None
    assert (section.text, section.bullets) == ((text,), ())


def test_there_is_no_decision_while_a_run_is_on_nor_about_one_variant() -> None:
    assert decided(one("two", metric("Better")), phase=Phase.RUNNING) is None
    assert decided() is None
