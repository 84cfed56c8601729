"""Who may reach a run's injectors: judged as a policy engine would, by labels."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from loadtest.api import names
from loadtest.core import injector_pods, network
from tests.cluster.paths import TREE
from tests.unit.core.builders import plan, resource, running, spec

ME, PLAN = resource(spec(), running()), plan()
SCENARIO = {"metadata": {"name": names.scenario(PLAN.run), "uid": "uid-of-scenario"}}
POLICIES = network.policies(ME, PLAN, "loadtest-system", SCENARIO)
IMAGE = {"image": "injector:1", "pull_policy": "IfNotPresent"}
MASTER = injector_pods.master_pod(ME, PLAN, 1, 1, token_sha256="0" * 64, **IMAGE)
WORKER = injector_pods.worker_pod(ME, PLAN, 1, 1, 0, "10.0.0.1", **IMAGE)
STRANGER: dict[str, Any] = {"metadata": {"namespace": "performance", "labels": {"app": "x"}}}
OPERATOR: dict[str, Any] = {"metadata": {"namespace": "loadtest-system", "labels": network.OPERATOR_LABELS}}


def of_another_run(pod: dict[str, Any]) -> dict[str, Any]:
    labels = pod["metadata"]["labels"] | {names.LABEL_RUN: "fedcba9876543210"}
    return {"metadata": pod["metadata"] | {"labels": labels}}


def elsewhere(pod: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": pod["metadata"] | {"namespace": "elsewhere"}}


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    return bool(selector["matchLabels"].items() <= labels.items())


def reaches(peer: dict[str, Any], pod: dict[str, Any], port: int) -> bool:
    """Whether `peer` may connect to `pod`, by the rules of networking.k8s.io/v1."""
    mine = [policy["spec"] for policy in POLICIES if selects(policy["spec"]["podSelector"], pod["metadata"]["labels"])]
    assert mine, "every injector has a policy"
    meta = peer["metadata"]
    for rule in (rule for policy in mine for rule in policy["ingress"]):
        for source in rule["from"]:
            same = meta["namespace"] == "performance"
            namespace = source.get("namespaceSelector")
            near = selects(namespace, {"kubernetes.io/metadata.name": meta["namespace"]}) if namespace else same
            if (
                near
                and selects(source["podSelector"], meta["labels"])
                and {"protocol": "TCP", "port": port} in rule["ports"]
            ):
                return True
    return False


@pytest.mark.parametrize(
    ("who", "peer", "locust", "control"),
    [
        ("a worker of the run", WORKER, True, False),
        ("a worker of another run", of_another_run(WORKER), False, False),
        ("a pod of the same labels in another namespace", elsewhere(WORKER), False, False),
        ("the master itself", MASTER, False, False),
        ("any other pod of the namespace", STRANGER, False, False),
        ("the operator", OPERATOR, False, True),
        ("another pod beside the operator", {"metadata": {"namespace": "loadtest-system", "labels": {}}}, False, False),
        ("a pod that calls itself operator elsewhere", elsewhere(OPERATOR), False, False),
    ],
)
def test_a_master_hears_its_own_workers_and_the_operator_alone(
    who: str, peer: dict[str, Any], locust: bool, control: bool
) -> None:
    assert (reaches(peer, MASTER, 5557), reaches(peer, MASTER, 8090)) == (locust, control), who
    assert not any(reaches(peer, WORKER, port) for port in (5557, 8090, 80)), "nobody calls a worker"


def test_policies_go_with_the_scenario_of_the_run() -> None:
    for policy in POLICIES:
        meta = policy["metadata"]
        assert [owner["uid"] for owner in meta["ownerReferences"]] == ["uid-of-scenario"]
        assert meta["labels"][names.LABEL_RUN] == PLAN.run
        assert policy["spec"]["policyTypes"] == ["Ingress"], "what goes out is left to the cluster"


def test_the_chart_labels_the_operators_pod_as_the_policies_know_it() -> None:
    helpers = (TREE / "charts" / "loadtest-operator" / "templates" / "_helpers.tpl").read_text()
    deployment = (TREE / "charts" / "loadtest-operator" / "templates" / "deployment.yaml").read_text()
    for name, value in network.OPERATOR_LABELS.items():
        assert yaml.safe_dump({name: value}).strip() in helpers + deployment
