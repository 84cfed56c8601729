"""What the master is told about measurements, and what it needs to ask their sources. Pure.

An order names no Secret: what a source needs is mounted into the master, in a folder with the measurement's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from loadtest.api.measurements import (
    CloudMonitoringMeasurement,
    Measurement,
    PrometheusMeasurement,
    RedisMeasurement,
    SecretKey,
    SourceTls,
)
from loadtest.api.spec import LoadTestSpec
from loadtest.core.observed import TargetPod

Json = dict[str, Any]

SECRETS_DIR = "/etc/loadtest/secrets"
PASSWORD_FILE = "password"  # noqa: S105 - the name of a file
TOKEN_FILE = "token"  # noqa: S105 - as above
CA_FILE = "ca.crt"


LATE_SECONDS = 75.0
"""How long after a window the points of pods are waited for at most; see the injector's `measure.pods`."""

PATIENCE_SECONDS = 180.0
"""How long points of Cloud Monitoring are waited for that are late beyond their delay; see the injector."""

TRIES_SECONDS = 60.0
"""How long a server that is asked after the window is tried for at most."""


class Metric(NamedTuple):
    """A metric of Google Cloud, and how its series become one."""

    metric: str
    aligner: str
    reducer: str


METRICS = {
    "MemorystoreConnections": Metric("redis.googleapis.com/clients/connected", "Max", "Sum"),
    "MemorystoreCpu": Metric("redis.googleapis.com/stats/cpu_utilization", "Rate", "Sum"),
    "GkeContainerCores": Metric("kubernetes.io/container/cpu/core_usage_time", "Rate", "Sum"),
    "DatastoreRequests": Metric("datastore.googleapis.com/api/request_count", "Rate", "Sum"),
    "LoadBalancerRequests": Metric("loadbalancing.googleapis.com/https/request_count", "Rate", "Sum"),
}
"""The presets of cloudMonitoring. No percentiles: of these the mean over alignment periods would be none."""


def measurement_orders(spec: LoadTestSpec, pods: Mapping[str, TargetPod], namespace: str) -> list[Json]:
    """The `measurements` of a stage order; `pods` are the target's, which are in `namespace`."""
    return [_order(one, pods, namespace) for one in spec.measurements or ()]


def target_namespace(spec: LoadTestSpec, own: str) -> str:
    """Where the target's pods are; `own` is the LoadTest's namespace."""
    target = spec.target
    return target.release.namespace if target.release else target.namespace or own


def longest_wait_seconds(spec: LoadTestSpec) -> float:
    """How long after a window its measurements may take at most."""
    waits = [0.0]
    for one in spec.measurements or ():
        waits.append(LATE_SECONDS if one.pods else 0.0)
        waits.append(one.cloud_monitoring.delay.seconds + 2 * PATIENCE_SECONDS if one.cloud_monitoring else 0.0)
        waits.append(one.prometheus.delay.seconds + TRIES_SECONDS if one.prometheus else 0.0)
    return max(waits)


def least_wait_seconds(spec: LoadTestSpec) -> float:
    """How long after a window its measurements take at least."""
    late = [one.prometheus or one.cloud_monitoring for one in spec.measurements or ()]
    return max((one.delay.seconds for one in late if one is not None), default=0.0)


def _order(one: Measurement, pods: Mapping[str, TargetPod], namespace: str) -> Json:
    order: Json = {"name": one.name, "required": one.required}
    if one.redis is not None:
        order["redis"] = _redis(one.redis)
    elif one.pods is not None:
        order["pods"] = _pods(pods, namespace)
    elif one.prometheus is not None:
        order["prometheus"] = _prometheus(one.prometheus)
    elif one.cloud_monitoring is not None:
        order["cloudMonitoring"] = _cloud_monitoring(one.cloud_monitoring)
    return order


def _pods(pods: Mapping[str, TargetPod], namespace: str) -> Json:
    """The pods, and the CPU that they may count on, which goes into the record with the order."""
    cpu = [pod.cpu_millicores for pod in pods.values()]
    available = None if None in cpu else sum(each or 0 for each in cpu)
    return {"namespace": namespace, "pods": sorted(pods), "cpuMillicoresAvailable": available}


def _prometheus(prometheus: PrometheusMeasurement) -> Json:
    return {
        "url": prometheus.url,
        "query": prometheus.query,
        "stepSeconds": int(prometheus.step.seconds),
        "delaySeconds": prometheus.delay.seconds,
        "token": prometheus.token_secret is not None,
        "ca": prometheus.tls is not None and prometheus.tls.ca_config_map is not None,
    }


def _redis(redis: RedisMeasurement) -> Json:
    host, _, port = redis.address.rpartition(":")
    order: Json = {"host": host.strip("[]"), "port": int(port), "password": redis.password_secret is not None}
    if redis.username is not None:
        order["username"] = redis.username
    if redis.tls is not None:
        order |= {"tls": True, "ca": redis.tls.ca_config_map is not None}
    return order


def _cloud_monitoring(one: CloudMonitoringMeasurement) -> Json:
    preset = METRICS[one.preset] if one.preset is not None else None
    metric = f'metric.type="{preset.metric}"' if preset else None
    return {
        "project": one.project,
        "filter": " AND ".join(part for part in (metric, one.filter and f"({one.filter})") if part),
        "aligner": f"ALIGN_{(preset.aligner if preset else one.aligner or 'Mean').upper()}",
        "reducer": f"REDUCE_{(preset.reducer if preset else one.reducer or 'Sum').upper()}",
        "alignmentSeconds": int(one.alignment.seconds),
        "delaySeconds": one.delay.seconds,
    }


def secrets_volume(spec: LoadTestSpec) -> Json | None:
    """The volume with the files that sources need; None where none needs any.

    A Secret that is missing keeps the master from starting only where the measurement is required.
    """
    sources: list[Json] = []
    for one in spec.measurements or ():
        secret, file, tls = _needs(one)
        if secret is not None:
            sources.append({"secret": _item(secret.name, secret.key, f"{one.name}/{file}", one)})
        if tls is not None and tls.ca_config_map is not None:
            ca = tls.ca_config_map
            sources.append({"configMap": _item(ca.name, ca.key, f"{one.name}/{CA_FILE}", one)})
    return {"name": "secrets", "projected": {"defaultMode": 0o440, "sources": sources}} if sources else None


def required_secrets(spec: LoadTestSpec) -> list[str]:
    """What must be there for the master to start, such as `Secret redis`."""
    volume = secrets_volume(spec)
    if volume is None:
        return []
    return [
        f"{kind} {source['name']}"
        for entry in volume["projected"]["sources"]
        for kind, source in (("Secret", entry.get("secret")), ("ConfigMap", entry.get("configMap")))
        if source and not source["optional"]
    ]


def _needs(one: Measurement) -> tuple[SecretKey | None, str, SourceTls | None]:
    """The Secret and the file it becomes, and the authority."""
    if one.redis is not None:
        return one.redis.password_secret, PASSWORD_FILE, one.redis.tls
    if one.prometheus is not None:
        return one.prometheus.token_secret, TOKEN_FILE, one.prometheus.tls
    return None, "", None


def _item(name: str, key: str, path: str, one: Measurement) -> Json:
    return {"name": name, "items": [{"key": key, "path": path}], "optional": not one.required}
