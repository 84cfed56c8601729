"""What the master is told about measurements, and what it needs to ask their sources. Pure.

An order names no Secret: what a source needs is mounted into the master, in a folder with the measurement's name.
"""

from __future__ import annotations

from typing import Any

from loadtest.api.measurements import Measurement, RedisMeasurement, SecretKey, SourceTls
from loadtest.api.spec import LoadTestSpec

Json = dict[str, Any]

SECRETS_DIR = "/etc/loadtest/secrets"
PASSWORD_FILE = "password"  # noqa: S105 - the name of a file
CA_FILE = "ca.crt"


def measurement_orders(spec: LoadTestSpec) -> list[Json]:
    """The `measurements` of a stage order."""
    return [_order(one) for one in spec.measurements or ()]


def _order(one: Measurement) -> Json:
    order: Json = {"name": one.name, "required": one.required}
    if one.redis is not None:
        order["redis"] = _redis(one.redis)
    return order


def _redis(redis: RedisMeasurement) -> Json:
    host, _, port = redis.address.rpartition(":")
    order: Json = {"host": host.strip("[]"), "port": int(port), "password": redis.password_secret is not None}
    if redis.username is not None:
        order["username"] = redis.username
    if redis.tls is not None:
        order |= {"tls": True, "ca": redis.tls.ca_config_map is not None}
    return order


def secrets_volume(spec: LoadTestSpec) -> Json | None:
    """The volume with the files that sources need; None where none needs any.

    A Secret that is missing keeps the master from starting only where the measurement is required.
    """
    sources: list[Json] = []
    for one in spec.measurements or ():
        secret, tls = _needs(one)
        if secret is not None:
            sources.append({"secret": _item(secret.name, secret.key, f"{one.name}/{PASSWORD_FILE}", one)})
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


def _needs(one: Measurement) -> tuple[SecretKey | None, SourceTls | None]:
    return (one.redis.password_secret, one.redis.tls) if one.redis is not None else (None, None)


def _item(name: str, key: str, path: str, one: Measurement) -> Json:
    return {"name": name, "items": [{"key": key, "path": path}], "optional": not one.required}
