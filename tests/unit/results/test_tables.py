from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.api.figures import Figures
from loadtest.api.status import LoadTestStatus, Phase, Summary, VariantResult, Verdict
from loadtest.results.figures import pooled, stage_result
from loadtest.results.tables import EXACT, OLD, count, exact_cells, markdown_table, millis, old_cells, ratio, report
from tests.unit.core.builders import running, stage, variants
from tests.unit.results.records import endpoint, histogram, record, weighted


def read_table(lines: list[str]) -> tuple[list[str], list[str], list[list[str]]]:
    """Header, rule and rows of a Markdown table."""
    cells = [[cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")] for line in lines]
    return cells[0], cells[1], cells[2:]


def sections(text: str) -> dict[str, list[str]]:
    """The table lines under each heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
            found[heading] = []
        elif line.startswith("|"):
            found[heading].append(line)
    return found


def test_failures_stand_in_a_table_by_kind_where_there_are_some() -> None:
    failed = {"failures": 3, "failure_kinds": {"timeout": 1, "status": 2}}
    status = running(variants=variants(("seven", 1, [stage(0), stage(1, **failed)])))
    found = sections(report("test", status))["Failures by kind"]
    assert read_table(found)[0] == ["Variant", "Repeat", "Stage", "status", "timeout"]
    assert read_table(found)[2] == [["seven", "1", "1", "2", "1"]]
    assert "Failures by kind" not in report("test", running(variants=variants(("seven", 1, [stage(0)]))))


words = st.text("abcxyz019-., ", max_size=12).map(str.strip)


@given(st.integers(1, 5).flatmap(lambda width: st.lists(st.lists(words, min_size=width, max_size=width), min_size=1)))
def test_a_table_is_read_back_as_it_was_written(rows: list[list[str]]) -> None:
    lines = markdown_table(rows[0], rows[1:]).split("\n")
    header, rule, body = read_table(lines)
    assert [header, *body] == rows
    assert rule[0].strip("-") == ""
    assert all(cell.endswith(":") and cell[:-1].strip("-") == "" for cell in rule[1:])
    assert len({len(line) for line in lines}) == 1, "columns line up as plain text too"


@pytest.mark.parametrize(
    ("micros", "text"),
    [(None, "-"), (0, "0.00"), (999, "1.00"), (1_234, "1.23"), (9_994, "9.99"), (10_040, "10.0"), (55_049, "55.0"),
     (99_940, "99.9"), (100_000, "100"), (1_034_200, "1034"), (60_000_000, "60000")],
)  # fmt: skip
def test_times_in_milliseconds_have_three_digits(micros: int | None, text: str) -> None:
    assert millis(micros) == text


@pytest.mark.parametrize(("number", "text"), [(None, "-"), (0, "0"), (999, "999"), (27_082_887, "27,082,887")])
def test_counts_have_separators(number: int | None, text: str) -> None:
    assert count(number) == text


@pytest.mark.parametrize(("permille", "text"), [(None, "-"), (1000, "1.000"), (1014, "1.014"), (0, "0.000")])
def test_ratios_are_decimal_numbers(permille: int | None, text: str) -> None:
    assert ratio(permille) == text


def measured() -> Figures:
    fast = endpoint(weighted({55_000: 90, 140_000: 10}), content_bytes=100)
    figures = pooled([record(fast, endpoint(weighted({201_000: 2}), "POST"), endpoint(histogram([1]), success=False))])
    assert figures is not None
    return figures


def test_the_exact_columns() -> None:
    cells = dict(zip(EXACT, exact_cells(measured()), strict=True))
    assert cells == {
        "50th": "55.0", "90th": "140", "95th": "140", "99th": "201", "99.9th": "201", "GETs 99th": "140",
        "POSTs 99th": "201", "All 99th": "201", "Total requests": "103", "Failures": "1", "Requests/s": "10.3",
    }  # fmt: skip


def test_the_columns_of_the_old_definition() -> None:
    cells = dict(zip(OLD, old_cells(measured()), strict=True))
    assert cells["POSTs"] == "201"
    assert cells["All requests"] == cells["99th"]


def test_what_was_not_measured_is_a_dash_and_never_a_zero() -> None:
    assert set(exact_cells(Figures())) == {"-"}
    assert set(old_cells(Figures())) == {"-"}


def result() -> LoadTestStatus:
    first = stage_result(record(endpoint(weighted({55_000: 90, 140_000: 10}))))
    found: list[VariantResult] = variants(
        ("seven", 1, [first, stage(1, "Unknown")]),
        ("two", 2, [first]),
        ("two", 3, [stage(0, "False", 2, invalid_reason="WorkerLost")]),
    )
    for variant in found:
        variant.pooled = pooled([record(endpoint(weighted({55_000: 90, 140_000: 10})))])
    summary = Summary(verdict=Verdict.PASS)
    return running(phase=Phase.SUCCEEDED, variants=found, summary=summary)


def test_a_report_has_a_table_of_variants_of_stages_and_of_the_old_figures() -> None:
    text = report("gunicorn-threads", result())
    assert text.startswith("# gunicorn-threads\n\nRun 0123456789abcdef: Succeeded, verdict Pass.\n")
    found = sections(text)
    assert list(found) == [
        "gunicorn-threads", "Variants", "Stages of seven", "Stages of two", "By the old definition",
    ]  # fmt: skip
    header, _, rows = read_table(found["Variants"])
    assert header == ["Variant", *EXACT]
    assert [row[0] for row in rows] == ["seven", "two"]
    assert rows[0][1:] == exact_cells(measured_of(result(), "seven"))
    header, _, rows = read_table(found["By the old definition"])
    assert header == ["Variant", *OLD]


def measured_of(status: LoadTestStatus, name: str) -> Figures:
    figures = next(variant.pooled for variant in status.variants or () if variant.name == name)
    assert figures is not None
    return figures


def test_stages_say_whether_they_can_be_relied_on_and_of_which_repeat_they_are() -> None:
    found = sections(report("x", result()))
    _, _, seven = read_table(found["Stages of seven"])
    assert [(row[0], row[-1]) for row in seven] == [("0", "yes"), ("1", "running")]
    _, _, two = read_table(found["Stages of two"])
    assert [(row[0], row[-1]) for row in two] == [("0 (repeat 1)", "yes"), ("0 (repeat 2)", "no: WorkerLost")]


def test_a_run_without_results_has_no_tables() -> None:
    assert report("x", running()) == "# x\n\nRun 0123456789abcdef: Running.\n"
