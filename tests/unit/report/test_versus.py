from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from loadtest.report import markdown, versus
from loadtest.report.result import Result
from loadtest.report.versus import NotComparable, compare, old_document, old_of
from loadtest.results.locust_csv import combine, parse
from tests.unit.report import samples


def named(name: str, **changes: Any) -> Result:
    return replace(samples.result(samples.spec(**changes)), name=name)


def test_variants_of_the_same_name_are_compared_over_all_stages_that_make_the_same_load() -> None:
    stages = [{"injectors": count, "duration": "35s"} for count in (10, 16, 20)]
    made = compare(named("before"), named("after", load={"stages": stages}))
    assert [(one.baseline, one.variant) for one in made.found] == [
        (f"before: {name}", f"after: {name}") for name in ("two-threads", "three-threads", "seven-threads")
    ]
    for one in made.found:
        assert [stage.stage for stage in one.stages] == [0, 2], "the second stage has other injectors"
        assert one.overall is not None
        assert one.overall.stages == [0, 2]


def test_the_same_result_twice_shows_no_difference_and_names_no_winner() -> None:
    made = compare(named("same"), named("same"))
    for one in made.found:
        assert one.baseline.startswith("same (first): ")
        for stage in one.stages:
            assert {metric.ratio_permille for metric in stage.metrics} == {1000}
            assert {metric.verdict for metric in stage.metrics} == {"Indicative"}


def test_variants_of_other_names_belong_together_where_that_is_said() -> None:
    (one,) = compare(named("a"), named("b"), [("two-threads", "seven-threads")]).found
    assert (one.baseline, one.variant) == ("a: two-threads", "b: seven-threads")
    assert one.overall is not None
    by_name = {metric.metric: metric for metric in one.overall.metrics}
    assert by_name["p50"].ratio_permille > 1000


def test_without_records_stages_are_compared_and_the_whole_is_not() -> None:
    made = compare(replace(named("a"), records={}), named("b"))
    assert [one.overall for one in made.found] == [None, None, None]
    assert all(one.stages for one in made.found)


def test_a_difference_in_the_load_is_told() -> None:
    load = samples.spec().load.to_wire() | {"waitTime": {"min": "0s", "max": "2s"}}
    notes = compare(named("a"), named("b", load=load)).notes
    assert versus.NOT_IN_TURN in notes
    assert any("load.waitTime is {'min': '1s', 'max': '2s'} in the first" in note for note in notes)


@pytest.mark.parametrize(
    ("changes", "pairs", "problem"),
    [
        ({}, [("two-threads", "nine-threads")], "b has no variant 'nine-threads': it has two-threads"),
        ({"load": {"stages": [{"injectors": 1, "duration": "35s"}]}}, [], "have no stage in common"),
    ],
)
def test_what_has_nothing_in_common_is_refused(
    changes: dict[str, Any], pairs: list[tuple[str, str]], problem: str
) -> None:
    with pytest.raises(NotComparable, match=problem):
        compare(named("a"), named("b", **changes), pairs)


CSV = "Type,Name,Request Count,Failure Count,50%,90%,95%,99%,99.9%\nGET,/a/,3,0,1,2,3,{p99},5\n"


def test_an_import_is_compared_with_a_loadtest_by_the_old_definition_alone() -> None:
    first = combine("past", [parse("x_stats.csv", CSV.format(p99=100))])
    second = named("now")
    shown = old_document(first, second)
    assert [section.title for section in shown.sections] == [
        f"now: {name} and past" for name in ("two-threads", "three-threads", "seven-threads")
    ]
    old = second.variants[0].pooled
    assert old is not None
    assert old.old_definition is not None
    rows = {row[0]: row[1:] for row in shown.sections[0].tables[0].rows}
    micros = old.old_definition.gets_p99_micros or 0
    assert rows["GETs (99th)"] == ("100.00", f"{micros / 1000:,.2f}", f"{micros / 100_000:.3f}")
    assert rows["POSTs (99th)"][0] == rows["POSTs (99th)"][2] == "-", "the import has none"
    assert "no winner is named" in markdown.text(shown)


def test_two_imports_are_compared_unrounded() -> None:
    first, second = (
        combine(name, [parse("x_stats.csv", CSV.format(p99=p99))]) for name, p99 in (("a", 100), ("b", 90))
    )
    assert [one.figures["All requests (99th)"] for one in (*old_of(first), *old_of(second))] == [100, 90]
    rows = {row[0]: row[3] for row in old_document(first, second).sections[0].tables[0].rows}
    assert rows["All requests (99th)"] == "0.900"


def test_a_result_in_which_nothing_is_valid_has_nothing_to_compare() -> None:
    empty = replace(named("empty"), status=type(named("x").status)())
    with pytest.raises(NotComparable, match="empty has no figures by the old definition"):
        old_document(empty, combine("past", [parse("x_stats.csv", CSV.format(p99=1))]))
