"""A locustfile of one's own, and open load, on the cluster: figures, records and the Runner's log say the same."""

import json
from typing import Any

from tests.cluster.stand import SAMPLES, TESTS, Stand
from tests.e2e.runs import RunnerLogs, Runs, condition, spec, stages

LOCUSTFILE = """
from locust import constant, task

from loadtest_injector.http import FastUser
from wanted import STATUS


class Watcher(FastUser):
    wait_time = constant(0.1)

    @task
    def look(self):
        with self.client.get("/status", catch_response=True) as answer:
            if answer.status_code != STATUS:
                answer.failure("not there")

    @task
    def miss(self):
        self.client.get("/nowhere")
"""


def config_map(stand: Stand, name: str, **data: str) -> None:
    """Files in the tests' namespace; `_` stands for the dot of their names."""
    files = {key.replace("_", "."): text for key, text in data.items()}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": TESTS}, "data": files}
    stand.apply(json.dumps(body))


def of_locustfile(name: str, key: str, **load: Any) -> dict[str, Any]:
    body = spec(stages=((2, "6s"),), users=5, scenario={"locustfile": {"configMap": {"name": name, "key": key}}})
    body["load"] |= {"injectorsPerPod": 2, **load}
    return body


def assert_logged(status: dict[str, Any], logs: RunnerLogs) -> None:
    """What the Runner logged with the header of the window is what the status counts."""
    seen = logs.by_window()
    for stage in stages(status):
        window = f"{status['runId']}/{stage['position']}/{stage['index']}/{stage['attempt']}/window"
        assert seen[window] == stage["requests"] > 0, window


def test_a_locustfile_is_measured_as_a_requests_file_is(runs: Runs, stand: Stand) -> None:
    config_map(stand, "watcher", watcher_py=LOCUSTFILE, wanted_py="STATUS = 200")
    with RunnerLogs(stand) as logs:
        runs.apply("watched", of_locustfile("watcher", "watcher.py"))
        status = runs.finished("watched")
    (stage,) = stages(status)
    assert (status["phase"], stage["valid"], stage["load"]) == ("Succeeded", "True", "Closed"), stage
    assert stage["users"] == 10
    assert stage["failureKinds"] == {"status": stage["failures"]}
    assert 0 < stage["failures"] < stage["requests"]
    assert "launches" not in stage
    assert stage["latencyMicros"]["p99"] > 0
    assert_logged(status, logs)


def test_a_locustfile_that_cannot_be_imported_fails_the_run_with_the_reason(runs: Runs, stand: Stand) -> None:
    config_map(stand, "broken", syntax_py="def broken(:", missing_py="import no_such_module")
    runs.apply("syntax", of_locustfile("broken", "syntax.py"))
    stalled = condition(runs.finished("syntax", 30), "Stalled") or {}
    assert stalled["reason"] == "InvalidScenario"
    assert "key syntax.py, line 1" in stalled["message"]
    config_map(stand, "module", missing_py="import no_such_module")
    runs.apply("missing-module", of_locustfile("module", "missing.py"))
    stalled = condition(runs.finished("missing-module", 120), "Stalled") or {}
    assert stalled["reason"] == "InvalidScenario"
    assert "No module named 'no_such_module'" in stalled["message"]


def test_an_open_load_keeps_its_rate_and_adds_up(runs: Runs, stand: Stand) -> None:
    body = spec(stages=((2, "8s"),), users=20)
    body["load"] |= {"mode": "Open", "ratePerInjector": 15, "injectorsPerPod": 2, "warmUp": "2s"}
    with RunnerLogs(stand) as logs:
        runs.apply("open", body)
        status = runs.finished("open")
    (stage,) = stages(status)
    assert (status["phase"], stage["valid"], stage["load"]) == ("Succeeded", "True", "Open"), stage
    assert stage["arrivals"] == 2 * 15 * 8
    assert stage["requests"] == stage["arrivals"] - stage["droppedArrivals"] + stage["carriedArrivals"]
    assert stage["intendedLatencyMicros"]["p99"] >= stage["latencyMicros"]["p50"]
    assert_logged(status, logs)


def test_the_samples_are_accepted_by_the_cluster(stand: Stand) -> None:
    for name in ("locustfile.yaml", "open-load.yaml"):
        said = stand.kubectl("apply", "--dry-run=server", "-f", str(SAMPLES / name))
        assert "loadtest.loadtest.eqrunner.dev" in said
