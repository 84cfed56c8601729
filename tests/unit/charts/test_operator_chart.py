"""Chart loadtest-operator as it renders."""

import re
from typing import Any

import pytest
import yaml

from loadtest.handlers.health import Health
from loadtest.reconcile.loop import Reconciler
from tests.cluster.paths import TREE
from tests.unit.charts.rendering import CHARTS, NAMESPACE, helm, of_kind, render, rules, verbs
from tests.unit.reconcile.world import World

_CHART = "loadtest-operator"
_CRD = "loadtests.loadtest.eqrunner.dev.yaml"
_LISTED = {"watchNamespaces": ["performance", "qa"]}


def _pods(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each["spec"]["template"]["spec"] for each in objects if each["kind"] in {"Deployment", "Job"}]


def _operator(objects: list[dict[str, Any]]) -> dict[str, Any]:
    deployment = of_kind(objects, "Deployment")[0]
    container: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return container


def _environment(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in _operator(objects)["env"]}


def test_the_chart_is_well_formed() -> None:
    done = helm("lint", "--strict", str(CHARTS / _CHART))
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


def test_the_charts_crd_is_the_generated_one() -> None:
    assert (CHARTS / _CHART / "files" / "crd.yaml").read_bytes() == (TREE / "crds" / _CRD).read_bytes()


def test_the_crd_is_rendered_whole_and_kept_by_an_uninstall() -> None:
    generated = yaml.safe_load((TREE / "crds" / _CRD).read_text())
    rendered = of_kind(render(_CHART), "CustomResourceDefinition")
    generated["metadata"]["annotations"] = {
        **generated["metadata"].get("annotations", {}),
        "helm.sh/resource-policy": "keep",
    }
    assert rendered == [generated]


def test_the_crd_can_be_left_out() -> None:
    assert of_kind(render(_CHART, {"crds.install": False}), "CustomResourceDefinition") == []


@pytest.mark.parametrize("values", [{}, _LISTED], ids=["all namespaces", "listed namespaces"])
def test_rights_are_exactly_what_the_operator_does(values: dict[str, Any]) -> None:
    objects = render(_CHART, values)
    granted = {
        (group, resource): verbs(objects, group, resource)
        for rule in rules(objects)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    everywhere = {} if values else {("", "namespaces"): {"get"}}
    assert granted == everywhere | {
        ("loadtest.eqrunner.dev", "loadtests"): {"get", "list", "watch", "patch"},
        ("loadtest.eqrunner.dev", "loadtests/status"): {"get", "patch", "update"},
        ("loadtest.eqrunner.dev", "loadtests/finalizers"): {"update"},
        ("", "pods"): {"get", "list", "create", "delete"},
        ("", "configmaps"): {"get", "list", "create", "patch", "delete"},
        ("", "events"): {"create"},
        ("events.k8s.io", "events"): {"create"},
        ("networking.k8s.io", "networkpolicies"): {"create"},
        ("coordination.k8s.io", "leases"): {"get", "create", "update", "patch", "delete"},
    }


def test_with_listed_namespaces_nothing_is_cluster_wide_but_the_crd() -> None:
    objects = render(_CHART, _LISTED)
    assert of_kind(objects, "ClusterRole") == of_kind(objects, "ClusterRoleBinding") == []
    places = {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in of_kind(objects, "Role")}
    assert places == {
        ("performance", "loadtest-operator"),
        ("qa", "loadtest-operator"),
        (NAMESPACE, "loadtest-operator-leases"),
    }
    assert all("namespace" in each["metadata"] for each in objects if each["kind"] != "CustomResourceDefinition")
    assert _environment(objects)["LOADTEST_WATCH_NAMESPACES"] == "performance,qa"


@pytest.mark.parametrize("values", [{}, _LISTED])
def test_every_role_is_bound_to_the_operators_account_alone(values: dict[str, Any]) -> None:
    objects = render(_CHART, values)
    roles = [each for each in objects if each["kind"].endswith("Role")]
    bindings = [each for each in objects if each["kind"].endswith("RoleBinding")]
    key = ("name", "namespace")
    assert {tuple(each["metadata"].get(k) for k in key) for each in roles} == {
        (each["roleRef"]["name"], each["metadata"].get("namespace")) for each in bindings
    }
    subject = {"kind": "ServiceAccount", "name": "loadtest-operator", "namespace": NAMESPACE}
    assert all(each["subjects"] == [subject] for each in bindings)
    assert [each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")] == ["loadtest-operator"]


def test_all_pods_meet_pod_security_restricted_with_a_read_only_root() -> None:
    pods = _pods(render(_CHART))
    assert len(pods) == 2
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert {kind for volume in pod["volumes"] for kind in volume if kind != "name"} <= {"secret", "emptyDir"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert set(container["resources"]["requests"]) == {"cpu", "memory"}
            assert container["resources"]["limits"] == {"memory": "192Mi"}


def test_there_is_never_more_than_one_operator() -> None:
    spec = of_kind(render(_CHART), "Deployment")[0]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_the_operator_learns_its_settings_from_the_environment() -> None:
    values = {
        "image": {"repository": "registry.test/op", "tag": "1.2.3"},
        "injectorImage": {"repository": "registry.test/in", "tag": "sha256:" + "a" * 64},
        "imagePullPolicy": "Always",
        "helmServiceAccount": "deployer",
        "logFormat": "json",
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "limits": {
            "outsideHosts": ["*.qa.org", "203.0.113.0/24"],
            "maxUsers": 1_000_000,
            "maxSpawnRate": 0,
            "maxLoad": "12h",
        },
    }
    objects = render(_CHART, values)
    assert _operator(objects)["image"] == "registry.test/op:1.2.3"
    assert _environment(objects) == {
        "LOADTEST_NAMESPACE": None,
        "LOADTEST_WATCH_NAMESPACES": "",
        "LOADTEST_OPERATOR_IMAGE": "registry.test/op:1.2.3",
        "LOADTEST_INJECTOR_IMAGE": "registry.test/in@sha256:" + "a" * 64,
        "LOADTEST_IMAGE_PULL_POLICY": "Always",
        "LOADTEST_HELM_SERVICE_ACCOUNT": "deployer",
        "LOADTEST_LEASE_SECONDS": "1200",
        "LOADTEST_TOKEN_KEY_FILE": "/etc/loadtest-operator/token-key/key",
        "LOADTEST_CLUSTER_DOMAIN": "cluster.local",
        "LOADTEST_OUTSIDE_HOSTS": "*.qa.org,203.0.113.0/24",
        "LOADTEST_MAX_USERS": "1000000",
        "LOADTEST_MAX_SPAWN_RATE": "",
        "LOADTEST_MAX_REQUEST_RATE": "",
        "LOADTEST_MAX_LOAD": "12h",
        "LOADTEST_NETWORK_POLICIES": "true",
        "LOADTEST_HEALTH_PORT": "8080",
        "LOADTEST_LOG_FORMAT": "json",
        "TZ": "UTC",
    }


def test_probes_and_metrics_are_on_the_health_port() -> None:
    objects = render(_CHART)
    container = _operator(objects)
    assert container["ports"] == [{"name": "http", "containerPort": 8080}]
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    service = of_kind(objects, "Service")[0]["spec"]
    labels = of_kind(objects, "Deployment")[0]["spec"]["template"]["metadata"]["labels"]
    assert service["ports"] == [{"name": "http", "port": 8080, "targetPort": "http"}]
    assert service["selector"].items() <= labels.items()
    hook = of_kind(objects, "Job")[0]["spec"]["template"]["metadata"]["labels"]
    assert not service["selector"].items() <= hook.items()
    assert of_kind(render(_CHART, {"metrics.service.enabled": False}), "Service") == []


def test_the_token_key_is_random_and_a_given_secret_replaces_it() -> None:
    one, other = (of_kind(render(_CHART), "Secret")[0]["data"]["key"] for _ in range(2))
    assert one != other
    given = render(_CHART, {"tokenKey.existingSecret": "mine"})
    assert of_kind(given, "Secret") == []
    mounted = [
        volume["secret"]["secretName"] for pod in _pods(given) for volume in pod["volumes"] if "secret" in volume
    ]
    assert mounted == ["mine", "mine"]


def test_targets_are_put_back_before_an_uninstall() -> None:
    hook = of_kind(render(_CHART, {"uninstall.timeout": "1h30m"}), "Job")[0]
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    pod = hook["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "loadtest-operator"
    assert pod["containers"][0]["command"] == ["loadtest", "uninstall", "--timeout", "1h30m"]
    assert of_kind(render(_CHART, {"uninstall.restore": False}), "Job") == []


def test_placement_is_taken_over_by_all_pods() -> None:
    values = {
        "nodeSelector": {"pool": "tools"},
        "tolerations": [{"key": "tools"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "pull"}],
    }
    for pod in _pods(render(_CHART, values)):
        assert {key: pod[key] for key in values} == values


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("watchNamespace", ["qa"]),
        ("watchNamespaces", "qa"),
        ("watchNamespaces", ["Not A Name"]),
        ("watchNamespaces", ["qa", "qa"]),
        ("image.tags", "1"),
        ("imagePullPolicy", "Sometimes"),
        ("logFormat", "xml"),
        ("replicas", 2),
        ("uninstall.timeout", "soon"),
        ("uninstall.timeout", ""),
        ("helmServiceAccount", ""),
        ("metrics.service.port", "8080"),
        ("nodeSelector", {"pool": 1}),
    ],
)
def test_values_that_mean_nothing_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match="values don't meet the specifications of the schema"):
        render(_CHART, {name: value})


def test_alerts_are_made_when_asked_for_and_speak_of_metrics_that_there_are() -> None:
    assert of_kind(render(_CHART), "PrometheusRule") == []
    rule = of_kind(
        render(_CHART, {"metrics.prometheusRule": {"enabled": True, "labels": {"team": "eq"}}}), "PrometheusRule"
    )[0]
    assert rule["metadata"]["labels"]["team"] == "eq"
    alerts = rule["spec"]["groups"][0]["rules"]
    metrics = Health(Reconciler(World().ports())).metrics
    metrics.note(
        {
            "metadata": {"uid": "u", "namespace": "n", "name": "x"},
            "status": {"conditions": [{"type": "TargetRestored", "status": "False"}]},
        }
    )
    exposed = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    page = (TREE / "docs" / "alerts.md").read_text()
    for alert in alerts:
        assert set(re.findall(r"loadtest_\w+", alert["expr"])) <= exposed, alert["alert"]
        assert f"| `{alert['alert']}` | {alert['labels']['severity']} |" in page
    families = {f"{family.name}{'_total' if family.type == 'counter' else ''}" for family in metrics.registry.collect()}
    assert families == set(re.findall(r"`(loadtest_\w+)[`{]", page.partition("## Alerts")[0])), "the page has them all"


def test_network_policies_can_be_left_out_with_the_right_to_make_them() -> None:
    of_operator = of_kind(render(_CHART), "NetworkPolicy")[0]["spec"]
    labels = of_kind(render(_CHART), "Deployment")[0]["spec"]["template"]["metadata"]["labels"]
    assert of_operator["podSelector"]["matchLabels"].items() <= labels.items()
    assert of_operator["ingress"] == [{"ports": [{"protocol": "TCP", "port": "http"}]}]
    without = render(_CHART, {"networkPolicies.enabled": False})
    assert of_kind(without, "NetworkPolicy") == []
    assert verbs(without, "networking.k8s.io", "networkpolicies") == set()
    assert _environment(without)["LOADTEST_NETWORK_POLICIES"] == "false"
