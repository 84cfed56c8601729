"""`loadtest run FILE` on a cluster: apply the file's documents, follow the run, end with its tables and exit code."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlencode

import click

from loadtest.adapters.kube import Kube, Missing, Rejected, path
from loadtest.api import names
from loadtest.api.status import LoadTestStatus
from loadtest.cli.cluster import default_namespace, with_cluster
from loadtest.cli.report import written
from loadtest.cli.sources import from_cluster
from loadtest.cli.watch import ended, exit_code, follow_to_end
from loadtest.local.documents import BadFile, Documents, Json, read

FIELD_MANAGER = "loadtest-cli"
APPLY_PATCH = "application/apply-patch+yaml"
UNUSABLE = 2
INTERRUPTED = 130


def run_in_cluster(
    file: Path, namespace: str | None, context: str | None, *, rerun: bool, interval: float, strict: bool = False
) -> int:
    """Apply and follow; `rerun` gives `spec.rerun` a new value, so that a test that ran before runs again."""
    try:
        documents = read(file)
        where = _namespace(documents, namespace, context)
    except BadFile as error:
        click.echo(f"{error}", err=True)
        return UNUSABLE
    if rerun:
        spec = documents.loadtest.setdefault("spec", {})
        spec["rerun"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def work(kube: Kube) -> int:
        try:
            for body in documents.others:
                await apply_document(kube, body, body["metadata"].get("namespace") or where)
            made = await apply_document(kube, documents.loadtest, where)
        except (Rejected, Missing) as error:
            click.echo(f"{file}: {error}", err=True)
            return UNUSABLE
        if ended(made, LoadTestStatus.model_validate(made.get("status") or {})):
            click.echo("this very test ran before, and its result follows; --rerun runs it again")
        status = await follow_to_end(kube, where, documents.name, interval)
        click.echo()
        click.echo(written(await from_cluster(kube, where, documents.name), "md"))
        return exit_code(status, strict=strict)

    try:
        return with_cluster(context, work)
    except KeyboardInterrupt:
        click.echo(
            f"\nthe run goes on in the cluster: `loadtest watch {documents.name} -n {where}` follows it again",
            err=True,
        )
        return INTERRUPTED


def _namespace(documents: Documents, wanted: str | None, context: str | None) -> str:
    """The namespace of the LoadTest: its own, the wanted one, or that of the context."""
    own = documents.loadtest["metadata"].get("namespace")
    if own and wanted and own != wanted:
        raise BadFile(f"metadata.namespace of the LoadTest is {own}, and --namespace is {wanted}: leave one out")
    return str(own or wanted or default_namespace(context))


async def apply_document(kube: Kube, body: Json, namespace: str) -> Json:
    """Server-side apply, as `kubectl apply --server-side --force-conflicts`; the object as it is then."""
    name = body["metadata"]["name"]
    if body["kind"] == names.KIND:
        where = path(names.PLURAL, namespace, name)
    elif body["kind"] == "ConfigMap":
        where = path("configmaps", namespace, name)
    else:  # Secrets are none of the operator's kinds: the person who runs this applies one with rights of their own
        where = f"api/v1/namespaces/{quote(namespace, safe='')}/secrets/{quote(name, safe='')}"
    query = urlencode({"fieldManager": FIELD_MANAGER, "force": "true"})
    sent = body | {"metadata": body["metadata"] | {"namespace": namespace}}
    return await kube.request("PATCH", f"{where}?{query}", sent, content_type=APPLY_PATCH)
