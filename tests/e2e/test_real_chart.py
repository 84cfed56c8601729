"""A chart laid out like the real Runner's of 2021, with the preset alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.stand import ROOT, SYSTEM, TARGET, TESTS, Stand
from tests.e2e.runs import Runs, condition, spec, stages

CHART = Path(__file__).parents[1] / "charts" / "runner-2021"
NAMESPACE = "runner-2021"
RELEASE = {"name": "eq-runner", "namespace": NAMESPACE}


@pytest.fixture(scope="module")
def release(stand: Stand) -> Iterator[dict[str, str]]:
    """The real chart's twin, in a namespace of its own, beside the same backends."""
    stand.namespace(NAMESPACE, allowed_from=TESTS)
    stand.helm("upgrade", "--install", "loadtest-target", str(ROOT / "charts" / "loadtest-target"), "-n", NAMESPACE,
               "--set", f"operator.namespace={SYSTEM}")  # fmt: skip
    for secret in ("keys",):
        body = stand.get("secret", secret, TARGET)
        assert body is not None
        body["metadata"] = {"name": secret, "namespace": NAMESPACE}
        stand.apply(json.dumps(body))
    config = stand.get("configmap", "runner-config", TARGET)
    assert config is not None
    config["metadata"] = {"name": "runner-config", "namespace": NAMESPACE}
    config["data"]["redis_host"] = f"redis.{TARGET}.svc"
    stand.apply(json.dumps(config))
    stand.helm(
        "upgrade", "--install", "eq-runner", str(CHART), "-n", NAMESPACE, "-f", str(CHART / "sample-values.yaml")
    )
    stand.kubectl("rollout", "status", "deployment/runner", "-n", NAMESPACE, "--timeout=180s")
    before = stand.release("eq-runner", NAMESPACE)
    assert before is not None
    yield before
    stand.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def body(runner: dict[str, object]) -> dict[str, object]:
    made = spec(variants=[{"name": "variant", "runner": runner}], release=RELEASE)
    made["target"]["url"] = f"http://runner.{NAMESPACE}.svc:80"
    return made


def test_the_preset_alone_serves_the_real_chart(runs: Runs, stand: Stand, release: dict[str, str]) -> None:
    runs.apply(
        "real-chart",
        body({"workerClass": "gthread", "workers": 2, "threads": 3, "datastoreTransport": "grpc", "replicas": 2}),
    )
    status = runs.finished("real-chart")
    assert status["phase"] == "Succeeded", status["conditions"]
    (stage,) = stages(status)
    assert (stage["valid"], stage["failures"]) == ("True", 0), stage
    assert stand.release("eq-runner", NAMESPACE) == release


def test_a_setting_that_the_real_chart_has_not_is_refused_before_any_write(
    runs: Runs, stand: Stand, release: dict[str, str]
) -> None:
    history = stand.helm("history", "eq-runner", "-n", NAMESPACE)
    runs.apply("unsupported", body({"sessionBackend": "datastore"}))
    status = runs.finished("unsupported", 60)
    stalled = condition(status, "Stalled") or {}
    assert (status["phase"], stalled["reason"]) == ("Failed", "SettingNotSupported")
    assert "sessionBackend" in stalled["message"]
    assert stand.helm("history", "eq-runner", "-n", NAMESPACE) == history
