"""`loadtest watch` and `loadtest wait`: follow a LoadTest, and end with an exit code that says how it went."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import click

from loadtest.adapters.kube import Kube
from loadtest.api.conditions import ConditionType, find_condition
from loadtest.api.durations import parse_duration
from loadtest.api.status import TERMINAL, LoadTestStatus, Verdict
from loadtest.cli import outcome
from loadtest.cli.cluster import default_namespace, get_loadtest, with_cluster
from loadtest.cli.live import LiveView, line

STILL_RUNNING = 124


def exit_code(status: LoadTestStatus, *, strict: bool = False) -> int:
    """The exit code of an ended run.

    0 as wanted, 3 failed an objective (`strict`: or missed one), 4 inconclusive, 5 could not run, 6 aborted, 7 not
    restored.
    """
    restored = find_condition(status.conditions, ConditionType.TARGET_RESTORED)
    if restored is not None and restored.status == "False":
        return 7
    if status.phase == "Failed":
        return 5
    if status.phase == "Aborted":
        return 6
    verdict = status.summary.verdict if status.summary else None
    codes = {Verdict.INCONCLUSIVE: 4, Verdict.FAIL: 3, Verdict.MISS: 3 if strict else 0}
    return codes.get(verdict, 0) if verdict else 0


def ended(body: dict[str, Any], status: LoadTestStatus) -> bool:
    """Whether the run of the present spec has ended."""
    return status.phase in TERMINAL and status.observed_generation >= body["metadata"].get("generation", 0)


def timeout_seconds(text: str) -> float:
    """The seconds of an option --timeout; a plain sentence where it is no duration."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from error


def watch(name: str, namespace: str | None, context: str | None, interval: float, *, strict: bool = False) -> int:
    """Print progress until the end; the exit code of `wait`."""

    async def follow(kube: Kube) -> int:
        status = await follow_to_end(kube, namespace or default_namespace(context), name, interval)
        return exit_code(status, strict=strict)

    return with_cluster(context, follow)


async def follow_to_end(kube: Kube, namespace: str, name: str, interval: float) -> LoadTestStatus:
    """Print progress until the run of the present spec has ended; its last status."""
    view = LiveView()
    while True:
        body = await get_loadtest(kube, namespace, name)
        status = LoadTestStatus.model_validate(body.get("status") or {})
        view.show(status)
        if ended(body, status):
            view.close()
            return status
        await asyncio.sleep(interval)


def wait(
    name: str,
    namespace: str | None,
    context: str | None,
    timeout: str,
    *,
    strict: bool = False,
    form: str = "line",
    junit: Path | None = None,
) -> int:
    """Wait silently until the end, print it as `form`, and write JUnit XML; the exit code says how it went."""
    limit = timeout_seconds(timeout)

    async def until_end(kube: Kube) -> int:
        deadline = time.monotonic() + limit
        where = namespace or default_namespace(context)
        while True:
            body = await get_loadtest(kube, where, name)
            status = LoadTestStatus.model_validate(body.get("status") or {})
            if ended(body, status):
                code = exit_code(status, strict=strict)
                click.echo(outcome.shown(body, form, line(status)))
            elif time.monotonic() >= deadline:
                code = STILL_RUNNING
                click.echo(f"still {status.phase.value} after {timeout}: {line(status)}", err=True)
            else:
                await asyncio.sleep(2)
                continue
            if junit is not None:
                outcome.write_junit(junit, body, code, line(status), strict=strict)
            return code

    return with_cluster(context, until_end)
