from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.comparison import BaselineRef
from loadtest.api.figures import StageResult
from loadtest.api.status import LoadTestStatus
from loadtest.core.baseline import UnusableBaseline, as_variant, copied
from loadtest.core.compare import comparisons
from tests.unit.core.builders import SMALL, latency, plan, running, stage, variants

PLAN = plan(SMALL)
"""Stages of 1 and 2 injectors, 200 and 400 users, 10 s each."""


def measured(index: int, p99: int = 1000, **changes: Any) -> StageResult:
    figures = {
        "injectors": index + 1, "users": 200 * (index + 1), "duration_millis": 10_000, "requests": 100_000,
        "failures": 0, "latency_micros": latency(p99), "requests_per_second_milli": 1000,
    }  # fmt: skip
    return stage(index, **(figures | changes))


def earlier(*stages: StageResult, name: str = "old") -> LoadTestStatus:
    return running(run_id="fedcba9876543210", variants=variants((name, 1, list(stages))))


def copy(status: LoadTestStatus | None, variant: str | None = None) -> Any:
    return copied(PLAN, BaselineRef(name="earlier", variant=variant), status)


def test_the_stages_of_the_same_load_are_copied_in_short() -> None:
    odd = [measured(1, injectors=3), measured(2)]
    found = copy(earlier(measured(0, result_ref=None, average_content_bytes=9763), *odd))
    assert (found.load_test, found.variant, found.run_id) == ("earlier", "old", "fedcba9876543210")
    (run,) = found.runs
    assert [entry.index for entry in run.stages] == [0]
    assert run.stages[0].latency_micros == latency(1000)
    (stage_of_it,) = as_variant(PLAN, found).runs[0].stages
    assert (stage_of_it.injectors, stage_of_it.users, stage_of_it.valid) == (1, 200, "True")


@pytest.mark.parametrize("change", [{"users": 7}, {"duration_millis": 9_999}, {"duration_millis": None}])
def test_another_load_is_not_compared(change: dict[str, Any]) -> None:
    with pytest.raises(UnusableBaseline, match="make the stages alike"):
        copy(earlier(measured(0, **change)))


def test_an_invalid_stage_is_not_compared() -> None:
    with pytest.raises(UnusableBaseline, match="no valid stage"):
        copy(earlier(stage(0, "False", injectors=1, duration_millis=10_000)))


@pytest.mark.parametrize(
    ("status", "variant", "says"),
    [
        (None, None, "is not in this namespace, or its run has not ended"),
        (LoadTestStatus(), None, "is not in this namespace, or its run has not ended"),
        (running(), None, "has no variant with results"),
        (earlier(measured(0)), "new", "has no variant new"),
        (running(variants=variants(("a", 1, []), ("b", 2, []))), None, "has the variants a, b: name one"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_refused_with_the_remedy(
    status: LoadTestStatus | None, variant: str | None, says: str
) -> None:
    with pytest.raises(UnusableBaseline, match=says):
        copy(status, variant)


def test_every_variant_is_compared_with_the_earlier_one_stage_by_stage() -> None:
    base = copy(earlier(measured(0), measured(1)))
    assert as_variant(PLAN, base).name == "earlier/old"
    found = comparisons(
        PLAN,
        variants(("seven", 1, [measured(0, 2000), measured(1)]), ("two", 2, [measured(0, 500)])),
        {},
        complete=True,
        earlier=base,
    )
    assert [(one.variant, one.baseline, one.overall) for one in found] == [
        ("seven", "earlier/old", None), ("two", "earlier/old", None),
    ]  # fmt: skip
    ratios = [
        [row.ratio_permille for entry in one.stages for row in entry.metrics if row.metric == "p99"] for one in found
    ]
    assert ratios == [[2000, 1000], [500]]
