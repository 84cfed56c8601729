"""A report of what real injectors recorded: its curves and tables are the record's own figures."""

from __future__ import annotations

import pytest

from loadtest.api.figures import ResultRef
from loadtest.api.status import LoadTestStatus, Phase, RunResult, VariantResult
from loadtest.report import build, charts, html, markdown, series
from loadtest.report.result import Result
from loadtest.results.figures import pooled, stage_result
from loadtest.results.record import envelope, parse
from tests.injector.rig import Rig
from tests.unit.report.test_html import Page

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


def test_a_real_record_has_curves_and_health_and_they_add_up(rig: Rig) -> None:
    rig.mode()
    stored = envelope(rig.run(40, durationSeconds=12), (), {})
    stage = stage_result(parse(stored))
    stage.result_ref = ResultRef(name="r", sha256="0" * 64)
    assert stage.valid == "True", stage.invalid_message
    run = RunResult(repeat=1, position=1, stages=[stage])
    variant = VariantResult(name="a", runs=[run], pooled=pooled([parse(stored)]))
    result = Result("real", "x", None, LoadTestStatus(phase=Phase.SUCCEEDED, variants=[variant]), {"r": stored})

    blocks = list(series.blocks(stored))
    assert [(block.start, block.end) for block in blocks] == [(0, 10), (10, 12)]
    assert sum(block.requests for block in blocks) == stage.requests
    requests, users, times = charts.over_time(result, run)
    assert all(
        y is not None and y > 0 for line in (requests.lines[0], users.lines[0], *times.lines) for _, y in line.points
    )
    found = series.health(stored)
    assert (found.workers, found.gaps, len(found.cpu_percent_blocks)) == (2, 0, 2)
    assert found.cpu_percent_max is not None
    assert found.delay_micros_p99 is not None
    assert found.clock_uncertainty_micros is not None

    document = build.document(result)
    assert {"Over time", "Injector health", "Percentile curve"} <= {section.title for section in document.walk()}
    Page(html.text(document))
    assert "## Injector health" in markdown.text(document)
