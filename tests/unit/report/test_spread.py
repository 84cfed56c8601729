from __future__ import annotations

from loadtest.report import build, spread
from tests.unit.report import samples


def test_the_spread_of_a_stage_is_that_of_its_whole_blocks() -> None:
    found = spread.section(samples.result(seconds=35))
    assert found is not None
    (table,) = found.tables
    assert table.header[3:] == ("Blocks", "50th", "95th", "99th", "Requests/s")
    first = table.rows[0]
    assert first[:4] == ("two-threads", "1", "0 (10)", "3"), "the last 5 s are no block of 10"
    assert first[6] == "-", "120 requests say nothing of a 99th percentile"
    assert first[7] == "12.0 to 12.0"
    low, _, high = first[4].partition(" to ")
    assert 0 < float(low) <= float(high)
    assert len(table.rows) == 9


def test_fewer_than_two_whole_blocks_have_no_spread() -> None:
    assert spread.section(samples.result(seconds=15)) is None
    assert spread.section(samples.result(records=False)) is None


def test_the_report_has_it_as_a_description() -> None:
    document = build.document(samples.result())
    (found,) = [each for each in document.walk() if each.title == "How much the stages varied"]
    assert "which only repeats do" in found.text[0]
    assert found.folded
