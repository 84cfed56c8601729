"""LoadTest resources through the Kubernetes API."""

from __future__ import annotations

import hashlib
import logging
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from loadtest.adapters.kube import Kube, Missing, Rejected
from loadtest.api import names
from loadtest.api.spec import LoadTestSpec, test_defining
from loadtest.api.status import TERMINAL, LoadTestStatus
from loadtest.core.observed import Problem, Resource
from loadtest.ports import Outdated, Ref, Unavailable

log = logging.getLogger(__name__)

PLURAL = names.PLURAL
MAX_EVENT = 1000


def parse(body: dict[str, Any]) -> Resource:
    """A LoadTest from its JSON. A spec that does not parse is kept as a problem, to be told rather than to crash at."""
    meta, spec, invalid = body["metadata"], None, None
    try:
        spec = LoadTestSpec.model_validate(body.get("spec") or {})
        run = names.run_id(meta["uid"], test_defining(spec), spec.rerun)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(["spec", *(str(part) for part in first["loc"])])
        invalid = Problem("InvalidSpec", f"{where}: {first['msg']}")
        run = names.run_id(meta["uid"], {"invalid": body.get("spec")}, "")
    return Resource(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        generation=meta.get("generation", 0),
        resource_version=meta["resourceVersion"],
        spec=spec,
        invalid=invalid,
        status=LoadTestStatus.model_validate(body.get("status") or {}),
        desired_run=run,
        deleting=bool(meta.get("deletionTimestamp")),
        abandoned=(meta.get("annotations") or {}).get(names.ANNOTATION_GIVE_UP_RESTORE) == "true",
        asked=bool((meta.get("annotations") or {}).get(names.ANNOTATION_RESTORE)),
    )


class KubeLoadTests:
    """The `LoadTests` port."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def read(self, ref: Ref) -> Resource | None:
        """The resource, unless another one has its name by now."""
        body = await self._kube.get(PLURAL, ref.namespace, ref.name)
        if body is None or body["metadata"]["uid"] != ref.uid:
            return None
        return parse(body)

    async def ended(self, namespace: str, name: str) -> LoadTestStatus | None:
        """The status of another LoadTest whose last run has ended."""
        body = await self._kube.get(PLURAL, namespace, name)
        status = LoadTestStatus.model_validate(body.get("status") or {}) if body is not None else None
        return status if status is not None and status.phase in TERMINAL else None

    async def write_status(self, resource: Resource, status: LoadTestStatus) -> Resource:
        """Write the whole status on top of exactly the version that was read."""
        body = {
            "metadata": {"uid": resource.uid, "resourceVersion": resource.resource_version},
            "status": _with_removals(resource.status.to_wire(), status.to_wire()),
        }
        try:
            answer = await self._kube.patch(PLURAL, resource.namespace, resource.name, body, status=True)
        except Missing as error:
            raise Outdated(str(error)) from error
        return parse(answer)

    async def event(self, resource: Resource, kind: str, reason: str, message: str) -> None:
        """Post an event. Events are for people: a failure to post one is logged and forgotten."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = hashlib.sha256(f"{resource.uid}{reason}{message}{now}".encode()).hexdigest()[:16]
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{resource.name[:200]}.{digest}", "namespace": resource.namespace},
            "involvedObject": {
                "apiVersion": names.API_VERSION,
                "kind": names.KIND,
                "name": resource.name,
                "namespace": resource.namespace,
                "uid": resource.uid,
                "resourceVersion": resource.resource_version,
            },
            "type": kind,
            "reason": reason,
            "message": message[:MAX_EVENT],
            "source": {"component": names.MANAGER},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._kube.create("events", resource.namespace, body)
        except (Unavailable, Missing, Rejected) as error:
            log.warning("event %s could not be posted: %s", reason, error)


def _with_removals(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`new` as a merge patch over `old`: what is gone is null, maps are merged by key, lists are replaced."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        patch[key] = _with_removals(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return patch
