"""An API server in this process, with the objects of one run.

The cluster's adapters for LoadTests, records and injectors work on it as they are: what they write here is what they
write there, field by field. Pods are started by the kubelet. What a run makes is kept in the folder of its results, as
`loadtest report` reads it:

    loadtest.yaml        the LoadTest with its status, as `kubectl get -o yaml` shows it
    records/<name>.json  the ConfigMaps with the records of its stages
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

import yaml

from loadtest.adapters.kube import APIS, Conflict, Kube, Missing, ServerClock
from loadtest.api import names

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Plural name of the kind, namespace, name."""

LOADTEST_FILE = "loadtest.yaml"
RECORDS = "records"


class Kubelet(Protocol):
    """Runs pods."""

    async def run(self, pod: Json) -> None:
        """Start the pod's process."""

    def status(self, pod: Json) -> Json:
        """The pod's status as it is now."""

    def end(self, pod: Json) -> None:
        """Ask the pod's process to end."""

    def gone(self, pod: Json) -> bool:
        """Whether nothing of a pod that was to end is left."""


class LocalApi(Kube):
    """The requests that the adapters send, answered from memory."""

    def __init__(self, folder: Path, kubelet: Kubelet) -> None:
        self.requests = Counter()
        self.clock = ServerClock()  # which nobody sets: our own wall clock
        self._folder = folder
        self._kubelet = kubelet
        self._objects: dict[Key, Json] = {}
        self._version = 0

    def find(self, plural: str, namespace: str, name: str) -> Json | None:
        """An object by its name."""
        return self._objects.get((plural, namespace, name))

    def add(self, plural: str, namespace: str, body: Json) -> Json:
        """Put an object there that the user gave."""
        meta = {"uid": str(uuid4()), "generation": 1} | body["metadata"] | {"namespace": namespace}
        return self._put((plural, namespace, meta["name"]), body | {"metadata": meta})

    async def close(self) -> None:
        """Nothing is connected."""

    async def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        content_type: str = "application/json",  # noqa: ARG002 - all is JSON here
    ) -> Json:
        """One request, by the API server's rules.

        Raises:
            Conflict, Missing: as a real API server answers.
        """
        self.requests[method] += 1
        plural, namespace, name, status = _parts(path)
        if method == "GET" and not name:
            return {"items": list(self._list(plural, namespace, urlsplit(path).query))}
        key = (plural, namespace, name or (body or {}).get("metadata", {}).get("name", ""))
        if method == "POST":
            return await self._create(key, body or {})
        found = self._live(key)
        if found is None:
            raise Missing(f'{plural} "{key[2]}" not found')
        if method == "GET":
            return found
        if method == "DELETE":
            self._delete(key, found)
            return {}
        version = (body or {}).get("metadata", {}).get("resourceVersion")
        if version not in {None, found["metadata"]["resourceVersion"]}:
            raise Conflict(f'{plural} "{key[2]}" was changed meanwhile')
        changed = merge(found, body) if method == "PATCH" else dict(body or {})
        generation = found["metadata"].get("generation", 1)
        edited = not status and changed.get("spec") != found.get("spec")
        changed["metadata"] = found["metadata"] | {"generation": generation + 1 if edited else generation}
        return self._put(key, changed)

    async def _create(self, key: Key, body: Json) -> Json:
        if self._live(key) is not None:
            raise Conflict(f'{key[0]} "{key[2]}" already exists')
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        made_here = {"uid": str(uuid4()), "generation": 1, "creationTimestamp": now}
        meta = made_here | body["metadata"] | {"namespace": key[1]}
        made = self._put(key, body | {"metadata": meta})
        if key[0] == "pods":
            await self._kubelet.run(made)
        return made

    def _put(self, key: Key, body: Json) -> Json:
        self._version += 1
        body["metadata"] = body["metadata"] | {"resourceVersion": str(self._version)}
        self._objects[key] = body
        self._keep(key, body)
        return body

    def _delete(self, key: Key, found: Json) -> None:
        if key[0] == "pods":  # it goes when its process has gone
            found["metadata"]["deletionTimestamp"] = "now"
            self._kubelet.end(found)
            return
        del self._objects[key]
        if (file := self._file(key, found)) is not None:
            file.unlink(missing_ok=True)

    def _live(self, key: Key) -> Json | None:
        """The object as it is now; None where there is none, or none any more."""
        found = self._objects.get(key)
        if found is None or key[0] != "pods":
            return found
        if found["metadata"].get("deletionTimestamp") and self._kubelet.gone(found):
            del self._objects[key]
            return None
        return found | {"status": self._kubelet.status(found)}

    def _list(self, plural: str, namespace: str, query: str) -> Iterator[Json]:
        selector = parse_qs(query).get("labelSelector", [""])[0]
        wanted = dict(entry.split("=", 1) for entry in selector.split(",") if entry)
        for key in list(self._objects):
            if key[0] != plural or namespace not in {"", key[1]} or (body := self._live(key)) is None:
                continue
            if wanted.items() <= (body["metadata"].get("labels") or {}).items():
                yield body

    def _keep(self, key: Key, body: Json) -> None:
        """Store what a run makes, whole or not at all."""
        if (file := self._file(key, body)) is None:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(body, sort_keys=False, width=120) if file.suffix == ".yaml" else json.dumps(body)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(text)
        os.replace(partial, file)  # noqa: PTH105 - the one that replaces atomically, by its name

    def _file(self, key: Key, body: Json) -> Path | None:
        """Where an object is kept; None for what the user gave and for what nobody asks for afterwards."""
        if key[0] == names.PLURAL:
            return self._folder / LOADTEST_FILE
        if key[0] == "configmaps" and names.LABEL_RUN in (body["metadata"].get("labels") or {}):
            return self._folder / RECORDS / f"{key[2]}.json"
        return None


def merge(target: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7386): maps are merged by key, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def _parts(path: str) -> tuple[str, str, str, bool]:
    """Plural, namespace and name of a request's path, and whether it is for the status alone."""
    where = urlsplit(path).path.strip("/")
    api = next((api for api in sorted({*APIS.values()}) if where.startswith(f"{api}/")), "")
    words = [unquote(word) for word in where.removeprefix(api).strip("/").split("/")]
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:  # noqa: PLR2004 - its name, and then a kind
        namespace, words = words[1], words[2:]
    plural, name, rest = (*words, "", "", "")[:3]
    if not api or APIS.get(plural) != api:
        raise Missing(f"there is no {where} here")
    return plural, namespace, name, rest == "status"
