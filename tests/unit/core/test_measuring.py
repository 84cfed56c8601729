from __future__ import annotations

from typing import Any

import pytest

from loadtest.core import injector_pods, measuring
from loadtest_injector.measure.sources import RedisSource, parse_sources
from tests.unit.core.builders import plan, resource, spec

IMAGES = {"image": "injector:1", "pull_policy": "IfNotPresent"}
TOKEN = {"token_sha256": "ab"}
PASSWORD = {"passwordSecret": {"name": "redis-auth", "key": "auth"}}
TLS = {"tls": {"caConfigMap": {"name": "redis-ca", "key": "server-ca.pem"}}}


def redis(address: str = "redis.runner.svc:6379", *, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"measurements": [{"name": "redis", "required": required, "redis": {"address": address, **more}}]}


@pytest.mark.parametrize(
    ("change", "source"),
    [
        (redis(), RedisSource("redis", "redis.runner.svc", 6379, None, password=False, tls=False, ca=False)),
        (redis("10.0.0.3:1"), RedisSource("redis", "10.0.0.3", 1, None, password=False, tls=False, ca=False)),
        (redis("[fd00::3]:6378"), RedisSource("redis", "fd00::3", 6378, None, password=False, tls=False, ca=False)),
        (redis(**PASSWORD, **TLS, username="watcher"),
         RedisSource("redis", "redis.runner.svc", 6379, "watcher", password=True, tls=True, ca=True)),
        (redis(tls={}), RedisSource("redis", "redis.runner.svc", 6379, None, password=False, tls=True, ca=False)),
    ],
)  # fmt: skip
def test_the_master_reads_what_the_operator_orders(change: Any, source: RedisSource) -> None:
    orders = measuring.measurement_orders(spec(change))
    assert parse_sources(orders) == (source,)
    assert "redis-auth" not in str(orders), "an order, and so a record, names no Secret"


def test_passwords_and_authorities_are_mounted_into_the_master_alone() -> None:
    of = plan(redis(**PASSWORD, **TLS))
    master = injector_pods.master_pod(resource(of.spec), of, 1, 1, **IMAGES | TOKEN)["spec"]
    worker = injector_pods.worker_pod(resource(of.spec), of, 1, 1, 0, "10.0.0.1", **IMAGES)["spec"]
    volume = next(volume for volume in master["volumes"] if volume["name"] == "secrets")
    secret, ca = volume["projected"]["sources"]
    assert secret["secret"] == {
        "name": "redis-auth", "items": [{"key": "auth", "path": "redis/password"}], "optional": True
    }  # fmt: skip
    assert ca["configMap"]["items"] == [{"key": "server-ca.pem", "path": "redis/ca.crt"}]
    mount = {"name": "secrets", "mountPath": "/etc/loadtest/secrets", "readOnly": True}
    assert mount in master["containers"][0]["volumeMounts"]
    assert "redis-auth" not in str(worker)


def test_a_required_measurement_needs_its_secret_and_another_does_not() -> None:
    assert measuring.required_secrets(spec(redis(**PASSWORD, **TLS, required=True))) == [
        "Secret redis-auth",
        "ConfigMap redis-ca",
    ]
    assert measuring.required_secrets(spec(redis(**PASSWORD, **TLS))) == []


def test_measurements_without_secrets_mount_nothing() -> None:
    assert measuring.secrets_volume(spec(redis())) is None
    assert measuring.secrets_volume(spec()) is None
    assert measuring.measurement_orders(spec()) == []
