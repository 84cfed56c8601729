from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.results.tables import count, markdown_table, millis, ratio


def read_table(lines: list[str]) -> tuple[list[str], list[str], list[list[str]]]:
    """Header, rule and rows of a Markdown table."""
    cells = [[cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")] for line in lines]
    return cells[0], cells[1], cells[2:]


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


def test_what_would_end_a_cell_or_a_row_is_escaped() -> None:
    assert markdown_table(["a|b", "c"], [["one\ntwo", "x"]]).splitlines() == [
        "| a\\|b    |   c |",
        "| ------- | --: |",
        "| one two |   x |",
    ]
