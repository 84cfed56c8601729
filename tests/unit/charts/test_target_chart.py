"""Chart loadtest-target as it renders."""

from typing import Any

import pytest

from tests.unit.charts.rendering import CHARTS, NAMESPACE, helm, of_kind, render, verbs

_CHART = "loadtest-target"
_CHANGE = {"get", "list", "create", "update", "patch", "delete"}
_WATCH = {"get", "list", "watch"}


def _role(objects: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [each for each in of_kind(objects, "Role") if each["metadata"]["name"] == name]


def test_the_chart_is_well_formed() -> None:
    done = helm("lint", "--strict", str(CHARTS / _CHART))
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


def test_nothing_is_cluster_wide() -> None:
    objects = render(_CHART)
    assert {each["kind"] for each in objects} == {"ServiceAccount", "Role", "RoleBinding"}
    assert {each["metadata"]["namespace"] for each in objects} == {NAMESPACE}


@pytest.mark.parametrize(
    ("group", "resource", "allowed"),
    [
        ("", "secrets", set()),
        ("", "pods", _WATCH),
        ("apps", "deployments", _WATCH),
        ("apps", "replicasets", _WATCH),
        ("autoscaling", "horizontalpodautoscalers", _WATCH),
        ("", "namespaces", {"get"}),
        ("", "configmaps", {"get", "list", "create", "patch", "delete"}),
        ("batch", "jobs", {"get", "list", "watch", "create", "delete"}),
        ("coordination.k8s.io", "leases", {"get", "create", "update", "patch", "delete"}),
    ],
)
def test_the_operator_watches_and_starts_jobs_and_reads_no_secret(group: str, resource: str, allowed: set[str]) -> None:
    assert verbs(_role(render(_CHART), "loadtest-operator-target"), group, resource) == allowed


def test_who_measures_may_list_metrics_of_pods_and_nothing_else() -> None:
    assert _role(render(_CHART), "loadtest-measure") == []
    objects = render(_CHART, {"measure.namespaces": ["performance", "qa"]})
    (role,) = _role(objects, "loadtest-measure")
    assert role["rules"] == [{"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["list"]}]
    (binding,) = [each for each in of_kind(objects, "RoleBinding") if each["metadata"]["name"] == "loadtest-measure"]
    assert [(each["name"], each["namespace"]) for each in binding["subjects"]] == [
        ("loadtest-measure", "performance"),
        ("loadtest-measure", "qa"),
    ]


@pytest.mark.parametrize(
    ("group", "resource", "allowed"),
    [
        ("", "secrets", _CHANGE),
        ("", "configmaps", _CHANGE),
        ("", "services", _CHANGE),
        ("apps", "deployments", _CHANGE),
        ("autoscaling", "horizontalpodautoscalers", _CHANGE),
        ("networking.k8s.io", "ingresses", _CHANGE),
        ("", "pods", set()),
        ("rbac.authorization.k8s.io", "roles", set()),
    ],
)
def test_helm_may_change_what_the_release_renders(group: str, resource: str, allowed: set[str]) -> None:
    assert verbs(_role(render(_CHART), "loadtest-helm"), group, resource) == allowed


def test_kinds_and_rules_can_be_added_and_taken_away() -> None:
    extra = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "watch"]}
    values = {"helm.kinds": {"apps": ["statefulsets"], "policy": []}, "helm.extraRules": [extra]}
    rules = _role(render(_CHART, values), "loadtest-helm")[0]["rules"]
    assert extra in rules
    assert {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"]} not in rules
    assert ["statefulsets"] in [rule["resources"] for rule in rules]
    assert ["policy"] not in [rule["apiGroups"] for rule in rules]


def test_roles_are_bound_to_the_accounts_they_are_for() -> None:
    values = {
        "operator": {"namespace": "ops", "serviceAccount": "load"},
        "helm.serviceAccount": {"create": False, "name": "deployer"},
    }
    objects = render(_CHART, values)
    bound = {each["roleRef"]["name"]: each["subjects"] for each in of_kind(objects, "RoleBinding")}
    assert bound == {
        "loadtest-helm": [{"kind": "ServiceAccount", "name": "deployer", "namespace": NAMESPACE}],
        "loadtest-operator-target": [{"kind": "ServiceAccount", "name": "load", "namespace": "ops"}],
    }
    assert of_kind(objects, "ServiceAccount") == []


def test_where_no_release_may_be_changed_there_is_no_account_and_no_right_to_jobs() -> None:
    objects = render(_CHART, {"helm.enabled": False})
    assert of_kind(objects, "ServiceAccount") == []
    assert [each["metadata"]["name"] for each in of_kind(objects, "Role")] == ["loadtest-operator-target"]
    assert verbs(objects, "batch", "jobs") == set()
    assert verbs(objects, "", "pods") == _WATCH


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("operators", {}),
        ("operator.namespace", ""),
        ("helm.serviceAccount.name", "Upper"),
        ("helm.kinds", {"apps": "deployments"}),
        ("helm.extraRules", [{"apiGroups": ["batch"], "resources": ["jobs"]}]),
    ],
)
def test_values_that_mean_nothing_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match="values don't meet the specifications of the schema"):
        render(_CHART, {name: value})
