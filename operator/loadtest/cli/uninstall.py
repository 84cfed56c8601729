"""`loadtest uninstall`: what must happen before the operator goes."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import click

from loadtest.adapters.kube import Kube, Missing
from loadtest.api import names
from loadtest.api.status import TERMINAL, LoadTestStatus
from loadtest.cli.cluster import with_cluster
from loadtest.cli.watch import exit_code, timeout_seconds

NOT_RESTORED = 7


def uninstall(namespaces: tuple[str, ...], context: str | None, timeout: str) -> int:
    """Set `abort` on every LoadTest with a run, and wait for the ends. 7 where a target was not restored in time."""
    limit = timeout_seconds(timeout)

    async def drain(kube: Kube) -> int:
        deadline = time.monotonic() + limit
        while True:
            running = await _running(kube, namespaces)
            if not running:
                click.echo("no run is on: the operator can go")
                return await _unrestored(kube, namespaces)
            for namespace, name, aborted in running:
                if not aborted:
                    click.echo(f"aborting {namespace}/{name}")
                    with suppress(Missing):  # deleted meanwhile: then its finalizer restores
                        await kube.patch(names.PLURAL, namespace, name, {"spec": {"abort": True}})
            if time.monotonic() > deadline:
                click.echo(f"{len(running)} runs have not ended after {timeout}", err=True)
                return NOT_RESTORED
            await asyncio.sleep(1)

    return with_cluster(context, drain)


async def _all(kube: Kube, namespaces: tuple[str, ...]) -> list[dict[str, object]]:
    if namespaces:
        found = await asyncio.gather(*(kube.list(names.PLURAL, namespace) for namespace in namespaces))
        return [body for bodies in found for body in bodies]
    answer = await kube.request("GET", f"apis/{names.GROUP}/{names.VERSION}/{names.PLURAL}")
    return list(answer.get("items") or [])


async def _running(kube: Kube, namespaces: tuple[str, ...]) -> list[tuple[str, str, bool]]:
    """Namespace, name and abort of each LoadTest whose run is on. One that never had a run has nothing to restore."""
    found = []
    for body in await _all(kube, namespaces):
        meta, spec = body["metadata"], body["spec"]
        status = LoadTestStatus.model_validate(body.get("status") or {})
        if status.run_id and status.phase not in TERMINAL and isinstance(meta, dict) and isinstance(spec, dict):
            found.append((str(meta["namespace"]), str(meta["name"]), bool(spec.get("abort"))))
    return found


async def _unrestored(kube: Kube, namespaces: tuple[str, ...]) -> int:
    code = 0
    for body in await _all(kube, namespaces):
        status = LoadTestStatus.model_validate(body.get("status") or {})
        meta = body["metadata"]
        if exit_code(status) == NOT_RESTORED and isinstance(meta, dict):
            click.echo(
                f"NOT RESTORED: the target of {meta['namespace']}/{meta['name']}; its snapshot is kept", err=True
            )
            code = NOT_RESTORED
    return code
