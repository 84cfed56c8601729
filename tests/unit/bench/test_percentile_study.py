from __future__ import annotations

import pytest

from loadtest_injector.histogram import Histogram
from tests.bench.percentiles import DISTRIBUTIONS, PERCENTS, WORKERS, Row, compare

VALUES = 20_000


def worst(rows: list[Row], way: str) -> float:
    return max(row.error_percent(getattr(row, way)) for row in rows)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_merged_percentiles_are_a_thousandth_off_at_most(distribution: str, workers: int):
    parts = DISTRIBUTIONS[distribution](VALUES, workers, 7)
    assert len(parts) == workers
    assert sum(map(len, parts)) == VALUES
    rows = compare(parts)
    assert [row.percent for row in rows] == list(PERCENTS)
    assert worst(rows, "ours") <= 0.1
    assert worst(rows, "locust") > worst(rows, "ours")


@pytest.mark.parametrize("workers", [30, 250])
def test_the_mean_of_percentiles_is_far_off_where_some_workers_are_slow(workers: int):
    rows = compare(DISTRIBUTIONS["bimodal"](VALUES, workers, 7))
    assert worst(rows, "mean") > 50


def test_the_exact_percentile_is_the_nearest_rank_of_all_values_together():
    rows = {row.percent: row for row in compare([[1, 2, 3, 4], [5, 6, 7, 8, 9, 10]])}
    assert [rows[percent].exact for percent in ("50", "90", "99.99")] == [5, 9, 10]
    assert [rows[percent].ours for percent in ("50", "90", "99.99")] == [5, 9, 10]


def test_parts_merge_to_the_same_in_any_order():
    parts = DISTRIBUTIONS["heavy-tailed"](5_000, 30, 7)
    merged = []
    for order in (parts, parts[::-1], parts[15:] + parts[:15]):
        whole = Histogram()
        for part in order:
            histogram = Histogram()
            for value in part:
                histogram.add(value)
            whole.merge(histogram)
        merged.append(whole.to_json())
    assert merged[0] == merged[1] == merged[2]
