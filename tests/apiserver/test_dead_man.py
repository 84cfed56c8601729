"""The dead-man Job, with a real API server and helm: it restores when, and only when, nobody renews the Lease."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.helm_target import HOLDER, LEASE, SILENCE, HelmTarget
from tests.cluster.apiserver import PrivateApiServer
from tests.cluster.binaries import ensure_binaries


@pytest.fixture
def target(private_server: PrivateApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HelmTarget:
    """A release whose Lease a run holds; helm and Jobs act as the account of the helm Jobs."""
    namespace = f"dead-man-{time.monotonic_ns()}"
    account = f"system:serviceaccount:{namespace}:loadtest-helm"
    kubeconfig = private_server.kubeconfig_for(account, "system:serviceaccounts", "system:authenticated")
    monkeypatch.setenv("PATH", f"{ensure_binaries('helm')['helm'].parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    made = HelmTarget(private_server, namespace, tmp_path, kubeconfig, {"two": {"webServer": {"threads": "2"}}})
    made.prepare()
    made.install()
    hold(made, HOLDER)
    return made


def hold(target: HelmTarget, holder: str) -> None:
    meta = {"name": LEASE, "namespace": target.namespace}
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta,
        "spec": {"holderIdentity": holder},
    }
    target.kubectl("apply", "-f", "-", stdin=body)


def renew(target: HelmTarget, count: int) -> None:
    patch = {"spec": {"renewTime": f"2026-01-01T00:00:00.{count:06d}Z"}}
    target.kubectl("patch", "lease", LEASE, "--type", "merge", "-p", json.dumps(patch))


def holder(target: HelmTarget) -> str:
    return str(target.live("lease", LEASE)["spec"]["holderIdentity"])


@pytest.fixture
def standing_by(target: HelmTarget) -> Iterator["subprocess.Popen[bytes]"]:
    """A dead-man Job beside a live variant."""
    assert target.job("snapshot")["outcome"] == "ok"
    assert target.job("apply", "two")["outcome"] == "ok"
    process = target.start_job("dead-man", "")
    yield process
    process.kill()
    process.wait()


def test_a_release_whose_operator_is_dead_comes_back(
    target: HelmTarget, standing_by: "subprocess.Popen[bytes]"
) -> None:
    assert target.threads() == "2"
    assert standing_by.wait(timeout=120) == 0
    assert target.threads() == "7"
    assert holder(target) == f"{HOLDER}/dead-man"
    outcome = target.outcome("dead-man-3")
    assert (outcome["op"], outcome["outcome"], outcome["changed"]) == ("dead-man", "ok", True)
    late = target.job("apply", "two")
    assert (late["outcome"], late["reason"]) == ("error", "LeaseLost"), "a Job that was ordered before touches nothing"
    assert target.threads() == "7"


def test_a_living_operator_keeps_it_waiting(target: HelmTarget, standing_by: "subprocess.Popen[bytes]") -> None:
    until, count = time.monotonic() + 2.5 * SILENCE, 0
    while time.monotonic() < until:
        count += 1
        renew(target, count)
    assert standing_by.poll() is None
    assert target.threads() == "2"
    standing_by.terminate()
    assert standing_by.wait(timeout=60) == 0
    assert holder(target) == HOLDER


def test_another_run_that_holds_the_lease_sends_it_home(
    target: HelmTarget, standing_by: "subprocess.Popen[bytes]"
) -> None:
    hold(target, "performance/other/uid-2/fedcba9876543210")
    assert standing_by.wait(timeout=120) == 0
    assert target.threads() == "2"
    assert target.job("restore")["reason"] == "LeaseLost"
