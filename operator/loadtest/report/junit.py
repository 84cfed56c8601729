"""An ended run as JUnit XML, for pipelines that show tests: the run, its objectives, its stages.

What fails here is what makes `loadtest wait` end with another code than 0. What cannot be relied on, or was not run, is
skipped with its reason: a test that passed must have been one.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from loadtest.api.figures import StageResult
from loadtest.api.status import RunResult, VariantResult
from loadtest.report.result import Result
from loadtest.results.tables import count, millis


def text(result: Result, code: int, reason: str, *, strict: bool = False) -> str:
    """The XML. `code` is the exit code of `loadtest wait` and `reason` what the run's end said; `strict` as there."""
    suite = Element("testsuite", name=result.name)
    run = SubElement(suite, "testcase", classname=result.name, name="run")
    if code in {5, 6, 7, 124}:
        SubElement(run, "error", type=result.status.phase.value, message=reason)
    elif code == 4:  # noqa: PLR2004 - inconclusive, in the table of exit codes
        SubElement(run, "failure", type="Inconclusive", message=reason)
    for objective in result.status.objectives or ():
        case = SubElement(suite, "testcase", classname=f"{result.name}.objectives", name=objective.name)
        if objective.met == "Unknown":
            SubElement(case, "skipped", message=objective.message)
        elif objective.met == "False" and (strict or objective.on_miss == "Fail"):
            SubElement(case, "failure", type="Missed", message=objective.message)
        elif objective.met == "False":
            SubElement(case, "system-out").text = f"missed, and onMiss is {objective.on_miss}: {objective.message}"
    for variant in result.variants:
        for repeat in variant.runs:
            _repeat(suite, result, variant, repeat)
    for kind in ("failure", "error", "skipped"):
        suite.set({"failure": "failures", "error": "errors"}.get(kind, kind), str(len(suite.findall(f".//{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _repeat(suite: Element, result: Result, variant: VariantResult, repeat: RunResult) -> None:
    where = f"{result.name}.{variant.name}"
    for stage in repeat.stages:
        seconds = (stage.duration_millis or 0) / 1000
        name = f"repeat {repeat.repeat}, stage {stage.index}: {stage.injectors} injectors"
        case = SubElement(suite, "testcase", classname=where, name=name, time=f"{seconds:.3f}")
        if stage.valid == "True":
            SubElement(case, "system-out").text = _says(stage)
        else:
            SubElement(case, "skipped", message=f"invalid: {stage.invalid_reason}: {stage.invalid_message}")
    for index in repeat.skipped_stages or ():
        case = SubElement(suite, "testcase", classname=where, name=f"repeat {repeat.repeat}, stage {index}", time="0")
        SubElement(case, "skipped", message=f"not run: objective {repeat.stopped_by} was missed before")


def _says(stage: StageResult) -> str:
    times = stage.latency_micros
    found = f"{count(stage.requests)} requests, {count(stage.failures)} failures"
    return f"{found}, p50 {millis(times.p50)} ms, p99 {millis(times.p99)} ms" if times else found
