"""Plans, scenarios and stage records in ConfigMaps of the LoadTest's namespace, owned by the LoadTest."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from loadtest.adapters.kube import Kube, Rejected
from loadtest.api import names
from loadtest.api.status import PlanRef
from loadtest.core import manifests, scenario
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Resource
from loadtest.ports import Refused, Stored

PART_BYTES = 900_000
"""Bytes of a part: a ConfigMap takes 1 MiB, and a request to the API server 1.5 MiB with base64 and all."""

PLAN_KEY = "plan.json"
RECORD_KEY = "record.json.gz"
PARTS_ANNOTATION = "loadtest.eqrunner.dev/parts"
ROLE_PLAN = "plan"
ROLE_SCENARIO = "scenario"
ROLE_RESULT = "result"


def encode(record: Mapping[str, Any]) -> bytes:
    """The stored bytes of a record: the same record gives the same bytes."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def decode(data: bytes) -> dict[str, Any]:
    """The record of stored bytes."""
    record: dict[str, Any] = json.loads(gzip.decompress(data))
    return record


def parts_of(first: Mapping[str, Any]) -> int:
    """How many ConfigMaps hold the record of which this is the first."""
    return int(first["metadata"]["annotations"][PARTS_ANNOTATION])


def joined(parts: Sequence[Mapping[str, Any]]) -> bytes:
    """The stored bytes of the record that these ConfigMaps hold, given in order."""
    return b"".join(base64.b64decode(part["binaryData"][RECORD_KEY]) for part in parts)


def _split(files: Mapping[str, bytes]) -> tuple[dict[str, str], dict[str, str]]:
    """`data` and `binaryData` of a ConfigMap with these files."""
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    for name, content in files.items():
        try:
            data[name] = content.decode()
        except UnicodeDecodeError:
            binary[name] = base64.b64encode(content).decode()
    return data, binary


class KubeStore:
    """The `Store` port."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def freeze(self, resource: Resource, plan: RunPlan) -> PlanRef:
        """Store scenario and plan. The plan comes last: while it is missing the run is not admitted."""
        files = await self._files(resource, plan)
        text = plan.to_json()
        data, binary = _split(files)
        folder = manifests.config_map(resource, plan.run, names.scenario(plan.run), data, ROLE_SCENARIO)
        folder |= {"binaryData": binary} if binary else {}
        frozen = manifests.config_map(resource, plan.run, names.plan(plan.run), {PLAN_KEY: text}, ROLE_PLAN)
        try:
            await self._kube.create("configmaps", resource.namespace, folder)
            await self._kube.create("configmaps", resource.namespace, frozen)
        except Rejected as error:
            # Without a plan the run is never admitted, and nobody would come back for its scenario.
            await self._kube.delete("configmaps", resource.namespace, names.scenario(plan.run))
            raise Refused("PlanTooLarge", f"plan or scenario do not fit into a ConfigMap: {error}") from error
        return PlanRef(name=names.plan(plan.run), sha256=hashlib.sha256(text.encode()).hexdigest())

    async def _files(self, resource: Resource, plan: RunPlan) -> dict[str, bytes]:
        """The scenario's files, from the ConfigMap that the spec names."""
        field, name = scenario.name(plan.spec)
        where = f"ConfigMap {resource.namespace}/{name}"
        body = await self._kube.get("configmaps", resource.namespace, name)
        if body is None:
            raise Refused("ScenarioNotFound", f"{where} does not exist: create it, or correct {field}")
        given = {key: text.encode() for key, text in (body.get("data") or {}).items()}
        given |= {key: base64.b64decode(content) for key, content in (body.get("binaryData") or {}).items()}
        try:
            return scenario.files(plan.spec, given)
        except scenario.NoKey as error:
            raise Refused("ScenarioNotFound", f"{where} has {error}") from error
        except scenario.BadScenario as error:
            raise Refused("InvalidScenario", f"{where}, {error}") from error

    async def plan(self, resource: Resource, run: str) -> RunPlan | None:
        """The frozen plan."""
        body = await self._kube.get("configmaps", resource.namespace, names.plan(run))
        return RunPlan.from_json(body["data"][PLAN_KEY]) if body else None

    async def put(self, resource: Resource, name: str, record: Mapping[str, Any]) -> Stored:
        """Store a record in parts. One that is there already, whole, stays; what is left of half a one is replaced."""
        if (found := await self.get(resource.namespace, name)) is not None:
            return found[1]
        data = encode(record)
        parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
        run = resource.status.run_id or ""
        for number, part in enumerate(parts):
            body = manifests.config_map(resource, run, f"{name}-p{number}", {}, ROLE_RESULT)
            body["binaryData"] = {RECORD_KEY: base64.b64encode(part).decode()}
            body["metadata"]["annotations"][PARTS_ANNOTATION] = str(len(parts))
            if not await self._kube.create("configmaps", resource.namespace, body):
                await self._kube.delete("configmaps", resource.namespace, f"{name}-p{number}")
                await self._kube.create("configmaps", resource.namespace, body)
        return Stored(name=name, parts=len(parts), sha256=hashlib.sha256(data).hexdigest())

    async def get(self, namespace: str, name: str) -> tuple[dict[str, Any], Stored] | None:
        """A stored record and where it is; None unless all parts are there."""
        parts = await self.parts(namespace, name)
        if parts is None:
            return None
        data = joined(parts)
        return decode(data), Stored(name=name, parts=len(parts), sha256=hashlib.sha256(data).hexdigest())

    async def parts(self, namespace: str, name: str) -> list[dict[str, Any]] | None:
        """The ConfigMaps of a stored record, in order; None unless all are there."""
        first = await self._kube.get("configmaps", namespace, f"{name}-p0")
        if first is None:
            return None
        count = parts_of(first)
        rest = await asyncio.gather(*(self._kube.get("configmaps", namespace, f"{name}-p{n}") for n in range(1, count)))
        found = [part for part in (first, *rest) if part is not None]
        return found if len(found) == count else None

    async def forget(self, resource: Resource, keep_run: str | None) -> None:
        """Delete what other runs of this LoadTest stored."""
        bodies = await self._kube.list("configmaps", resource.namespace, {names.LABEL_UID: resource.uid})
        roles = {ROLE_PLAN, ROLE_SCENARIO, ROLE_RESULT}
        old = [
            body["metadata"]["name"]
            for body in bodies
            if body["metadata"]["labels"].get(names.LABEL_RUN) != keep_run
            and body["metadata"]["labels"].get(names.LABEL_ROLE) in roles
        ]
        await self._kube.delete_all("configmaps", resource.namespace, old)

    async def drop_plan(self, resource: Resource, run: str) -> None:
        """Delete plan and scenario of a run that has ended: only its results stay."""
        await self._kube.delete("configmaps", resource.namespace, names.scenario(run))
        await self._kube.delete("configmaps", resource.namespace, names.plan(run))
