"""Chart loadtest against a real API server: what a pipeline's upgrades do before, during and after a run."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.binaries import ensure_binaries, kubectl
from tests.cluster.paths import TREE
from tests.unit.api.cases.base import WITH_RELEASE

_NAME = "stress"
_RUNNING = {"startedAt": "2026-01-02T03:04:05Z", "phase": "Running", "runId": "0123456789abcdef"}
_ENDED = _RUNNING | {"finishedAt": "2026-01-02T09:04:05Z", "phase": "Succeeded"}


class _Pipeline:
    """helm and kubectl in the namespace default."""

    def __init__(self, kubeconfig: Path) -> None:
        self._access = ["--kubeconfig", str(kubeconfig), "-n", "default"]

    def helm(self, *arguments: str) -> str:
        """Run helm; what it complains about if it fails, else nothing."""
        command = [str(ensure_binaries("helm")["helm"]), *arguments, *self._access]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    def upgrade(self, *flags: str) -> str:
        spec = f"spec={json.dumps(WITH_RELEASE)}"
        chart = str(TREE / "charts" / "loadtest")
        return self.helm("upgrade", "--install", _NAME, chart, "--set-json", spec, *flags)

    def abort(self) -> str:
        chart = str(TREE / "charts" / "loadtest")
        return self.helm("upgrade", _NAME, chart, "--reuse-values", "--set", "spec.abort=true")

    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._kubectl("get", "loadtest", _NAME, "-o", "json"))["spec"]
        return found

    def status(self, status: dict[str, Any]) -> None:
        """Write the status, as the operator does."""
        patch = json.dumps({"status": status})
        self._kubectl("patch", "loadtest", _NAME, "--subresource=status", "--type=merge", "-p", patch)

    def _kubectl(self, *arguments: str) -> str:
        done = subprocess.run([str(kubectl()), *self._access, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def pipeline(apiserver: Path) -> Iterator[_Pipeline]:
    made = _Pipeline(apiserver)
    yield made
    made.helm("uninstall", _NAME)


def test_each_upgrade_asks_for_another_run(pipeline: _Pipeline) -> None:
    assert pipeline.upgrade() == ""
    assert pipeline.spec()["rerun"] == "1"
    pipeline.status(_ENDED)
    assert pipeline.upgrade() == ""
    assert pipeline.spec()["rerun"] == "2"


def test_a_build_that_is_deployed_twice_asks_for_one_run(pipeline: _Pipeline) -> None:
    for _ in range(2):
        assert pipeline.upgrade("--set-string", "rerun=7") == ""
        assert pipeline.spec()["rerun"] == "7"


def test_a_run_that_is_on_refuses_another_takes_abort_and_is_free_of_it_afterwards(pipeline: _Pipeline) -> None:
    assert pipeline.upgrade("--set-string", "rerun=7") == ""
    pipeline.status(_RUNNING)
    assert "while a run is on" in pipeline.upgrade("--set-string", "rerun=8")
    assert pipeline.abort() == ""
    assert (pipeline.spec()["rerun"], pipeline.spec()["abort"]) == ("7", True)
    pipeline.status(_ENDED)
    assert pipeline.upgrade("--set-string", "rerun=8") == ""
    assert (pipeline.spec()["rerun"], pipeline.spec()["abort"]) == ("8", False)


def test_a_spec_that_the_api_server_refuses_fails_the_upgrade_with_its_field(pipeline: _Pipeline) -> None:
    assert "spec.repeats" in pipeline.upgrade("--set", "spec.repeats=0")
