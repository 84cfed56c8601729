from __future__ import annotations

from pathlib import Path

import pytest

from loadtest.core.permission import Policy
from loadtest.settings import BadSettings, load


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef\n")
    return {
        "LOADTEST_NAMESPACE": "operators",
        "LOADTEST_OPERATOR_IMAGE": "loadtest/operator:1",
        "LOADTEST_INJECTOR_IMAGE": "loadtest/injector:1",
        "LOADTEST_TOKEN_KEY_FILE": str(key),
    }


def test_what_is_left_out_has_a_default(environment: dict[str, str]) -> None:
    settings = load(environment)
    assert (settings.namespace, settings.operator_image) == ("operators", "loadtest/operator:1")
    assert settings.token_key == b"0123456789abcdef", "a line break at the end of the file is no part of the key"
    assert (settings.watch_namespaces, settings.image_pull_policy) == ((), "IfNotPresent")
    assert (settings.health_port, settings.json_logs, settings.context) == (8080, False, None)
    assert settings.helm_service_account == "loadtest-helm"
    assert settings.policy == Policy(), "no host outside the cluster, and no ceiling"


def test_everything_can_be_set(environment: dict[str, str]) -> None:
    settings = load(
        environment
        | {
            "LOADTEST_WATCH_NAMESPACES": " performance, qa,,",
            "LOADTEST_IMAGE_PULL_POLICY": "Never",
            "LOADTEST_HEALTH_PORT": "9090",
            "LOADTEST_LOG_FORMAT": "json",
            "LOADTEST_HELM_SERVICE_ACCOUNT": "deployer",
            "LOADTEST_CONTEXT": "kind",
            "LOADTEST_OUTSIDE_HOSTS": "WWW.example.org, *.qa.org,203.0.113.0/24",
            "LOADTEST_CLUSTER_DOMAIN": "K8s.example.",
            "LOADTEST_MAX_USERS": "6000",
            "LOADTEST_MAX_SPAWN_RATE": "500",
            "LOADTEST_MAX_REQUEST_RATE": "700",
            "LOADTEST_MAX_LOAD": "1h30m",
            "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        }
    )
    assert settings.policy == Policy(
        outside_hosts=("www.example.org", "*.qa.org", "203.0.113.0/24"), cluster_domain="k8s.example",
        api_server=("10.96.0.1",), max_users=6000, max_spawn_rate=500, max_request_rate=700, max_load_seconds=5400,
    )  # fmt: skip
    assert settings.watch_namespaces == ("performance", "qa")
    assert (settings.image_pull_policy, settings.health_port, settings.json_logs) == ("Never", 9090, True)
    assert (settings.helm_service_account, settings.context) == ("deployer", "kind")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOADTEST_NAMESPACE", ""),
        ("LOADTEST_NAMESPACE", "  "),
        ("LOADTEST_OPERATOR_IMAGE", ""),
        ("LOADTEST_INJECTOR_IMAGE", ""),
        ("LOADTEST_HEALTH_PORT", "http"),
        ("LOADTEST_HEALTH_PORT", "-1"),
        ("LOADTEST_TOKEN_KEY_FILE", "/nowhere/key"),
        ("LOADTEST_OUTSIDE_HOSTS", "http://example.org"),
        ("LOADTEST_MAX_USERS", "-1"),
        ("LOADTEST_MAX_USERS", "0"),
        ("LOADTEST_MAX_SPAWN_RATE", "1.5"),
        ("LOADTEST_MAX_LOAD", "20"),
    ],
)
def test_what_is_missing_or_wrong_is_named(environment: dict[str, str], name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=name):
        load(environment | {name: value})


def test_a_key_that_can_be_guessed_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short\n")
    with pytest.raises(BadSettings, match="fewer than 16 bytes"):
        load(environment)
