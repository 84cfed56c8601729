"""Both charts installed into a real API server: what they grant, and what an upgrade and an uninstall leave."""

import base64
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from loadtest.core import network
from tests.cluster.apiserver import PrivateApiServer, private_api_server
from tests.cluster.binaries import ensure_binaries, kubectl
from tests.cluster.paths import TREE
from tests.unit.charts.test_rights import documented
from tests.unit.core import builders

_CRD = "loadtests.loadtest.eqrunner.dev"
_OPERATOR = "system:serviceaccount:loadtest-system:loadtest-operator"


class _Cluster:
    """kubectl and helm as an administrator."""

    def __init__(self, server: PrivateApiServer) -> None:
        self._access = ["--kubeconfig", str(server.kubeconfig)]

    def kubectl(self, *arguments: str) -> str:
        return _run([str(kubectl()), *self._access, *arguments])

    def helm(self, *arguments: str) -> str:
        return _run([str(ensure_binaries("helm")["helm"]), *self._access, *arguments])

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def rules_of(self, account: str, namespace: str) -> list[dict[str, Any]]:
        """What `kubectl auth can-i --list` asks for: every rule that holds for an account in a namespace."""
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        command = [str(kubectl()), *self._access, "create", "--raw", path, "-f", "-", "--as", account]
        done = subprocess.run(command, input=json.dumps(review), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rules: list[dict[str, Any]] = json.loads(done.stdout)["status"]["resourceRules"]
        return rules

    def may(self, namespace: str, verb: str, resource: str) -> bool:
        """Whether the operator may."""
        command = [str(kubectl()), *self._access, "auth", "can-i", verb, resource, "-n", namespace, "--as", _OPERATOR]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "yes"


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def cluster() -> Iterator[_Cluster]:
    with private_api_server() as server:
        made = _Cluster(server)
        for namespace in ("loadtest-system", "performance", "qa", "runner", "elsewhere"):
            made.kubectl("create", "namespace", namespace)
            made.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
        yield made


@pytest.fixture
def install(cluster: _Cluster) -> Iterator[Any]:
    """Installs or upgrades the operator's chart with these flags; takes it away after the test."""
    chart = str(TREE / "charts" / "loadtest-operator")

    def upgrade(*flags: str) -> str:
        return cluster.helm("upgrade", "--install", "loadtest-operator", chart, "-n", "loadtest-system", *flags)

    yield upgrade
    # No controller runs the hook's Job here.
    cluster.helm("uninstall", "loadtest-operator", "-n", "loadtest-system", "--no-hooks")


def _key(cluster: _Cluster) -> bytes:
    secret = cluster.get("secret", "loadtest-operator-token-key", "-n", "loadtest-system")
    return base64.b64decode(secret["data"]["key"])


def test_the_token_key_is_made_once_and_kept_through_upgrades(cluster: _Cluster, install: Any) -> None:
    install()
    key = _key(cluster)
    assert len(key) >= 32
    install("--set", "logFormat=json")
    assert _key(cluster) == key


def test_the_crd_outlives_the_chart_and_is_taken_over_by_the_next_install(cluster: _Cluster, install: Any) -> None:
    install()
    uid = cluster.get("crd", _CRD)["metadata"]["uid"]
    cluster.helm("uninstall", "loadtest-operator", "-n", "loadtest-system", "--no-hooks")
    assert cluster.get("crd", _CRD)["metadata"]["uid"] == uid
    install()
    assert cluster.get("crd", _CRD)["metadata"]["uid"] == uid


def test_pod_security_restricted_has_nothing_against_the_pods(cluster: _Cluster, install: Any) -> None:
    install()
    template = cluster.get("deployment", "loadtest-operator", "-n", "loadtest-system")["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tried", **template["metadata"]},
        "spec": template["spec"],
    }
    command = [str(kubectl()), *cluster._access, "create", "-n", "loadtest-system", "--dry-run=server", "-f", "-"]
    done = subprocess.run(command, input=json.dumps(pod), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("flags", "everywhere"), [((), True), (("--set", "watchNamespaces={performance,qa}"), False)], ids=["all", "listed"]
)
def test_the_operator_may_work_where_it_watches_and_nowhere_reads_secrets(
    cluster: _Cluster, install: Any, flags: tuple[str, ...], everywhere: bool
) -> None:
    install(*flags)
    for namespace in ("performance", "qa"):
        assert cluster.may(namespace, "create", "pods")
        assert cluster.may(namespace, "patch", "loadtests.loadtest.eqrunner.dev")
    assert cluster.may("elsewhere", "create", "pods") is everywhere
    for namespace in ("loadtest-system", "performance", "elsewhere"):
        assert not cluster.may(namespace, "get", "secrets")
        assert not cluster.may(namespace, "list", "secrets")


def test_a_target_grants_what_a_run_needs_there_and_there_alone(cluster: _Cluster, install: Any) -> None:
    install("--set", "watchNamespaces={performance}")
    cluster.helm("install", "loadtest-target", str(TREE / "charts" / "loadtest-target"), "-n", "runner")
    rights = [
        ("create", "jobs.batch"),
        ("list", "pods"),
        ("get", "namespaces/runner"),
        ("update", "leases.coordination.k8s.io"),
    ]
    for verb, resource in rights:
        assert cluster.may("runner", verb, resource)
        assert not cluster.may("elsewhere", verb, resource)
    assert not cluster.may("runner", "get", "secrets")
    assert not cluster.may("runner", "create", "pods")
    cluster.helm("uninstall", "loadtest-target", "-n", "runner")


def test_the_operator_may_fence_its_injectors_in_and_the_api_server_takes_the_policies(
    cluster: _Cluster, install: Any
) -> None:
    install()
    me, of = builders.resource(builders.spec(), builders.running()), builders.plan()
    owner = {"metadata": {"name": "scenario", "uid": "0d6a2b9a-0000-4000-8000-000000000000"}}
    for policy in network.policies(me, of, "loadtest-system", owner):
        command = [str(kubectl()), *cluster._access, "create", "--dry-run=server", "--validate=strict", "-f", "-"]
        command += ["--as", _OPERATOR]
        done = subprocess.run(command, input=json.dumps(policy), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert cluster.get("networkpolicy", "loadtest-operator", "-n", "loadtest-system")["spec"]["policyTypes"] == [
        "Ingress"
    ]
    install("--set", "networkPolicies.enabled=false")
    assert not cluster.may("performance", "create", "networkpolicies.networking.k8s.io")


_HELM = "system:serviceaccount:runner:loadtest-helm"
_EVERYBODYS = {"authorization.k8s.io", "authentication.k8s.io"}
"""Groups in which everybody who is logged in may ask about themselves."""


@pytest.mark.parametrize(
    ("account", "namespace", "tables"),
    [
        (_OPERATOR, "performance", ("operator",)),
        (_OPERATOR, "loadtest-system", ("operator", "own")),
        (_OPERATOR, "runner", ("operator", "target")),
        (_HELM, "runner", ("helm",)),
        (_HELM, "performance", ()),
    ],
)
def test_what_an_account_can_do_is_what_the_page_says(
    cluster: _Cluster, install: Any, account: str, namespace: str, tables: tuple[str, ...]
) -> None:
    install()
    cluster.helm("upgrade", "--install", "loadtest-target", str(TREE / "charts" / "loadtest-target"), "-n", "runner")
    rules = cluster.rules_of(account, namespace)
    found = {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if group not in _EVERYBODYS
    }
    assert found == set().union(*(documented(table) for table in tables))
    cluster.helm("uninstall", "loadtest-target", "-n", "runner")
