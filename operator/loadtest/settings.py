"""The operator's settings: the only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadtest.api.durations import parse_duration
from loadtest.core.hosts import check_pattern
from loadtest.core.permission import Policy

SHORTEST_LEASE = 20
"""Seconds: it is renewed twenty times as often, and a step of the loop may take a second."""


class BadSettings(ValueError):  # noqa: N818 - named for the fact
    """The environment does not say enough, or says it wrongly; the message names the variable."""


@dataclass(frozen=True)
class Settings:
    """How this operator was installed.

    Attributes:
        namespace: the operator's own namespace, where Leases of targets without a release live.
        watch_namespaces: namespaces whose LoadTests are run; empty for all.
        operator_image: image of the helm Jobs: this operator's own.
        injector_image: image of master and workers where the LoadTest names none.
        image_pull_policy: pull policy of both.
        token_key: secret from which the token of each run's control port is derived.
        health_port: port of /healthz, /readyz and /metrics.
        json_logs: log lines as JSON.
        helm_service_account: service account, in the target's namespace, that helm Jobs run as.
        lease_seconds: how long a target's Lease holds without a renewal; then the dead-man Job restores the release.
        context: kubeconfig context where the operator does not run in a cluster.
        network_policies: make NetworkPolicies for the injectors of each run.
        policy: which hosts may be loaded, and how much load a LoadTest may make.
    """

    namespace: str
    watch_namespaces: tuple[str, ...]
    operator_image: str
    injector_image: str
    image_pull_policy: str
    token_key: bytes
    health_port: int
    json_logs: bool
    helm_service_account: str
    context: str | None = None
    lease_seconds: int = 1200
    policy: Policy = field(default_factory=Policy)
    network_policies: bool = False


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment gives.

    Raises:
        BadSettings: a variable is missing or wrong.
    """

    def need(name: str) -> str:
        if not (value := environment.get(name, "").strip()):
            raise BadSettings(f"{name} is not set: the chart charts/loadtest-operator sets it")
        return value

    key_file = Path(environment.get("LOADTEST_TOKEN_KEY_FILE", "/etc/loadtest-operator/token-key/key"))
    try:
        token_key = key_file.read_bytes().strip()
    except OSError as error:
        raise BadSettings(f"LOADTEST_TOKEN_KEY_FILE: {error}: mount a Secret with a random key there") from error
    if len(token_key) < 16:  # noqa: PLR2004 - bytes: less can be guessed
        raise BadSettings(f"LOADTEST_TOKEN_KEY_FILE: {key_file} holds fewer than 16 bytes: put a random key there")
    port = environment.get("LOADTEST_HEALTH_PORT", "8080")
    if not port.isdigit():
        raise BadSettings(f"LOADTEST_HEALTH_PORT is {port!r}: give a port number")
    return Settings(
        namespace=need("LOADTEST_NAMESPACE"),
        watch_namespaces=tuple(_list(environment, "LOADTEST_WATCH_NAMESPACES")),
        operator_image=need("LOADTEST_OPERATOR_IMAGE"),
        injector_image=need("LOADTEST_INJECTOR_IMAGE"),
        image_pull_policy=environment.get("LOADTEST_IMAGE_PULL_POLICY", "IfNotPresent"),
        token_key=token_key,
        health_port=int(port),
        json_logs=environment.get("LOADTEST_LOG_FORMAT", "plain") == "json",
        helm_service_account=environment.get("LOADTEST_HELM_SERVICE_ACCOUNT", "loadtest-helm"),
        context=environment.get("LOADTEST_CONTEXT") or None,
        lease_seconds=_lease_seconds(environment),
        policy=_policy(environment),
        network_policies=environment.get("LOADTEST_NETWORK_POLICIES", "") == "true",
    )


def _lease_seconds(environment: Mapping[str, str]) -> int:
    text = environment.get("LOADTEST_LEASE_SECONDS", "1200")
    if not text.isdigit() or int(text) < SHORTEST_LEASE:
        raise BadSettings(f"LOADTEST_LEASE_SECONDS is {text!r}: give seconds, at least {SHORTEST_LEASE}")
    return int(text)


def _policy(environment: Mapping[str, str]) -> Policy:
    try:
        outside = tuple(check_pattern(p) for p in _list(environment, "LOADTEST_OUTSIDE_HOSTS"))
    except ValueError as error:
        raise BadSettings(f"LOADTEST_OUTSIDE_HOSTS: {error}") from error
    longest = environment.get("LOADTEST_MAX_LOAD", "").strip()
    try:
        max_load = parse_duration(longest) if longest else None
    except ValueError as error:
        raise BadSettings(f"LOADTEST_MAX_LOAD: {error}") from error
    return Policy(
        outside_hosts=outside,
        cluster_domain=environment.get("LOADTEST_CLUSTER_DOMAIN", "").strip().strip(".").lower() or "cluster.local",
        api_server=tuple(_list(environment, "KUBERNETES_SERVICE_HOST")),
        max_users=_ceiling(environment, "LOADTEST_MAX_USERS"),
        max_spawn_rate=_ceiling(environment, "LOADTEST_MAX_SPAWN_RATE"),
        max_request_rate=_ceiling(environment, "LOADTEST_MAX_REQUEST_RATE"),
        max_load_seconds=max_load,
    )


def _list(environment: Mapping[str, str], name: str) -> list[str]:
    return [word.strip() for word in environment.get(name, "").split(",") if word.strip()]


def _ceiling(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise BadSettings(f"{name} is {text!r}: give a whole number above 0, or leave it out for no limit")
    return int(text)
