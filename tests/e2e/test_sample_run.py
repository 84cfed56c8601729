"""The sample of manifests/samples, run once; then everything that must be true of it."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from tests.cluster.stand import SAMPLES, SYSTEM, TARGET, TESTS, Stand
from tests.e2e.runs import RunnerLogs, Runs, condition, stages

NAME = "gunicorn-threads"


@dataclass
class Finished:
    """A finished run and what was seen of it."""

    status: dict[str, Any]
    logs: RunnerLogs
    before: dict[str, str] | None
    admitted_after: float
    api_writes: float


@pytest.fixture(scope="module")
def run(stand: Stand) -> Iterator[Finished]:
    runs = Runs(stand)
    stand.kubectl("delete", "loadtest", NAME, "-n", TESTS, "--ignore-not-found", "--timeout=120s")
    before, writes = stand.release("runner"), _writes(stand)
    with RunnerLogs(stand) as logs:
        stand.kubectl("apply", "-f", str(SAMPLES / "gunicorn-threads.yaml"))
        status = runs.until(NAME, "an admitted run", lambda status: status.get("runId"))
        created = datetime.fromisoformat(runs.get(NAME)["metadata"]["creationTimestamp"])
        admitted = (datetime.fromisoformat(status["startedAt"]) - created).total_seconds()
        status = runs.finished(NAME, 400)
    yield Finished(status, logs, before, admitted, _writes(stand) - writes)
    stand.kubectl("delete", "loadtest", NAME, "-n", TESTS, "--timeout=120s")


def test_every_stage_of_every_variant_was_run_and_is_valid(run: Finished) -> None:
    assert run.status["phase"] == "Succeeded", json.dumps(run.status.get("conditions"), indent=1)
    assert [(s["variant"], s["index"], s["valid"]) for s in stages(run.status)] == [
        ("seven-threads", 0, "True"),
        ("seven-threads", 1, "True"),
        ("two-threads", 0, "True"),
        ("two-threads", 1, "True"),
    ], [(s.get("invalidReason"), s.get("invalidMessage")) for s in stages(run.status)]
    assert run.status["summary"]["stage"] == "4/4"
    assert run.status["summary"]["verdict"] == "Pass"
    assert (condition(run.status, "Ready") or {})["status"] == "True"


def test_no_request_failed_and_the_load_is_what_was_asked_for(run: Finished) -> None:
    for stage in stages(run.status):
        assert stage["failures"] == 0
        assert stage["users"] == 20 * stage["injectors"]
        assert stage["durationMillis"] == 20_000
        assert stage["launches"] > 0
        assert stage["gets"]["requests"] + stage["posts"]["requests"] == stage["requests"]


def test_redis_was_measured_through_every_window(run: Finished) -> None:
    for stage in stages(run.status):
        redis = stage["redis"]
        assert "unknownReason" not in redis, redis
        assert (redis["pointsExpected"], redis["points"] >= 19) == (21, True)
        assert redis["connectionsPeak"] >= redis["connectionsMean"] >= 1
        # Every request reads or writes a session, most of them several times.
        assert redis["opsPerSecond"] > stage["requestsPerSecond"]


def test_the_runner_logged_exactly_the_requests_of_the_status(run: Finished) -> None:
    seen = run.logs.by_window()
    for stage in stages(run.status):
        window = f"{run.status['runId']}/{stage['position']}/{stage['index']}/{stage['attempt']}/window"
        assert seen[window] == stage["requests"], window


def test_every_figure_is_recomputed_from_the_stored_records(run: Finished, stand: Stand) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "loadtest", "report", NAME, "-n", TESTS, "--verify"],
        env=stand.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4 stage records recomputed, 0 differences." in done.stderr
    assert "| two-threads" in done.stdout


def test_the_release_is_byte_for_byte_what_it_was(run: Finished, stand: Stand) -> None:
    assert stand.release("runner") == run.before
    assert (condition(run.status, "TargetRestored") or {})["status"] == "True"


def test_nothing_of_the_run_is_left_but_its_results(run: Finished, stand: Stand) -> None:
    assert stand.leftovers(run.status["runId"]) == []
    results = stand.items("configmaps", TESTS, f"loadtest.eqrunner.dev/run={run.status['runId']}")
    assert len(results) == sum(stage["attempt"] for stage in stages(run.status))


def test_the_columns_of_kubectl_get_are_those_of_the_resource(run: Finished, stand: Stand) -> None:
    header, row, *_ = stand.kubectl("get", "loadtest", NAME, "-n", TESTS).splitlines()
    assert header.split() == [
        "NAME",
        "PHASE",
        "VARIANT",
        "STAGE",
        "PROGRESS",
        "RPS",
        "P99",
        "FAILURES",
        "VERDICT",
        "AGE",
    ]
    assert row.split()[1:5] == ["Succeeded", "two-threads", "4/4", "100"]


def test_events_tell_the_story_of_the_run(run: Finished, stand: Stand) -> None:
    reasons = {event["reason"] for event in stand.items("events", TESTS) if event["involvedObject"]["name"] == NAME}
    assert {"Admitted", "Applying", "StageStarted", "StageComplete", "Completed", "Restored"} <= reasons


def test_the_operator_reacts_within_a_second(run: Finished) -> None:
    assert run.admitted_after <= 1.0


def test_the_next_stage_starts_soon_after_the_one_before(run: Finished) -> None:
    pairs = [pair for pair in pairwise(stages(run.status)) if pair[0]["position"] == pair[1]["position"]]
    gaps = [
        datetime.fromisoformat(second["startedAt"]).timestamp()
        - datetime.fromisoformat(first["startedAt"]).timestamp()
        - first["durationMillis"] / 1000
        for first, second in pairs
        if second["attempt"] == 1  # a stage that was run again began later, as it must
    ]
    assert min(gaps) <= 5 + 5, "5 s, and the start of one added worker and its users"


def test_the_operator_stays_small(run: Finished, stand: Stand) -> None:
    text = stand.kubectl("exec", "deployment/loadtest-operator", "-n", SYSTEM, "--", "cat", "/proc/1/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    assert found is not None
    assert int(found[1]) < 120 * 1024


def test_a_run_at_rest_costs_nothing(run: Finished, stand: Stand) -> None:
    version = stand.loadtest(NAME)["metadata"]["resourceVersion"]
    steps = _steps(stand)
    time.sleep(10)
    assert stand.loadtest(NAME)["metadata"]["resourceVersion"] == version
    assert _steps(stand) == steps


def test_a_run_writes_to_the_api_server_no_more_than_its_steps_need(run: Finished) -> None:
    # Per stage: the start, the progress every 10 s, the record, the result, and their events; injectors and helm Jobs.
    assert 5 < run.api_writes / len(stages(run.status)) <= 30


def test_no_copy_of_the_spec_is_kept_in_an_annotation(run: Finished, stand: Stand) -> None:
    annotations = stand.loadtest(NAME)["metadata"].get("annotations") or {}
    assert not [name for name in annotations if name.endswith("last-handled-configuration")]


def _writes(stand: Stand) -> float:
    found = re.findall(r'^loadtest_api_requests_total\{method="(\w+)"\} ([0-9.]+)', _metrics(stand), re.MULTILINE)
    return sum(float(count) for method, count in found if method != "GET")


def _steps(stand: Stand) -> float:
    found = re.search(r"^loadtest_steps_total ([0-9.]+)", _metrics(stand), re.MULTILINE)
    assert found is not None
    return float(found[1])


def _metrics(stand: Stand) -> str:
    program = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
    return stand.kubectl("exec", "deployment/loadtest-operator", "-n", SYSTEM, "--", "python3", "-c", program)


def test_each_variant_was_one_revision_and_the_restore_another(run: Finished, stand: Stand) -> None:
    history = json.loads(stand.helm("history", "runner", "-n", TARGET, "-o", "json"))
    ours = [entry["description"] for entry in history[-3:]]
    assert "seven-threads" in ours[0]
    assert "two-threads" in ours[1]
    assert "Rollback" in ours[2]
