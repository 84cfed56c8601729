"""`loadtest restore` asks the operator, waits, and says what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest.api import names
from tests.unit.cli.conftest import Cluster


def status(phase: str, restored: str | None, message: str = "m") -> dict[str, Any]:
    condition = {
        "type": "TargetRestored", "status": restored, "reason": "Restored" if restored == "True" else "RestoreFailed",
        "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    return {"phase": phase, "runId": "0123456789abcdef", "conditions": [condition] if restored else []}


def patches(cluster: Cluster) -> list[Any]:
    return [body for method, _, body in cluster.api.requests if method == "PATCH"]


def test_what_was_never_run_needs_no_restore(cluster: Cluster) -> None:
    cluster.loadtest(status={})
    result = cluster.run("restore", "test")
    assert (result.exit_code, patches(cluster)) == (0, [])


@pytest.mark.parametrize("restored", ["True", None])
def test_what_is_restored_is_left_alone(cluster: Cluster, restored: str | None) -> None:
    cluster.loadtest(status=status("Failed", restored))
    result = cluster.run("restore", "test")
    assert (result.exit_code, patches(cluster)) == (0, [])
    assert "nothing to do" in result.output


def test_a_run_that_is_on_is_aborted_and_waited_for(cluster: Cluster) -> None:
    cluster.loadtest(status=status("Running", None), spec={"abort": False})
    result = cluster.run("restore", "test", "--timeout", "0s")
    assert result.exit_code == 7
    assert cluster.api.of("loadtests")["test"]["spec"]["abort"] is True
    assert "does it run?" in result.output
    assert "restore-by-hand" in result.output


def test_a_restore_that_failed_is_asked_for_again_and_the_question_is_taken_back(cluster: Cluster) -> None:
    cluster.loadtest(status=status("Failed", "False", "helm said no"))
    result = cluster.run("restore", "test", "--timeout", "0s")
    assert result.exit_code == 7
    assert "helm said no" in result.output
    asked, taken_back = (body["metadata"]["annotations"][names.ANNOTATION_RESTORE] for body in patches(cluster))
    assert asked
    assert taken_back is None


def test_a_restore_that_then_succeeds_is_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.loadtest(status=status("Failed", "False"))

    async def operator(*_: object) -> None:
        cluster.loadtest(status=status("Failed", "True", "it is as it was"))

    monkeypatch.setattr("loadtest.cli.restore._ask", operator)
    result = cluster.run("restore", "test")
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "restored: it is as it was")
