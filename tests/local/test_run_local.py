"""The laptop engine with real processes: Locust, and a target of one's own."""

from __future__ import annotations

import re
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from loadtest.api.crd import definition
from loadtest.api.status import LoadTestStatus
from loadtest.cli.sources import load
from loadtest.report.verify import differences
from tests.local.conftest import Run

Start = Callable[..., Run]
SCHEMA = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def violations(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """Where a value is not what the CRD says: a field that it does not have, a wrong type, a word not listed."""
    wanted = TYPES.get(schema.get("type", ""))
    if wanted is not None and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
        yield f"{where}: {value!r} is no {schema['type']}"
    elif value is not None and value not in schema.get("enum", [value]):
        yield f"{where}: {value!r} is not one of {schema['enum']}"
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from violations(entry, schema["items"], f"{where}[{number}]")
    elif isinstance(value, dict) and "properties" in schema:
        yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, entry in value.items():
            if name in schema["properties"]:
                yield from violations(entry, schema["properties"][name], f"{where}.{name}")
            else:
                yield f"{where}.{name} is not in the CRD"


def test_a_run_on_this_machine_has_the_clusters_fields_and_counts_what_the_target_logged(start: Start) -> None:
    run = start()
    assert run.end() == 0, run.screen
    run.assert_nothing_is_left()
    body = run.loadtest()
    assert list(violations(body["status"], SCHEMA["status"], "status")) == []
    assert list(violations(body["spec"], SCHEMA["spec"], "spec")) == []
    status = LoadTestStatus.model_validate(body["status"])
    logged = Counter(
        line.split(" ", 1)[1]
        for log in sorted((run.results / "logs").glob("target-*.log"))
        for line in log.read_text().splitlines()
        if line.startswith("window ")
    )
    seen = {}
    for variant in status.variants or ():
        for repeat in variant.runs:
            for stage in repeat.stages:
                assert (stage.valid, stage.failures) == ("True", 0), stage
                threads = {"three": "3", "two": "2"}[variant.name]
                label = f"{status.run_id}/{repeat.position}/{stage.index}/{stage.attempt}/window"
                seen[variant.name] = stage.requests
                assert logged[f"{label} threads {threads}"] == stage.requests, "the variant's process served it"
    assert set(seen) == {"three", "two"}
    assert all(count and count > 0 for count in seen.values())
    stored = load(str(run.results), None, None)
    assert differences(stored.result, stored.hashes) == ([], 2), "every figure follows from the records in the folder"
    assert "## Results" in run.screen
    profile = (run.results / "report.md").read_text()
    assert "target.py $PORT`, a process on this machine, at http://127.0.0.1:" in profile, "not the spec's own address"
    assert f"report: {run.results / 'report.html'}" in run.screen
    assert (run.results / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert not list(run.results.rglob("*.pem")), "no key stays on the disk"


def address(run: Run) -> tuple[str, int]:
    found = re.search(r", at (http://\S+)", run.screen)
    assert found
    url = urlsplit(found.group(1))
    return str(url.hostname), int(url.port or 0)


@pytest.mark.parametrize("moment", ["the target is", "* Applying: applying variant three", "* StageStarted", "* Comp"])
def test_a_run_that_is_killed_leaves_nothing_running(start: Start, moment: str) -> None:
    run = start()
    run.wait_for(moment)
    where = address(run)
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    run.assert_nothing_is_left()
    with socket.socket() as probe:
        assert probe.connect_ex(where) != 0, "nothing listens where the target was"


def test_ctrl_c_aborts_and_keeps_what_was_measured(start: Start) -> None:
    def two_stages(loadtest: dict[str, Any]) -> None:
        stages = [{"injectors": 1, "duration": "2s"}, {"injectors": 1, "duration": "10m"}]
        loadtest["spec"]["load"]["stages"] = stages

    run = start(two_stages)
    run.wait_for("stage 1, attempt 1: 1 injectors")
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 6, run.screen
    run.assert_nothing_is_left()
    status = LoadTestStatus.model_validate(run.loadtest()["status"])
    assert status.phase == "Aborted"
    assert status.variants
    assert status.variants[0].runs[0].stages[0].valid == "True"
    assert len(list((run.results / "records").iterdir())) == 1
    assert "Aborted: Aborted: spec.abort was set" in run.screen


def test_ctrl_c_twice_ends_at_once(start: Start) -> None:
    def never_answers(loadtest: dict[str, Any]) -> None:
        loadtest["spec"]["load"]["stages"] = [{"injectors": 1, "duration": "10m"}]

    run = start(never_answers)
    run.wait_for("* StageStarted")
    run.process.send_signal(signal.SIGINT)
    run.wait_for("! aborting")
    run.process.send_signal(signal.SIGINT)
    assert run.end() in {6, 130}, run.screen
    run.assert_nothing_is_left()


def test_a_variant_that_does_not_start_ends_the_run_with_its_last_words(start: Start) -> None:
    def broken(loadtest: dict[str, Any]) -> None:
        loadtest["spec"]["variants"][0]["settings"]["threads"] = "broken"

    run = start(broken)
    assert run.end() == 5, run.screen
    assert "THREADS must be a number" in run.screen
    run.assert_nothing_is_left()


def test_a_target_that_is_killed_makes_the_stage_invalid_and_is_started_again(start: Start) -> None:
    def long_stage(loadtest: dict[str, Any]) -> None:
        loadtest["spec"]["variants"] = loadtest["spec"]["variants"][:1]
        loadtest["spec"]["load"]["stages"] = [{"injectors": 1, "duration": "5s"}]

    run = start(long_stage)
    run.wait_for("* StageStarted")
    script = str(Path(__file__).with_name("target.py"))
    (target,) = (
        process
        for process in run.processes()
        if script in process.cmdline() and not any("warden" in text for text in process.cmdline())
    )
    run.wait_for("measuring: ")
    target.kill()
    assert run.end() == 0, run.screen
    assert "StageInvalid: variant three, repeat 1, stage 0, attempt 1" in run.screen
    assert "stage 0, attempt 2: 1 injectors" in run.screen
    logs = [log.read_text() for log in (run.results / "logs").glob("target-*.log")]
    assert "/window threads 3" in logs[0], "the one that was started again served the stage"
    run.assert_nothing_is_left()
