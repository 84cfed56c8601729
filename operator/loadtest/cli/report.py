"""`loadtest report`: the result as Markdown, and the proof that it follows from the stored records."""

from __future__ import annotations

import click

from loadtest.adapters.kube import Kube
from loadtest.adapters.store import KubeStore
from loadtest.api.figures import Figures, StageResult
from loadtest.api.status import LoadTestStatus
from loadtest.cli.cluster import default_namespace, get_loadtest, with_cluster
from loadtest.results import figures, tables
from loadtest.results.record import Record, parse

DIFFERS = 1


def report(name: str, namespace: str | None, context: str | None, *, verify: bool) -> int:
    """Print the tables; with `verify`, 1 where a figure of the status does not follow from the stored records."""

    async def work(kube: Kube) -> int:
        where = namespace or default_namespace(context)
        body = await get_loadtest(kube, where, name)
        status = LoadTestStatus.model_validate(body.get("status") or {})
        click.echo(tables.report(name, status), nl=False)
        if ((body.get("spec") or {}).get("target") or {}).get("sendSecureCookiesOverHttp"):
            click.echo("\nSecure cookies were sent over plain http (spec.target.sendSecureCookiesOverHttp).")
        if not verify:
            return 0
        problems, checked = await differences(KubeStore(kube), where, status)
        for problem in problems:
            click.echo(problem, err=True)
        click.echo(f"\n{checked} stage records recomputed, {len(problems)} differences.")
        return DIFFERS if problems else 0

    return with_cluster(context, work)


async def differences(store: KubeStore, namespace: str, status: LoadTestStatus) -> tuple[list[str], int]:
    """Where the status differs from what its records give, and how many records were read."""
    problems: list[str] = []
    checked = 0
    for variant in status.variants or ():
        valid: list[Record] = []
        for run in variant.runs:
            for stage in run.stages:
                if stage.result_ref is None:
                    continue
                where = f"{variant.name}, repeat {run.repeat}, stage {stage.index}"
                found = await store.get(namespace, stage.result_ref.name)
                if found is None:
                    problems.append(f"{where}: record {stage.result_ref.name} is missing")
                    continue
                checked += 1
                record = parse(found[0])
                if found[1].sha256 != stage.result_ref.sha256:
                    problems.append(f"{where}: the stored record has another hash than the status says")
                problems += _compare(where, stage, figures.stage_result(record))
                if stage.valid == "True":
                    valid.append(record)
        again = figures.pooled(valid)
        if variant.pooled is not None and again != variant.pooled:
            problems += _compare(f"{variant.name}, pooled", variant.pooled, again or Figures())
    return problems, checked


def _compare(where: str, shown: Figures | StageResult, again: Figures | StageResult) -> list[str]:
    """The fields that differ. What the operator adds to a record's figures is left out."""
    added = {"result_ref", "finished_at", "invalid_attempts", "missed_objectives", "unknown_objectives"}
    left, right = shown.model_dump(exclude=added), again.model_dump(exclude=added)
    return [
        f"{where}: {field} is {left[field]}, recomputed {right.get(field)}"
        for field in left
        if left[field] != right.get(field)
    ]
