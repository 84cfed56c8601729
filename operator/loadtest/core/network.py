"""NetworkPolicies of a run: who may reach its injectors. Locust's own port has no authentication."""

from __future__ import annotations

from typing import Any

from loadtest.api import names
from loadtest.core.expand import RunPlan
from loadtest.core.injector_pods import CONTROL_PORT, LOCUST_PORT
from loadtest.core.manifests import metadata
from loadtest.core.observed import Resource

Json = dict[str, Any]

OPERATOR_LABELS = {"app.kubernetes.io/name": "loadtest-operator", "app.kubernetes.io/component": "operator"}
"""Of the operator's pod, as charts/loadtest-operator labels it."""


def policies(resource: Resource, plan: RunPlan, operator_namespace: str, scenario: Json) -> tuple[Json, ...]:
    """What may come in: to the master Locust from this run's workers and orders from the operator; to workers nothing.

    What goes out is left open: where the target is, and by what way, only the cluster knows. They are owned by the
    run's `scenario` ConfigMap, and go with it at the end of the run.
    """
    workers = {"podSelector": {"matchLabels": _labels(plan, names.ROLE_WORKER)}}
    operator = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": operator_namespace}},
        "podSelector": {"matchLabels": OPERATOR_LABELS},
    }
    to_master = [_rule(workers, LOCUST_PORT), _rule(operator, CONTROL_PORT)]
    return (
        _policy(resource, plan, names.ROLE_MASTER, to_master, scenario),
        _policy(resource, plan, names.ROLE_WORKER, [], scenario),
    )


def _labels(plan: RunPlan, role: str) -> dict[str, str]:
    return {names.LABEL_RUN: plan.run, names.LABEL_ROLE: role}


def _rule(peer: Json, port: int) -> Json:
    return {"from": [peer], "ports": [{"protocol": "TCP", "port": port}]}


def _policy(resource: Resource, plan: RunPlan, role: str, ingress: list[Json], scenario: Json) -> Json:
    meta = metadata(resource, plan.run, names.network_policy(plan.run, role), resource.namespace, {})
    owner = scenario["metadata"]
    meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}]
    spec = {
        "podSelector": {"matchLabels": _labels(plan, role)},
        "policyTypes": ["Ingress"],
        "ingress": ingress,
    }
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta, "spec": spec}
