"""`loadtest restore`: the operator is asked to put a target back, and waited for."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import click

from loadtest.adapters.kube import Kube
from loadtest.api import names
from loadtest.api.conditions import Condition, ConditionType, find_condition
from loadtest.api.status import TERMINAL, LoadTestStatus
from loadtest.cli.cluster import default_namespace, get_loadtest, with_cluster
from loadtest.cli.watch import timeout_seconds

NOT_RESTORED = 7
LOOK_SECONDS = 1.0
BY_HAND = "docs/restore-by-hand.md says how to do it without the operator"


def restore(name: str, namespace: str | None, context: str | None, timeout: str) -> int:
    """Abort the run that is on, or ask for another try at its restore; 0 once the target is restored, else 7."""
    limit = timeout_seconds(timeout)

    async def work(kube: Kube) -> int:
        where = namespace or default_namespace(context)
        body = await get_loadtest(kube, where, name)
        status = LoadTestStatus.model_validate(body.get("status") or {})
        if not status.run_id:
            click.echo("no run has begun: there is nothing to restore")
            return 0
        if status.phase not in TERMINAL:
            click.echo("the run is on: aborting it")
            await kube.patch(names.PLURAL, where, name, {"spec": {"abort": True}})
        elif (last := _restored(body)) is None or last.status == "True":
            click.echo(f"nothing to do: {last.message if last else 'the run changed nothing'}")
            return 0
        else:
            await _ask(kube, where, name, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        try:
            return await _wait(kube, where, name, time.monotonic() + limit)
        finally:
            await _ask(kube, where, name, None)

    return with_cluster(context, work)


async def _ask(kube: Kube, namespace: str, name: str, value: str | None) -> None:
    annotations = {names.ANNOTATION_RESTORE: value}
    await kube.patch(names.PLURAL, namespace, name, {"metadata": {"annotations": annotations}})


async def _wait(kube: Kube, namespace: str, name: str, until: float) -> int:
    """Follow the restore; what the operator says of it is shown whenever it changes."""
    shown = ""
    while True:
        body = await get_loadtest(kube, namespace, name)
        status = LoadTestStatus.model_validate(body.get("status") or {})
        told = _restored(body)
        if told is not None and told.status == "True" and status.phase in TERMINAL:
            click.echo(f"restored: {told.message}")
            return 0
        now = find_condition(status.conditions, ConditionType.RECONCILING) or told
        if now is not None and now.message != shown:
            shown = now.message
            click.echo(f"{now.reason}: {shown}")
        if time.monotonic() > until:
            why = f"{told.reason}: {told.message}" if told else "the operator has not said anything: does it run?"
            click.echo(f"NOT RESTORED: {why}; {BY_HAND}", err=True)
            return NOT_RESTORED
        await asyncio.sleep(LOOK_SECONDS)


def _restored(body: dict[str, Any]) -> Condition | None:
    status = LoadTestStatus.model_validate(body.get("status") or {})
    return find_condition(status.conditions, ConditionType.TARGET_RESTORED)
