"""Where the commands take a result from: the cluster, a folder that was saved, or a LoadTest's YAML or JSON.

A folder holds what `loadtest report --save` and `loadtest run --local` leave in it:

    loadtest.yaml        the LoadTest with its status, as `kubectl get -o yaml` shows it
    records/<name>.json  the ConfigMaps with the records of its stages
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import ValidationError

from loadtest.adapters.kube import Kube
from loadtest.adapters.store import KubeStore, decode, joined, parts_of
from loadtest.api import names
from loadtest.cli.cluster import default_namespace, get_loadtest, with_cluster
from loadtest.report.result import Result, result_of

LOADTEST_FILE = "loadtest.yaml"
RECORDS = "records"

Json = dict[str, Any]
Parts = Mapping[str, list[Json]]
"""The ConfigMaps of each record, in order, by the record's name."""


@dataclass(frozen=True)
class Source:
    """A result, with the LoadTest it is of, the ConfigMaps of its records, and the SHA-256 of each record."""

    body: Json
    parts: Parts
    result: Result
    hashes: Mapping[str, str]


def load(name: str, namespace: str | None, context: str | None, *, records: bool = True) -> Source:
    """The result of `name`: a folder or file of that path, else the LoadTest of that name in the cluster.

    Without `records` only what its status holds.
    """
    path = Path(name)
    if path.is_dir():
        return _folder(path) if records else _source(_read(path / LOADTEST_FILE), {})
    if path.is_file():
        return _source(_read(path), {})
    if path.suffix or len(path.parts) > 1:
        raise click.ClickException(f"{name}: there is no such file or folder")
    where = namespace or default_namespace(context)
    return with_cluster(context, lambda kube: from_cluster(kube, where, name, records=records))


async def from_cluster(kube: Kube, namespace: str, name: str, *, records: bool = True) -> Source:
    """A LoadTest and the stored records of its stages, as far as they are there."""
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND} | await get_loadtest(kube, namespace, name)
    store, refs = KubeStore(kube), _references(body) if records else []
    found = await asyncio.gather(*(store.parts(namespace, ref) for ref in refs))
    return _source(body, {ref: parts for ref, parts in zip(refs, found, strict=True) if parts is not None})


def keep(source: Source, folder: Path) -> None:
    """Write LoadTest and records into a folder, for `load`.

    Raises:
        OSError: that does not go.
    """
    (folder / RECORDS).mkdir(parents=True, exist_ok=True)
    (folder / LOADTEST_FILE).write_text(yaml.safe_dump(source.body, sort_keys=False, width=120), encoding="utf-8")
    for parts in source.parts.values():
        for part in parts:
            (folder / RECORDS / f"{part['metadata']['name']}.json").write_text(json.dumps(part), encoding="utf-8")


def _folder(folder: Path) -> Source:
    body = _read(folder / LOADTEST_FILE)
    found: dict[str, list[Json]] = {}
    for ref in _references(body):
        first = folder / RECORDS / f"{ref}-p0.json"
        if first.exists():
            try:
                count = parts_of(json.loads(first.read_text(encoding="utf-8")))
                files = [first.with_name(f"{ref}-p{number}.json") for number in range(count)]
                found[ref] = [json.loads(file.read_text(encoding="utf-8")) for file in files]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise click.ClickException(f"{first}: the record cannot be read: {error}") from error
    return _source(body, found)


def _read(path: Path) -> Json:
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise click.ClickException(f"{path} cannot be read: {error}") from error
    if not isinstance(body, dict) or body.get("kind") != names.KIND:
        raise click.ClickException(
            f"{path} is no LoadTest: give what `kubectl get loadtest NAME -o yaml` wrote, or the folder of "
            "`loadtest report NAME --save`"
        )
    return body


def _source(body: Json, parts: Parts) -> Source:
    try:
        result = result_of(body, _Records(parts))
    except ValidationError as error:
        raise click.ClickException(f"the status cannot be read by this version of loadtest: {error}") from error
    return Source(body, parts, result, {ref: _sha256(ref, each) for ref, each in parts.items()})


def _sha256(ref: str, parts: list[Json]) -> str:
    try:
        return hashlib.sha256(joined(parts)).hexdigest()
    except (KeyError, TypeError, ValueError) as error:
        raise click.ClickException(f"record {ref} cannot be read: {error}") from error


class _Records(Mapping[str, Json]):
    """The records, each read when it is asked for: all of them at once would not fit into memory."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __getitem__(self, ref: str) -> Json:
        parts = self._parts[ref]
        try:
            return decode(joined(parts))
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise click.ClickException(f"record {ref} cannot be read: {error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def _references(body: Json) -> list[str]:
    variants = (body.get("status") or {}).get("variants") or []
    stages = [stage for variant in variants for run in variant.get("runs") or [] for stage in run.get("stages") or []]
    return [stage["resultRef"]["name"] for stage in stages if stage.get("resultRef")]
