from __future__ import annotations

import pytest

from loadtest.api.figures import StageResult
from loadtest.api.status import StageComparison, VariantResult
from loadtest.core.compare import compared_with_baseline, permille
from tests.unit.api.cases.base import merged
from tests.unit.core.builders import SMALL, latency, plan, stage, variants


def measured(index: int, p99: int, rate: int = 1000, valid: str = "True") -> StageResult:
    return stage(index, valid, latency_micros=latency(p99), requests_per_second_milli=rate)


def compare(found: list[VariantResult], baseline: str | None = None) -> dict[str, list[StageComparison] | None]:
    compared_with_baseline(plan(merged(SMALL, {"baseline": baseline} if baseline else {})), found)
    return {variant.name: variant.compared_with_baseline for variant in found}


def test_each_stage_is_compared_with_the_same_stage_of_the_baseline() -> None:
    seven = ("seven", 1, [measured(0, 1000, 2000), measured(1, 4000)])
    rows = compare(variants(seven, ("two", 2, [measured(0, 1014, 1000), measured(1, 2000)])))
    assert rows["seven"] is None, "the first variant is the baseline where none is named"
    assert rows["two"] is not None
    assert [row.p99_permille for row in rows["two"]] == [1014, 500]
    assert [row.requests_per_second_permille for row in rows["two"]] == [500, 1000]
    assert rows["two"][0].p50_permille == 1000


def test_the_baseline_is_the_variant_that_the_spec_names() -> None:
    rows = compare(variants(("seven", 1, [measured(0, 1000)]), ("two", 2, [measured(0, 2000)])), "two")
    assert rows["two"] is None
    assert rows["seven"] is not None
    assert rows["seven"][0].p99_permille == 500


def test_repeats_are_compared_by_their_mean() -> None:
    seven = [("seven", 1, [measured(0, 1000)]), ("seven", 3, [measured(0, 3000)])]
    rows = compare(variants(*seven, ("two", 2, [measured(0, 1000)])))
    assert rows["two"] is not None
    assert rows["two"][0].p99_permille == 500


def test_what_is_invalid_or_missing_is_compared_with_nothing() -> None:
    seven = ("seven", 1, [measured(0, 1000, valid="False"), measured(1, 1000)])
    rows = compare(variants(seven, ("two", 2, [measured(0, 2000), stage(1)])))
    assert rows["two"] is None
    assert compare(variants(("two", 2, [measured(0, 2000)]))) == {"two": None}


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [([100], [100], 1000), ([100], [101], 1010), ([3], [1], 333), ([100, 300], [100], 500), ([], [1], None),
     ([1], [], None), ([0], [5], None), ([5], [0], 0)],
)  # fmt: skip
def test_ratios_in_thousandths(base: list[int], other: list[int], expected: int | None) -> None:
    assert permille(base, other) == expected
