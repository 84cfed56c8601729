"""The sample Runner's chart and the twin of the real one of 2021: one layout, told apart by session.backend."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sample_runner.settings import Settings
from sample_runner.start import command
from tests.cluster.paths import TREE
from tests.unit.charts.rendering import helm, of_kind

SAMPLE, REAL = TREE / "charts" / "runner", TREE / "tests" / "charts" / "runner-2021"
BOTH = pytest.mark.parametrize("chart", [SAMPLE, REAL], ids=["sample", "2021"])
BACKENDS = TREE / "manifests" / "samples" / "backends.yaml"


def render(chart: Path, **values: Any) -> list[dict[str, Any]]:
    flags = [part for path, value in values.items() for part in ("--set-json", f"{path}={json.dumps(value)}")]
    done = helm("template", "any-release", str(chart), *flags)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def environment(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = of_kind(objects, "Deployment")
    return {each["name"]: each.get("value") for each in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}


@BOTH
@pytest.mark.parametrize(
    ("path", "value", "variable"),
    [
        ("webServer.type", "uwsgi-threads", "WEB_SERVER_TYPE"),
        ("webServer.workers", 7, "WEB_SERVER_WORKERS"),
        ("webServer.threads", "10", "WEB_SERVER_THREADS"),
        ("webServer.uwsgiAsyncCores", 9, "WEB_SERVER_UWSGI_ASYNC_CORES"),
        ("datastore.useGRPC", "True", "DATASTORE_USE_GRPC"),
    ],
)
def test_a_setting_reaches_the_environment_as_text(chart: Path, path: str, value: str | int, variable: str) -> None:
    assert environment(render(chart, **{path: value}))[variable] == str(value)


def test_the_session_backend_is_a_value_of_the_sample_chart_alone() -> None:
    path = "session.backend"
    assert environment(render(SAMPLE, **{path: "storage"}))["EQ_SESSION_BACKEND"] == "storage"
    assert "EQ_SESSION_BACKEND" not in environment(render(REAL, **{path: "storage"}))
    assert "session" not in yaml.safe_load((REAL / "values.yaml").read_text())


@BOTH
def test_everything_has_the_charts_name_and_the_releases_labels(chart: Path) -> None:
    objects = render(chart)
    names = {each["kind"]: each["metadata"]["name"] for each in objects}
    assert {names.pop("HorizontalPodAutoscaler")} == {"runner-autoscaler"}
    assert set(names.values()) == {"runner"}
    (deployment,) = of_kind(objects, "Deployment")
    assert (
        deployment["metadata"]["labels"]
        | {
            "app.kubernetes.io/name": "runner",
            "app.kubernetes.io/instance": "any-release",
            "app.kubernetes.io/managed-by": "Helm",
        }
        == deployment["metadata"]["labels"]
    )
    (service,) = of_kind(objects, "Service")
    (port,) = service["spec"]["ports"]
    assert (service["spec"]["type"], port["port"], port["targetPort"]) == ("NodePort", 80, 5000)
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


@BOTH
def test_replicas_and_processors_are_what_the_values_say(chart: Path) -> None:
    paths = {"autoscaler.minReplicas": 3, "autoscaler.maxReplicas": "5", "resources.requests.cpu": "3"}
    objects = render(chart, **paths)
    (deployment,), (autoscaler,) = of_kind(objects, "Deployment"), of_kind(objects, "HorizontalPodAutoscaler")
    assert deployment["spec"]["replicas"] == 3
    assert (autoscaler["spec"]["minReplicas"], autoscaler["spec"]["maxReplicas"]) == (3, 5)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"


@BOTH
def test_two_renderings_are_the_same(chart: Path) -> None:
    assert render(chart) == render(chart)


@BOTH
def test_the_default_values_start_a_runner_that_can_work(chart: Path) -> None:
    set_there = {name: value for name, value in environment(render(chart)).items() if value is not None}
    argv = command(set_there)
    settings = Settings.from_environment(set_there)
    assert any("gevent" in argument for argument in argv) != settings.datastore_use_grpc


def pods() -> list[tuple[str, dict[str, Any]]]:
    objects = [*render(SAMPLE), *render(REAL), *yaml.safe_load_all(BACKENDS.read_text())]
    return [(each["metadata"]["name"], each["spec"]["template"]["spec"]) for each in of_kind(objects, "Deployment")]


def test_all_pods_are_restricted() -> None:
    assert [name for name, _ in pods()] == ["runner", "runner", "redis", "datastore"]
    for name, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in pod["containers"]:
            allowed = container["securityContext"]
            assert not allowed["allowPrivilegeEscalation"], name
            assert allowed["readOnlyRootFilesystem"], name
            assert allowed["capabilities"] == {"drop": ["ALL"]}, name
            assert container["imagePullPolicy"] == "IfNotPresent", name


def test_journeys_of_a_configmap_take_the_place_of_the_images() -> None:
    objects = render(SAMPLE, **{"journey.configMap": "mine"})
    (deployment,) = of_kind(objects, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert {"name": "journeys", "configMap": {"name": "mine"}} in pod["volumes"]
    folder = environment(objects)["RUNNER_JOURNEY"]
    assert {"name": "journeys", "mountPath": folder, "readOnly": True} in pod["containers"][0]["volumeMounts"]
    assert "RUNNER_JOURNEY" not in environment(render(SAMPLE))


def test_the_charts_are_well_formed() -> None:
    for chart in (SAMPLE, REAL):
        done = helm("lint", "--strict", str(chart))
        assert done.returncode == 0, done.stdout
