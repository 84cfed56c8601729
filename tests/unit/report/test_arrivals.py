from __future__ import annotations

from typing import Any

from loadtest.api.status import LoadTestStatus, Phase
from loadtest.report.arrivals import HEADER, arrivals
from loadtest.report.result import Result
from loadtest.results.figures import stage_result
from tests.unit.core.builders import RUN, variants
from tests.unit.results.records import endpoint, histogram, record

OPEN = {"arrivals": 1_000, "begun": 990, "carriedIn": 2, "backlogPeak": 40, "intended": histogram([90_000]).to_json()}


def result(**changes: Any) -> Result:
    stage = stage_result(record(endpoint(histogram([20_000])), **changes))
    status = LoadTestStatus(phase=Phase.SUCCEEDED, run_id=RUN, variants=variants(("seven", 1, [stage])))
    return Result("test", "performance", None, status)


def test_an_open_load_has_its_arrivals_and_both_latencies_in_the_report() -> None:
    section = arrivals(result(load="Open", open=OPEN))
    assert section is not None
    (shown,) = section.tables
    assert dict(zip(HEADER, shown.rows[0], strict=True)) == {
        "Variant": "seven",
        "Repeat": "1",
        "Stage": "0",
        "Arrivals": "1,000",
        "Dropped": "10",
        "From before": "2",
        "Backlog peak": "40",
        "50th from arrival": "90.0",
        "99th from arrival": "90.0",
        "50th from start": "20.0",
        "99th from start": "20.0",
    }


def test_a_closed_load_has_no_such_section() -> None:
    assert arrivals(result()) is None
