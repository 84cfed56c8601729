"""LoadTests on a real API server, as a user with kubectl and as the operator see them."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadtest.api import names
from loadtest.api.status import LoadTestStatus, RunResult, VariantResult, initial_status
from tests.cluster.binaries import kubectl as kubectl_path
from tests.unit.api.cases.base import BARE, STAGE, WITH_RELEASE, merged
from tests.unit.api.statuses import full_stage

NAME = "gunicorn-threads"
RUNNING = {"startedAt": "2026-01-02T03:04:05Z", "phase": "Running", "runId": "0123456789abcdef"}


class Kubectl:
    """kubectl, as a user has it."""

    def __init__(self, kubeconfig: Path) -> None:
        self._command = [str(kubectl_path()), "--kubeconfig", str(kubeconfig)]

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """What it prints; fails the test if it fails."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """The whole outcome."""
        command = [*self._command, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def refused(self, spec: dict[str, Any]) -> str:
        """The message with which a spec is refused at apply."""
        done = self.run("apply", "-f", "-", stdin=manifest(spec))
        assert done.returncode != 0, done.stdout
        return done.stderr

    def status(self, status: dict[str, Any]) -> None:
        """Write the status, as the operator does."""
        patch = json.dumps({"status": status})
        self("patch", "loadtest", NAME, "--subresource=status", "--type=merge", "-p", patch)

    def get(self) -> dict[str, Any]:
        """The object."""
        found: dict[str, Any] = json.loads(self("get", "loadtest", NAME, "-o", "json"))
        return found


def manifest(spec: dict[str, Any], name: str = NAME) -> str:
    return yaml.safe_dump(
        {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": name}, "spec": spec}
    )


@pytest.fixture
def kubectl(apiserver: Path) -> Iterator[Kubectl]:
    client = Kubectl(apiserver)
    yield client
    client("delete", "loadtests", "--all", "--wait=true")


def test_kstatus_reads_a_new_loadtest_as_in_progress(kubectl: Kubectl):
    kubectl("apply", "-f", "-", stdin=manifest(WITH_RELEASE))
    found = kubectl.get()
    assert found["status"] == initial_status()
    # The order in which kstatus looks: a generation that was not observed yet is enough for "in progress".
    assert found["status"]["observedGeneration"] != found["metadata"]["generation"]
    assert kubectl.run("wait", "--for=condition=Ready", "--timeout=0s", "loadtest", NAME).returncode != 0


def test_a_user_cannot_write_a_status_at_apply(kubectl: Kubectl):
    text = manifest(WITH_RELEASE) + yaml.safe_dump({"status": RUNNING})
    kubectl("apply", "-f", "-", stdin=text)
    assert kubectl.get()["status"] == initial_status()


def test_the_columns_show_the_run(kubectl: Kubectl):
    kubectl("apply", "-f", "-", stdin=manifest(WITH_RELEASE))
    kubectl.status(
        RUNNING
        | {
            "progress": {"variant": "two-threads", "percent": 20},
            "summary": {"stage": "3/15", "requestsPerSecond": 6019, "p99Millis": 970, "failures": 0, "verdict": "Pass"},
        }
    )
    head, row = kubectl("get", "ldt").splitlines()
    assert head.split() == [
        "NAME", "PHASE", "VARIANT", "STAGE", "PROGRESS", "RPS", "P99", "FAILURES", "VERDICT", "AGE",
    ]  # fmt: skip
    assert row.split()[:-1] == [NAME, "Running", "two-threads", "3/15", "20", "6019", "970", "0", "Pass"]
    assert NAME in kubectl("get", "loadtest")  # the category


def test_explain_describes_every_field(kubectl: Kubectl):
    tree = kubectl("explain", "loadtest.spec", "--recursive")
    assert "workerClass\t<string>" in tree
    assert "settle\t<string>" in tree
    assert "Finish the stage, then wait" in kubectl("explain", "ldt.spec.suspend")
    assert "99.9th percentile" in kubectl("explain", "loadtest.status.variants.runs.stages.latencyMicros")
    assert "<no description>" not in kubectl("explain", "loadtest.spec.target.release")


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (
            {"load": {"stages": [{"injectors": 10, "duration": "20"}]}},
            ["spec.load.stages[0].duration: Invalid value", "write it such as 20m, 90s or 1h30m"],
        ),
        (
            {"variants": [{"name": "a", "runner": {"workerClass": "gevent", "datastoreTransport": "grpc"}}]},
            ["spec.variants[0].runner: Invalid value", "use workerClass gthread, or datastoreTransport http"],
        ),
        ({"baseline": "nine"}, ["spec.baseline: Invalid value", "must be the name of one of variants"]),
        ({"load": {"warmup": "1m"}}, ['unknown field "spec.load.warmup"']),
        ({"scenario": {"requests": None}}, ["spec.scenario: Invalid value", "exactly one kind of scenario: requests"]),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value),
)
def test_kubectl_apply_shows_the_field_and_the_remedy(kubectl: Kubectl, change: dict[str, Any], messages: list[str]):
    shown = kubectl.refused(merged(WITH_RELEASE, change))
    for message in messages:
        assert message in shown


def test_a_null_among_the_values_is_kept_by_server_side_apply_alone(kubectl: Kubectl):
    spec = WITH_RELEASE | {"variants": [{"name": "a", "values": {"x": None, "z": 1}}]}
    kubectl("apply", "--server-side", "-f", "-", stdin=manifest(spec))
    assert kubectl.get()["spec"]["variants"][0]["values"] == {"x": None, "z": 1}


def test_the_largest_status_is_stored_whole_and_in_time(kubectl: Kubectl):
    stages = [full_stage(index) for index in range(50)]
    runs = [RunResult(repeat=repeat, position=repeat, stages=stages) for repeat in range(1, 5)]
    status = LoadTestStatus(variants=[VariantResult(name="current", pooled=full_stage(0), runs=runs)])
    kubectl("apply", "-f", "-", stdin=manifest(merged(BARE, {"repeats": 4, "load": {"stages": [STAGE] * 50}})))
    began = time.monotonic()
    body = kubectl.get() | {"status": status.to_wire()}
    path = f"/apis/{names.API_VERSION}/namespaces/default/{names.PLURAL}/{NAME}/status"
    kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(body))
    assert (
        LoadTestStatus.model_validate(kubectl.get()["status"]).variants
        == LoadTestStatus.model_validate(status.to_wire()).variants
    )
    assert time.monotonic() - began < 60


def test_a_condition_cannot_be_there_twice(kubectl: Kubectl):
    kubectl("apply", "-f", "-", stdin=manifest(WITH_RELEASE))
    ready = initial_status()["conditions"][0]
    patch = json.dumps({"status": {"conditions": [ready, ready]}})
    done = kubectl.run("patch", "loadtest", NAME, "--subresource=status", "--type=merge", "-p", patch)
    assert 'status.conditions[1]: Duplicate value: {"type":"Ready"}' in done.stderr.replace(
        "map[string]interface {}", ""
    )
