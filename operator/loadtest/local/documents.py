"""The file that `loadtest run` takes: one LoadTest, and beside it the ConfigMaps and Secrets that it refers to."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from loadtest.api import names

Json = dict[str, Any]

DEFAULT_NAMESPACE = "default"
SUPPORTED = {"ConfigMap": "configmaps", "Secret": "secrets"}


class BadFile(ValueError):  # noqa: N818 - named for the fact
    """The file cannot be used; the message names the place and the remedy."""


@dataclass(frozen=True)
class Documents:
    """What a file holds.

    Attributes:
        loadtest: the LoadTest, as written.
        others: ConfigMaps and Secrets.
        ignored: kind and name of what else is there; only a cluster has a use for it.
    """

    loadtest: Json
    others: tuple[Json, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the LoadTest."""
        return str(self.loadtest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Namespace of the LoadTest; `default` where it names none."""
        return str(self.loadtest["metadata"].get("namespace") or DEFAULT_NAMESPACE)

    def find(self, kind: str, name: str) -> Json | None:
        """The ConfigMap or Secret of that name in the LoadTest's namespace."""
        return next(
            (
                body
                for body in self.others
                if body["kind"] == kind
                and body["metadata"]["name"] == name
                and (body["metadata"].get("namespace") or self.namespace) == self.namespace
            ),
            None,
        )


def read(path: Path, files: Sequence[str] = ()) -> Documents:
    """Read the documents of `path`, and `files` (each `name/key=path`) as ConfigMaps and Secrets beside them.

    Raises:
        BadFile: it cannot be read, or does not hold exactly one LoadTest.
    """
    documents = parse(_text(path), str(path))
    return Documents(documents.loadtest, (*documents.others, *_added(files, documents)), documents.ignored)


def parse(text: str, where: str) -> Documents:
    """The documents of a YAML text; `where` names it in messages."""
    try:
        bodies = [body for body in yaml.safe_load_all(text) if body is not None]
    except yaml.YAMLError as error:
        raise BadFile(f"{where}: this is not YAML: {error}") from error
    loadtests, others, ignored = [], [], []
    for number, body in enumerate(bodies, 1):
        _check(body, f"{where}, document {number}")
        if body["kind"] == names.KIND:
            loadtests.append(body)
        elif body["kind"] in SUPPORTED:
            others.append(body)
        else:
            ignored.append(f"{body['kind']} {body['metadata']['name']}")
    if len(loadtests) != 1:
        found = "no LoadTest" if not loadtests else f"{len(loadtests)} LoadTests"
        raise BadFile(f"{where} holds {found}: give a file with exactly one document of kind: LoadTest")
    if (version := loadtests[0].get("apiVersion")) != names.API_VERSION:
        raise BadFile(f"{where}: apiVersion of the LoadTest is {version!r}: write {names.API_VERSION}")
    return Documents(loadtests[0], tuple(others), tuple(ignored))


def _check(body: Any, where: str) -> None:
    """A document must be an object as Kubernetes has them."""
    if not isinstance(body, dict) or not isinstance(body.get("kind"), str):
        raise BadFile(f"{where}: kind is missing: each document is a Kubernetes object, such as kind: LoadTest")
    meta = body.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        raise BadFile(f"{where} ({body['kind']}): metadata.name is missing: give it a name")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as error:
        raise BadFile(f"{path} cannot be read: {error}") from error


def _added(files: Sequence[str], documents: Documents) -> Iterator[Json]:
    """The objects that `--file name/key=path` adds: a name is that of a ConfigMap and of a Secret alike."""
    data: dict[str, dict[str, str]] = {}
    for entry in files:
        where, equals, path = entry.partition("=")
        name, slash, key = where.partition("/")
        if not (name and slash and key and equals and path):
            raise BadFile(
                f"--file {entry}: write it as name/key=path, such as launch-keys/signing.pem=keys/signing.pem"
            )
        try:
            data.setdefault(name, {})[key] = base64.b64encode(Path(path).read_bytes()).decode()
        except OSError as error:
            raise BadFile(f"--file {entry}: {error}") from error
    for name, added in data.items():
        if documents.find("ConfigMap", name) or documents.find("Secret", name):
            raise BadFile(f"--file {name}/...: {name} is in the file already: add the key there, or use another name")
        meta = {"name": name, "namespace": documents.namespace}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": dict(meta), "binaryData": dict(added)}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": dict(meta), "data": dict(added)}


def content(body: Json) -> dict[str, bytes]:
    """What a ConfigMap or Secret holds, by key.

    Raises:
        BadFile: a value is not text, or not base64 where it must be.
    """
    where = f"{body['kind']} {body['metadata']['name']}"
    plain, encoded = ("stringData", "data") if body["kind"] == "Secret" else ("data", "binaryData")
    found: dict[str, bytes] = {}
    for field in (encoded, plain):
        for key, value in (body.get(field) or {}).items():
            if not isinstance(value, str):
                raise BadFile(f"{where}, {field}.{key}: the value must be text: put it in quotes")
            try:
                found[key] = value.encode() if field == plain else base64.b64decode(value, validate=True)
            except ValueError as error:
                raise BadFile(f"{where}, {field}.{key}: this is not base64: {error}") from error
    return found
