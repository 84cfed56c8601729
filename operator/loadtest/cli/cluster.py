"""What the commands need of a cluster: the namespace of the context, one LoadTest, its stored records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click
from kubernetes.aio import config

from loadtest.adapters.kube import Kube, Missing
from loadtest.ports import Unavailable

T = TypeVar("T")
SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def default_namespace(context: str | None) -> str:
    """Namespace of the kubeconfig context, or of the pod we run in, or `default`."""
    if context is None and SERVICE_ACCOUNT_NAMESPACE.exists():
        return SERVICE_ACCOUNT_NAMESPACE.read_text().strip()
    try:
        contexts, active = config.list_kube_config_contexts()  # type: ignore[no-untyped-call]
    except config.ConfigException:
        return "default"
    chosen = next((entry for entry in contexts if entry["name"] == context), active) if context else active
    return str((chosen.get("context") or {}).get("namespace") or "default")


def with_cluster(context: str | None, work: Callable[[Kube], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with a connection; a cluster that cannot be reached ends the command with a plain sentence."""

    async def connected() -> T:
        kube = await Kube.connect(context)
        try:
            return await work(kube)
        finally:
            await kube.close()

    try:
        return asyncio.run(connected())
    except config.ConfigException as error:
        raise click.ClickException(f"no cluster: {error}: set KUBECONFIG, or name a context with --context") from error
    except Unavailable as error:
        raise click.ClickException(str(error)) from error


async def get_loadtest(kube: Kube, namespace: str, name: str) -> dict[str, Any]:
    """One LoadTest's JSON; a plain sentence where there is none."""
    try:
        body = await kube.get("loadtests", namespace, name)
    except Missing:
        body = None
    if body is None:
        raise click.ClickException(
            f"there is no LoadTest {name} in namespace {namespace}: `kubectl get loadtests -A` lists them"
        )
    return body
