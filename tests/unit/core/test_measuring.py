from __future__ import annotations

from typing import Any, get_args

import pytest
from google.cloud.monitoring_v3 import Aggregation

from loadtest.api.measurements import CloudMonitoringMeasurement
from loadtest.core import injector_pods, measuring
from loadtest_injector.measure.sources import (
    CloudMonitoringSource,
    PodsSource,
    PrometheusSource,
    RedisSource,
    Source,
    parse_sources,
)
from tests.unit.api.cases.base import BARE
from tests.unit.core.builders import plan, pod, resource, spec

IMAGES = {"image": "injector:1", "pull_policy": "IfNotPresent"}
TOKEN = {"token_sha256": "ab"}
PASSWORD = {"passwordSecret": {"name": "redis-auth", "key": "auth"}}
TLS = {"tls": {"caConfigMap": {"name": "redis-ca", "key": "server-ca.pem"}}}
ACCOUNT = {"injector": {"masterServiceAccount": "loadtest-measure"}}
PODS = {"measurements": [{"name": "runner", "pods": {}}]} | ACCOUNT
ASKED = {"url": "https://prometheus:9090/prom", "query": "up", "step": "5s", "delay": "500ms"}


def redis(address: str = "redis.runner.svc:6379", *, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"measurements": [{"name": "redis", "required": required, "redis": {"address": address, **more}}]}


def prometheus(**more: Any) -> dict[str, Any]:
    return {"measurements": [{"name": "cpu", "prometheus": ASKED | more}]}


def google(**asked: Any) -> dict[str, Any]:
    return {"measurements": [{"name": "google", "cloudMonitoring": {"project": "eq-test"} | asked}]}


def one_google(filter_: str, aligner: str, reducer: str, delay: float = 240) -> CloudMonitoringSource:
    return CloudMonitoringSource("google", "eq-test", filter_, aligner, reducer, 60, delay)


def one_redis(host: str, port: int, user: str | None = None, *, password: bool = False, **tls: bool) -> RedisSource:
    return RedisSource("redis", host, port, user, password=password, **({"tls": False, "ca": False} | tls))


@pytest.mark.parametrize(
    ("change", "source"),
    [
        (redis(), one_redis("redis.runner.svc", 6379)),
        (redis("10.0.0.3:1"), one_redis("10.0.0.3", 1)),
        (redis("[fd00::3]:6378"), one_redis("fd00::3", 6378)),
        (redis(**PASSWORD, **TLS, username="watcher"),
         one_redis("redis.runner.svc", 6379, "watcher", password=True, tls=True, ca=True)),
        (redis(tls={}), one_redis("redis.runner.svc", 6379, tls=True)),
        (PODS, PodsSource("runner", "runner", ("runner-a", "runner-b"))),
        (prometheus(), PrometheusSource("cpu", ASKED["url"], "up", 5, 0.5, token=False, ca=False)),
        (prometheus(tokenSecret={"name": "t", "key": "k"}, **TLS),
         PrometheusSource("cpu", ASKED["url"], "up", 5, 0.5, token=True, ca=True)),
        (google(filter='metric.type="a" OR metric.type="b"', delay="1m"),
         one_google('(metric.type="a" OR metric.type="b")', "ALIGN_MEAN", "REDUCE_SUM", 60)),
        (google(filter="x", aligner="Rate", reducer="Max"), one_google("(x)", "ALIGN_RATE", "REDUCE_MAX")),
        (google(preset="MemorystoreConnections"),
         one_google('metric.type="redis.googleapis.com/clients/connected"', "ALIGN_MAX", "REDUCE_SUM")),
        (google(preset="GkeContainerCores", filter='resource.labels.namespace_name="runner"'),
         one_google('metric.type="kubernetes.io/container/cpu/core_usage_time" AND '
                    '(resource.labels.namespace_name="runner")', "ALIGN_RATE", "REDUCE_SUM")),
    ],
)  # fmt: skip
def test_the_master_reads_what_the_operator_orders(change: Any, source: Source) -> None:
    pods = {name: pod(name) for name in ("runner-b", "runner-a")}
    orders = measuring.measurement_orders(spec(change), pods, "runner")
    assert parse_sources(orders) == (source,)
    assert "redis-auth" not in str(orders), "an order, and so a record, names no Secret"


@pytest.mark.parametrize(
    ("each", "available"), [((1500, 500), 2000), ((3000, None), None), ((), 0)]
)  # a pod that may take any CPU has none that it may count on
def test_the_order_says_what_cpu_the_pods_may_count_on(each: tuple[int | None, ...], available: int | None) -> None:
    pods = {f"runner-{number}": pod(cpu_millicores=cpu) for number, cpu in enumerate(each)}
    (order,) = measuring.measurement_orders(spec(PODS), pods, "runner")
    assert order["pods"]["cpuMillicoresAvailable"] == available


@pytest.mark.parametrize(
    ("change", "namespace"),
    [
        ({}, "runner"),
        (BARE | {"target": {"url": "http://a", "selector": {"matchLabels": {"app": "a"}}}}, "performance"),
        (BARE | {"target": {"url": "http://a", "selector": {"matchLabels": {"app": "a"}}, "namespace": "b"}}, "b"),
    ],
)
def test_the_targets_pods_are_beside_its_release_or_where_the_selector_looks(change: Any, namespace: str) -> None:
    of = spec(change, BARE) if change else spec()
    assert measuring.target_namespace(of, "performance") == namespace


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


def test_the_account_for_measurements_is_the_masters_alone() -> None:
    of = plan(PODS)
    master = injector_pods.master_pod(resource(of.spec), of, 1, 1, **IMAGES | TOKEN)["spec"]
    worker = injector_pods.worker_pod(resource(of.spec), of, 1, 1, 0, "10.0.0.1", **IMAGES)["spec"]
    assert (master["serviceAccountName"], master["automountServiceAccountToken"]) == ("loadtest-measure", True)
    assert "serviceAccountName" not in worker
    assert worker["automountServiceAccountToken"] is False
    plain = plan()
    assert (
        injector_pods.master_pod(resource(plain.spec), plain, 1, 1, **IMAGES | TOKEN)["spec"][
            "automountServiceAccountToken"
        ]
        is False
    )


def test_a_required_measurement_needs_its_secret_and_another_does_not() -> None:
    assert measuring.required_secrets(spec(redis(**PASSWORD, **TLS, required=True))) == [
        "Secret redis-auth",
        "ConfigMap redis-ca",
    ]
    assert measuring.required_secrets(spec(redis(**PASSWORD, **TLS))) == []


def test_measurements_without_secrets_mount_nothing() -> None:
    assert measuring.secrets_volume(spec(redis())) is None
    assert measuring.secrets_volume(spec()) is None
    assert measuring.measurement_orders(spec(), {}, "runner") == []


def test_every_preset_is_a_metric_and_every_word_one_of_the_api() -> None:
    annotation = CloudMonitoringMeasurement.model_fields["preset"].annotation
    assert set(get_args(get_args(annotation)[0])) == set(measuring.METRICS)
    fields = CloudMonitoringMeasurement.model_fields
    for field, enum, prefix in (("aligner", Aggregation.Aligner, "ALIGN"), ("reducer", Aggregation.Reducer, "REDUCE")):
        for word in get_args(get_args(fields[field].annotation)[0]):
            assert f"{prefix}_{word.upper()}" in enum.__members__
    for metric in measuring.METRICS.values():
        assert f"ALIGN_{metric.aligner.upper()}" in Aggregation.Aligner.__members__


def test_the_injectors_may_live_as_long_as_their_measurements_take() -> None:
    without, late = plan(), plan(prometheus(delay="10m"))
    longer = injector_pods.load_deadline_seconds(late) - injector_pods.load_deadline_seconds(without)
    assert longer == 2 * len(late.stages) * (600 + measuring.TRIES_SECONDS)
    assert measuring.longest_wait_seconds(spec(PODS)) == measuring.LATE_SECONDS
    assert measuring.longest_wait_seconds(spec(redis())) == 0
