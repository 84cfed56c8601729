"""Every pod that the operator makes is admitted where Pod Security "restricted" is enforced."""

import copy
import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from loadtest.core import injector_pods, manifests
from tests.cluster.apiserver import PrivateApiServer
from tests.cluster.binaries import kubectl
from tests.unit.core import builders

NAMESPACE = "restricted"
ME, PLAN = builders.resource(builders.spec(), builders.running()), builders.plan()
IMAGE = {"image": "injector:1", "pull_policy": "IfNotPresent"}
STATE = {"metadata": {"name": "state", "uid": "0d6a2b9a-0000-4000-8000-000000000000"}}


def of_helm() -> dict[str, Any]:
    job = manifests.helm_job(
        ME, PLAN, "apply", "apply-1-1", "seven-threads",
        state=STATE, image="operator:1", pull_policy="IfNotPresent", account="default", lease_seconds=1200,
    )  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "spec": job["spec"]["template"]["spec"]}


PODS: dict[str, Callable[[], dict[str, Any]]] = {
    "master": lambda: injector_pods.master_pod(ME, PLAN, 1, 1, token_sha256="0" * 64, **IMAGE),
    "worker": lambda: injector_pods.worker_pod(ME, PLAN, 1, 1, 0, "10.0.0.1", **IMAGE),
    "helm": of_helm,
}


@pytest.fixture(scope="module")
def create(private_server: PrivateApiServer) -> Callable[[dict[str, Any]], str]:
    """Tries to create a pod; what the API server has against it."""

    def run(*arguments: str, body: dict[str, Any] | None = None) -> str:
        command = [str(kubectl()), "--kubeconfig", str(private_server.kubeconfig), *arguments]
        done = subprocess.run(
            command, input=json.dumps(body) if body else None, capture_output=True, text=True, check=False
        )
        return done.stderr if done.returncode else ""

    assert not run("create", "namespace", NAMESPACE)
    assert not run("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    run("create", "serviceaccount", "default", "-n", NAMESPACE)  # no controller makes it here

    def tried(pod: dict[str, Any]) -> str:
        pod = {**pod, "metadata": {"name": "tried", "namespace": NAMESPACE}}
        return run("create", "--dry-run=server", "-f", "-", body=pod)

    return tried


@pytest.mark.parametrize("name", PODS)
def test_a_pod_of_ours_is_admitted_where_restricted_is_enforced(
    create: Callable[[dict[str, Any]], str], name: str
) -> None:
    assert create(PODS[name]()) == ""


def test_the_same_pod_as_root_is_not(create: Callable[[dict[str, Any]], str]) -> None:
    worse = copy.deepcopy(PODS["worker"]())
    worse["spec"]["securityContext"] |= {"runAsNonRoot": False, "runAsUser": 0}
    assert "violates PodSecurity" in create(worse)
