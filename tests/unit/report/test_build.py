from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadtest.api.capacity import VariantCapacity
from loadtest.api.measured import PodsFigures, RedisFigures
from loadtest.api.status import ObjectiveResult
from loadtest.core.capacity import capacities
from loadtest.core.compare import comparisons
from loadtest.core.expand import expand
from loadtest.report import build, markdown, tables
from loadtest.report.document import Document, Mark, Section, Table
from loadtest.report.result import Result
from loadtest.report.settings import naming
from loadtest.results.tables import count, millis
from tests.unit.report import samples


@pytest.fixture(scope="module")
def result() -> Result:
    return samples.result()


@pytest.fixture(scope="module")
def document(result: Result) -> Document:
    return build.document(result)


def section(document: Document, title: str) -> Section:
    return next(each for each in document.walk() if each.title == title)


def only(document: Document, title: str) -> Table:
    (found,) = section(document, title).tables
    return found


def test_the_profile_has_the_options_of_past_reports(document: Document) -> None:
    table = only(document, "Benchmark profile")
    rows = dict(table.rows)
    assert table.header == ("Option", "Value")
    assert rows["Requests file"] == "census_household_gb_eng.json"
    assert rows["Run time"] == "35s x 3"
    assert rows["Clients (per load injector)"] == "200"
    assert rows["Hatch rate (per load injector)"] == "200"
    assert (rows["User wait time minimum"], rows["User wait time maximum"]) == ("1s", "2s")
    assert rows["Number of workers"] == "7"
    assert rows["Number of threads"] == "2, 3, 7 (baseline)"
    assert rows["Questionnaire Runner min/max pods"] == "50"


def test_the_profile_of_a_locustfile_names_it() -> None:
    scenario = {"locustfile": {"configMap": {"name": "users", "key": "shop.py"}}}
    table = only(build.document(samples.result(samples.spec(scenario=scenario))), "Benchmark profile")
    assert table.rows[0] == ("Locustfile", "shop.py")


HEADERS = {
    "Results": [
        ("Number of threads", "50th", "90th", "95th", "99th", "99.9th", "Total Requests", "Redis Connections (peak)"),
        ("Variant", "Request Count", "Failure Count", "Median Response Time", "Average Response Time",
         "Min Response Time", "Max Response Time", "Average Content Size", "Requests/s"),
        ("Variant", "50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.90%", "99.99%", "100%"),
        ("Metric", "2 threads", "3 threads", "7 threads"),
    ],
    "By the old definition": [
        ("Metric", "2 threads", "3 threads", "7 threads"),
        ("Variant", "GETs Response Time", "POSTs Response Time", "All requests Response Time"),
        ("Number of threads", "50th", "90th", "95th", "99th", "99.9th", "Total Requests", "Redis Connections (peak)"),
    ],
    "99th percentile timings per load stage": [("Number of injectors", "2 threads", "3 threads", "7 threads")],
    "2 threads breakdown": [
        ("Load injector instances", "50th", "90th", "95th", "99th", "99.9th", "GETs 99th", "POSTs 99th",
         "Total Requests"),
    ],
    "2 threads breakdown, old definition": [
        ("Load injector instances", "50th", "90th", "95th", "99th", "99.9th", "GETs Average", "POSTs Average",
         "Total Requests"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("title", HEADERS)
def test_tables_have_the_columns_of_past_reports(document: Document, title: str) -> None:
    assert [table.header for table in section(document, title).tables] == HEADERS[title]


def test_the_cells_are_the_figures_of_the_status(result: Result, document: Document) -> None:
    for number, (variant, threads) in enumerate(zip(result.variants, ("2", "3", "7"), strict=True)):
        assert variant.pooled is not None
        exact, old = variant.pooled.latency_micros, variant.pooled.old_definition
        assert exact is not None
        assert old is not None
        times = [millis(getattr(exact, field)) for field in ("p50", "p90", "p95", "p99", "p999")]
        row = section(document, "Results").tables[0].rows[number]
        assert variant.pooled.redis is not None
        peak = count(variant.pooled.redis.connections_peak)
        assert row == (threads, *times, count(variant.pooled.requests), peak)
        for stage, cells in zip(
            variant.runs[0].stages, only(document, f"{threads} threads breakdown, old definition").rows, strict=True
        ):
            assert stage.old_definition is not None
            assert cells[4] == millis(stage.old_definition.p99_micros)
            assert cells[6:8] == (
                millis(stage.old_definition.gets_p99_micros),
                millis(stage.old_definition.posts_p99_micros),
            )
        for stage, cells in zip(
            variant.runs[0].stages, only(document, "99th percentile timings per load stage").rows, strict=True
        ):
            assert stage.latency_micros is not None
            assert (cells[0], cells[1 + number]) == (str(stage.injectors), millis(stage.latency_micros.p99))


def test_repeats_of_a_stage_are_pooled_from_their_records_and_never_averaged() -> None:
    result = samples.result(samples.spec(repeats=2))
    variant = result.variants[0]
    (together,) = tables.stage_figures(result, variant, 0)
    apart = tables.stage_figures(Result("x", "y", result.spec, result.status, {}), variant, 0)
    assert len(apart) == 2
    assert together.requests == sum(each.requests or 0 for each in apart)
    without = tables.per_stage(Result("x", "y", result.spec, result.status, {}), naming(result), tables.EXACT)
    assert without.rows[0][1] == " / ".join(millis(each.latency_micros.p99) for each in apart if each.latency_micros)


def test_variants_that_differ_in_more_than_one_setting_keep_their_names() -> None:
    mixed = samples.spec(
        variants=[
            {"name": "two-threads", "runner": {"workerClass": "gthread", "threads": 2}},
            {"name": "seven-threads", "runner": {"workerClass": "gevent", "threads": 7}},
        ]
    )
    names = naming(samples.result(mixed))
    assert names.heading == "Variant"
    assert names.titles == {"two-threads": "two-threads", "seven-threads": "seven-threads"}


def test_an_invalid_stage_is_marked_in_its_row_and_told_with_its_reason() -> None:
    result = samples.result()
    stage = result.variants[0].runs[0].stages[1]
    stage.valid, stage.invalid_reason, stage.invalid_message = "False", "WorkerLost", "worker w1 was lost"
    document = build.document(result)
    assert [row[0] for row in only(document, "2 threads breakdown").rows] == ["10", "15, INVALID", "20"]
    assert only(document, "99th percentile timings per load stage").rows[1][1] == "-"
    (told,) = section(document, "Failures and invalid stages").bullets
    assert told == "two-threads, stage 1 (15 injectors) is INVALID: WorkerLost: worker w1 was lost"


def test_what_was_measured_beside_the_load_is_told_for_each_variant(document: Document) -> None:
    (table,) = section(document, "Environment observations").tables
    assert table.header == ("Metric", "2 threads", "3 threads", "7 threads")
    assert table.rows == (
        ("Redis connected clients", "234", "234", "234"),
        ("Redis CPU", "0.50%", "0.50%", "0.50%"),
    )
    titles = [chart.title for chart in section(document, "Environment observations").charts]
    assert titles == ["Redis connections against injectors", "Redis CPU against injectors"]


def test_the_pods_of_the_target_are_told_as_past_reports_did() -> None:
    result = samples.result()
    for cpu, variant in zip((14_000, 16_000, 16_000), result.variants, strict=True):
        assert variant.pooled is not None
        variant.pooled.requests_per_second_milli = 640_000
        for figures in (variant.pooled, *variant.runs[0].stages):
            figures.runner = PodsFigures(name="pods", pods=10, cpu_millicores=cpu, cpu_millicores_available=30_000)
    result.variants[2].pooled.runner = PodsFigures(name="pods", unknown_reason="PointsMissing")  # type: ignore[union-attr] # seen above
    shown = section(build.document(result), "Environment observations")
    rows = {row[0]: row[1:] for row in shown.tables[0].rows}
    assert rows["Runner cores used (of available)"] == ("14.00 of 30.00", "16.00 of 30.00", "unknown")
    assert rows["Requests/s for each core used"] == ("45.7", "40.0", "unknown")
    assert shown.bullets[0].startswith("two-threads: 10 instances (30 cores), ~")
    assert "Requests per second for each core used" in [chart.title for chart in shown.charts]
    result.variants[2].pooled.runner = result.variants[1].pooled.runner  # type: ignore[union-attr] # as above
    rows = {row[0]: row[1:] for row in section(build.document(result), "Environment observations").tables[0].rows}
    assert rows["Runner cores used (of 30)"] == ("14.00", "16.00", "16.00")


def test_a_measurement_that_did_not_succeed_is_unknown_and_says_why_and_is_never_zero() -> None:
    result = samples.result()
    unknown = {"name": "cache", "unknown_reason": "SourceUnavailable", "unknown_message": "refused"}
    for figures in (result.variants[0].pooled, *result.variants[0].runs[0].stages):
        assert figures is not None
        figures.redis = RedisFigures(**unknown)
    shown = section(build.document(result), "Environment observations")
    assert shown.tables[0].rows[0] == ("Redis connected clients", "unknown", "234", "234")
    assert shown.tables[0].rows[1] == ("Redis CPU", "unknown", "0.50%", "0.50%")
    assert "two-threads, 10 injectors: cache is unknown: SourceUnavailable: refused" in shown.bullets


def test_objectives_are_told_with_their_reason_and_what_was_skipped() -> None:
    asked = {"name": "p99", "latency": {"percentile": "99", "below": "200ms"}, "onMiss": "StopVariant"}
    result = samples.result(samples.spec(objectives=[asked]))
    result.status.objectives = [
        ObjectiveResult(
            name="p99", on_miss="StopVariant", met="False", stages=9, missed_stages=3, unknown_stages=0, message="why"
        )
    ]
    result.variants[0].runs[0].stopped_by, result.variants[0].runs[0].skipped_stages = "p99", [2]
    shown = section(build.document(result), "Objectives")
    assert shown.tables[0].rows == (("p99", "p99 below 200ms", "StopVariant", "MISSED", "6 of 9", "why"),)
    assert shown.bullets == ("two-threads, repeat 1: stages 2 were skipped, because p99 was missed",)


def test_percentiles_of_too_few_requests_have_no_interval(document: Document) -> None:
    (table,) = section(document, "How sure the percentiles are").tables
    assert table.rows[0][:3] == ("two-threads", "1", "10")
    assert " to " in table.rows[0][3]
    assert table.rows[0][6] == "n/a"


def test_markdown_has_every_table_and_no_heading_without_content(document: Document) -> None:
    text = markdown.text(document)
    for each in document.walk():
        if each.pictures_only:
            assert f"# {each.title}\n" not in text
        for table in each.tables:
            header = next(line for line in text.splitlines() if line.startswith(f"| {table.header[0]}"))
            assert header.count("|") >= 2
    assert text.count("\n| ---") == sum(len(each.tables) for each in document.walk())


def test_templates_are_part_of_the_package() -> None:
    declared = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert '"loadtest.report" = ["templates/*"]' in declared


def test_without_a_comparison_there_is_no_section_of_it(document: Document) -> None:
    assert not any(each.title.startswith("Compared") for each in document.walk())


def test_the_comparison_says_what_differs_and_that_few_repeats_name_no_winner() -> None:
    made = samples.result()
    plan = expand(samples.RUN, samples.spec())
    made.status.comparison = comparisons(plan, made.variants, {}, complete=True)
    found = section(build.document(made), "Compared with seven-threads")
    assert "no winner is named" in " ".join(found.text)
    (ratios,) = found.tables
    assert ratios.header[:3] == ("Variant", "Stage (injectors)", "50th")
    assert [row[:2] for row in ratios.rows] == [
        (name, stage) for name in ("two-threads", "three-threads") for stage in ("0 (10)", "1 (15)", "2 (20)")
    ]
    assert all(float(row[2]) > 0 for row in ratios.rows)
    details = section(build.document(made), "two-threads against seven-threads").tables[0]
    assert details.title == "Stage 0 (10 injectors), 1 and 1 repeats"
    assert {row[-1] for row in details.rows} == {"indicative"}
    assert {row[2] for row in details.rows} == {"-"}


def test_a_claim_is_shown_with_how_sure_it_is() -> None:
    made = samples.result(samples.spec(repeats=5))
    plan = expand(samples.RUN, samples.spec(repeats=5))
    made.status.comparison = comparisons(plan, made.variants, {}, complete=True)
    found = section(build.document(made), "Compared with seven-threads")
    assert "Welch" in " ".join(found.text)
    row = section(build.document(made), "two-threads against seven-threads").tables[0].rows[0]
    assert row[0] == "50th"
    assert " to " in row[2]
    assert row[4].endswith(" %")
    assert row[5] in {"better", "inconclusive"}


def test_the_capacity_is_the_knee_first_and_the_law_beside_it(document: Document) -> None:
    assert not any(each.title == "Capacity" for each in document.walk()), "nothing was evaluated"
    made = samples.result()
    made.status.capacity = capacities(made.variants)
    (knees,) = section(build.document(made), "Capacity").tables
    assert [row[0] for row in knees.rows] == ["two-threads", "three-threads", "seven-threads"]
    assert {row[-1] for row in knees.rows} == {"20"}
    loads = [{"injectors": count, "duration": "35s"} for count in (10, 15, 20, 25)]
    made = samples.result(samples.spec(load={"stages": loads}))
    made.status.capacity = capacities(made.variants)
    _, laws = section(build.document(made), "Capacity").tables
    assert laws.header[1] == "Contention"
    assert all(" to " in row[2] for row in laws.rows)


def test_the_knee_and_the_bounds_of_objectives_are_marked_where_they_belong() -> None:
    asked = [{"name": "fast", "latency": {"percentile": "95", "below": "150ms"}}]
    result = samples.result(samples.spec(objectives=asked))
    result.status.capacity = [VariantCapacity(variant="two-threads", largest_injectors=20, knee_injectors=15)]
    marks = {chart.title: chart.marks for chart in section(build.document(result), "Results").charts}
    assert marks == {
        "50th percentile against injectors": (),
        "95th percentile against injectors": (Mark(150, "objective fast", level=True),),
        "99th percentile against injectors": (),
        "Throughput against injectors": (Mark(15, "knee of two-threads"),),
    }


def test_failures_are_told_by_kind() -> None:
    result = samples.result()
    kinds = [variant.pooled.failure_kinds for variant in result.variants if variant.pooled]
    (table,) = section(build.document(result), "Failures and invalid stages").tables
    assert [row[:3] for row in table.rows] == [
        (variant.name, "reset", str((found or {})["reset"]))
        for variant, found in zip(result.variants, kinds, strict=True)
    ]


def test_brief_is_what_fits_on_a_screen_and_changes_no_figure(document: Document) -> None:
    short = build.brief(document)
    titles = [section.title for section in short.walk()]
    assert "Results" in titles
    assert "99th percentile timings per load stage" in titles
    assert not [title for title in titles if title in build.LONG or title.endswith(" breakdown")]
    assert len(markdown.text(short)) < len(markdown.text(document)) / 2
    whole = {table for section in document.walk() for table in section.tables}
    assert {table for section in short.walk() for table in section.tables} <= whole


def investigation(users: int, injectors: int, **variants: dict[str, Any]) -> Document:
    """A report of one stage of 20 s with these variants."""
    load = {
        "stages": [{"injectors": injectors, "duration": "20s"}],
        "usersPerInjector": users,
        "spawnRatePerInjector": users,
    }
    named = [{"name": name, "runner": runner} for name, runner in variants.items()]
    return build.document(samples.result(samples.spec(load=load, variants=named, baseline="baseline"), seconds=20))


def test_an_investigation_of_worker_class_and_transport_has_the_tables_of_the_one_by_hand() -> None:
    document = investigation(
        64,
        1,
        baseline={"workerClass": "gevent", "datastoreTransport": "http"},
        gthread={"workerClass": "gthread", "datastoreTransport": "http"},
        grpc={"workerClass": "gthread", "datastoreTransport": "grpc"},
    )
    rows = dict(only(document, "Benchmark profile").rows)
    assert (rows["Run time"], rows["Clients"], rows["Hatch rate"]) == ("20s", "64", "64")
    assert rows["Worker class"] == "gevent (baseline), gthread"
    assert rows["Datastore transport"] == "http (baseline), grpc"
    table = section(document, "By the old definition").tables[0]
    assert table.header == ("Metric", "baseline", "gthread", "grpc")
    assert [row[0] for row in table.rows[:3]] == ["Questionnaire GETs", "Questionnaire POSTs", "All requests"]
    assert all(cell.endswith("ms") for row in table.rows[:3] for cell in row[1:])


def test_an_investigation_of_the_session_backend_has_the_tables_of_the_one_by_hand() -> None:
    document = investigation(
        200, 2, baseline={"sessionBackend": "redis"}, investigation={"sessionBackend": "datastore"}
    )
    rows = dict(only(document, "Benchmark profile").rows)
    assert (rows["Clients (per load injector)"], rows["Load injectors"]) == ("200", "2")
    table = section(document, "By the old definition").tables[0]
    assert table.header == ("Metric", "redis", "datastore")
    assert [row[0] for row in table.rows] == [
        "Questionnaire GETs", "Questionnaire POSTs", "All requests", "Total requests"
    ]  # fmt: skip
    shown = section(document, "Environment observations")
    assert [row[0] for row in shown.tables[0].rows] == ["Redis connected clients", "Redis CPU"]
    assert "launches and ~" in shown.bullets[0]
    assert "submissions (across 0.333 mins)" in shown.bullets[0]


class Counted(dict[str, Any]):
    """Records that know how often each was read."""

    def __init__(self, records: Any) -> None:
        super().__init__(records)
        self.read: Counter[str] = Counter()

    def __getitem__(self, name: str) -> Any:
        self.read[name] += 1
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


def test_each_record_is_read_once_for_all_pictures_because_they_are_large() -> None:
    plain = samples.result()
    records = Counted(plain.records)
    build.document(replace(plain, records=records))
    assert set(records.read.values()) == {1}
    assert records.read.keys() == plain.records.keys()
