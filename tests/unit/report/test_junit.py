from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from loadtest.api.status import ObjectiveResult, Phase
from loadtest.report import junit
from loadtest.report.result import Result
from tests.unit.report import samples


def suite_of(result: Result, code: int = 0, **options: Any) -> ET.Element:
    root = ET.fromstring(junit.text(result, code, "because <so> & so", **options))  # noqa: S314 - our own text
    found = root.find("testsuite")
    assert found is not None
    return found


def cases(suite: ET.Element, kind: str) -> list[str]:
    return [str(case.get("name")) for case in suite.findall("testcase") if case.find(kind) is not None]


def test_a_run_without_complaint_has_only_passed_tests() -> None:
    suite = suite_of(samples.result())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "10",
        "0",
        "0",
        "0",
    )
    stage = suite.findall("testcase")[1]
    assert stage.get("name") == "repeat 1, stage 0: 10 injectors"
    assert stage.get("classname") == "gunicorn-threads-at-scale.two-threads"
    assert stage.get("time") == "35.000"
    assert "p99" in str(stage.findtext("system-out"))


@pytest.mark.parametrize(
    ("code", "kind"), [(0, None), (3, None), (4, "failure"), (5, "error"), (6, "error"), (7, "error"), (124, "error")]
)
def test_the_run_itself_fails_where_it_says_nothing_or_did_not_end_well(code: int, kind: str | None) -> None:
    result = samples.result()
    result.status.phase = Phase.ABORTED
    suite = suite_of(result, code)
    for each in ("failure", "error"):
        assert cases(suite, each) == (["run"] if each == kind else [])


def objective(on_miss: str, met: str) -> ObjectiveResult:
    made = {"name": "p99", "on_miss": on_miss, "met": met, "stages": 1, "missed_stages": 1, "unknown_stages": 0}
    return ObjectiveResult.model_validate(made | {"message": "p99 was 2 s"})


@pytest.mark.parametrize(
    ("on_miss", "met", "strict", "kind"),
    [
        ("Fail", "True", True, None),
        ("Fail", "False", False, "failure"),
        ("Report", "False", False, "system-out"),
        ("StopVariant", "False", False, "system-out"),
        ("Report", "False", True, "failure"),
        ("Fail", "Unknown", True, "skipped"),
    ],
)
def test_an_objective_fails_where_its_miss_changes_the_exit_code(
    on_miss: str, met: str, strict: bool, kind: str | None
) -> None:
    result = samples.result()
    result.status.objectives = [objective(on_miss, met)]
    suite = suite_of(result, strict=strict)
    for each in ("failure", "skipped", "system-out"):
        assert ("p99" in cases(suite, each)) == (each == kind)


def test_stages_that_are_invalid_or_were_not_run_are_skipped_and_not_passed() -> None:
    result = samples.result()
    run = result.variants[0].runs[0]
    run.stages[1].valid, run.stages[1].invalid_reason = "False", "WorkerLost"
    run.stages, run.skipped_stages, run.stopped_by = run.stages[:2], [2], "p99"
    assert cases(suite_of(result), "skipped") == ["repeat 1, stage 1: 15 injectors", "repeat 1, stage 2"]
