from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.report import charts, series, svg
from loadtest.report.document import Band, Chart, Line, Mark, table
from loadtest_injector.histogram import Histogram
from tests.unit.report import samples


def test_blocks_add_up_to_the_stage_and_the_last_one_may_be_shorter() -> None:
    result = samples.result()
    stage = result.variants[0].runs[0].stages[0]
    stored = result.record(stage)
    assert stored is not None
    blocks = list(series.blocks(stored))
    assert [(block.start, block.end) for block in blocks] == [(0, 10), (10, 20), (20, 30), (30, 35)]
    assert sum(block.requests for block in blocks) == stage.requests
    assert sum(block.failures for block in blocks) == stage.failures
    assert blocks[3].requests_per_second == blocks[3].requests / 5


def test_a_block_in_which_nothing_began_has_no_percentile() -> None:
    stored = {"record": {"window": {"durationMicros": 20_000_000}, "blocks": []}}
    assert [(block.requests, block.millis) for block in series.blocks(stored)] == [(0, {}), (0, {})]


def test_health_is_that_of_the_worst_worker_and_unknown_stays_unknown() -> None:
    workers = [
        {"cpuPercentMax": 50.0, "cpuPercentBlocks": [40.0, 50.0], "latenessMicrosP99": 900, "gaps": 0},
        {"cpuPercentMax": 60.0, "cpuPercentBlocks": [60.0], "latenessMicrosP99": None, "gaps": 2},
    ]
    found = series.health({"record": {"workers": workers}})
    assert (found.cpu_percent_max, found.cpu_percent_blocks, found.delay_micros_p99) == (60.0, (60.0, 50.0), 900)
    assert (found.clock_uncertainty_micros, found.gaps, found.workers) == (None, 2, 2)


def test_over_time_has_a_band_for_each_stage_and_no_mean_of_percentiles() -> None:
    result = samples.result()
    requests, users, times, redis = charts.over_time(result, result.variants[0].runs[0])
    assert [(band.start, band.end) for band in times.bands] == [(0, 35), (35, 70), (70, 105)]
    assert [line.label for line in times.lines] == ["p50", "p95", "p99"]
    assert [line.label for line in requests.lines] == ["requests/s", "failures/s"]
    assert {y for _, y in users.lines[0].points} == {2000, 3000, 4000}
    assert dict(redis.lines[0].points)[35.5] == 150
    stored = result.record(result.variants[0].runs[0].stages[1])
    assert stored is not None
    assert dict(times.lines[2].points)[40] == next(series.blocks(stored)).millis["99"]
    micros = [
        Histogram.from_json(each)
        for each in stored["record"]["blocks"]
        if each["block"] == 0 and each["outcome"] == "success"
    ]
    merged = Histogram()
    for each in micros:
        merged.merge(each)
    assert dict(times.lines[2].points)[40] == (merged.percentile("99") or 0) / 1000, "of one histogram of both methods"


def test_against_injectors_a_line_of_repeats_goes_through_the_pool_and_repeats_are_dots() -> None:
    result = samples.result(samples.spec(repeats=2))
    chart = charts.against_injectors(
        result, "p99", "ms", lambda figures: figures.latency_micros.p99 / 1000 if figures.latency_micros else None
    )
    assert chart is not None
    labels = [(line.label, line.dots, len(line.points)) for line in chart.lines]
    assert labels[:2] == [("two-threads", False, 3), ("two-threads, repeats", True, 6)]
    assert chart.table.rows[0][2].count(" / ") == 1


def test_the_percentile_curve_ends_where_the_requests_do() -> None:
    result = samples.result()
    chart = charts.percentile_curve(result, 0, "stage 0")
    assert chart is not None
    requests = result.variants[0].runs[0].stages[0].requests or 0
    assert max(x for x, _ in chart.lines[0].points) <= requests
    assert [row[0] for row in chart.table.rows][-1] == "99.7 %"


def test_a_curve_is_left_out_where_a_record_is_missing() -> None:
    result = samples.result()
    missing = dict(result.records)
    del missing[next(iter(missing))]
    chart = charts.percentile_curve(type(result)("x", "y", result.spec, result.status, missing), None, "all")
    assert chart is not None
    assert [line.label for line in chart.lines] == ["three-threads", "seven-threads"]


def chart_of(*lines: Line, **changes: object) -> Chart:
    empty = table(["x"], [])
    return Chart("<t>", "x", "y", lines, empty, **changes)  # type: ignore[arg-type] # any field of a chart


@pytest.mark.parametrize(
    "points",
    [(), ((0.0, 0.0),), ((5.0, None),), ((1.0, 2.0), (2.0, None), (3.0, 1.0)), ((1.0, 1e9), (2.0, 1e-9))],
)
def test_any_points_make_a_picture_of_finite_numbers(points: tuple[tuple[float, float | None], ...]) -> None:
    text = svg.draw(chart_of(Line("a & b", points)), "c1")
    assert "nan" not in text
    assert "inf" not in text
    assert "&lt;t&gt;" in text


def test_a_gap_is_not_drawn_over() -> None:
    text = svg.draw(chart_of(Line("a", ((0, 1), (1, 1), (2, None), (3, 1), (4, 1)))), "c1")
    assert text.count("<polyline") == 2


def test_a_line_is_not_drawn_from_one_stage_to_the_next() -> None:
    points = ((5.0, 1.0), (15.0, 1.0), (25.0, 2.0), (35.0, 2.0))
    bands = (Band(0, 20, "a"), Band(20, 40, "b"))
    assert svg.draw(chart_of(Line("a", points), bands=bands), "c1").count("<polyline") == 2
    assert svg.draw(chart_of(Line("a", points)), "c1").count("<polyline") == 1


def test_bands_and_marks_are_labelled() -> None:
    text = svg.draw(
        chart_of(
            Line("a", ((0, 1), (10, 2))),
            bands=(Band(0, 5, "10 inj."), Band(5, 10, "20 inj.")),
            marks=(Mark(7, "knee"), Mark(1.5, "objective", level=True)),
        ),
        "c1",
    )
    for label in ("10 inj.", "20 inj.", "knee", "objective"):
        assert f">{label}</text>" in text


@given(st.floats(1e-6, 1e9), st.floats(1.001, 1e9), st.booleans())
def test_ticks_lie_on_the_axis_and_are_not_many(low: float, times: float, log: bool) -> None:
    axis = svg.Axis(low, low * times, 0, 100, log)
    ticks = axis.ticks()
    assert len(ticks) <= 25
    assert all(-0.01 <= axis.at(tick) <= 100.01 for tick in ticks)


@given(st.lists(st.tuples(st.floats(0.001, 1e6), st.floats(0.001, 1e6)), min_size=1, max_size=50))
def test_every_point_is_inside_the_picture(points: list[tuple[float, float]]) -> None:
    text = svg.draw(chart_of(Line("a", tuple(sorted(points)), dots=True)), "c1")
    for x, y in re.findall(r'<circle cx="([\d.-]+)" cy="([\d.-]+)"', text):
        assert 0 <= float(x) <= svg.WIDTH
        assert 0 <= float(y) <= svg.HEIGHT
