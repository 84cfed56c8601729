"""The release as it was before the run touched it: an immutable Secret in the target's namespace."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadtest.adapters.helm_job import release as releases
from loadtest.adapters.helm_job.release import Release
from loadtest.adapters.helm_job.request import Request

FORMAT = "loadtest.eqrunner.dev/snapshot/v1"
SECRET_TYPE = "loadtest.eqrunner.dev/snapshot"  # noqa: S105  a type of Secret, not a secret
_ROLE = "loadtest.eqrunner.dev/role"


@dataclass(frozen=True)
class Snapshot:
    """What there is to come back to."""

    original: Release


def to_secret(original: Release, request: Request, state: Mapping[str, Any]) -> dict[str, Any]:
    """The Secret of a snapshot.

    It holds the stored release without helm's own base64, which saves a quarter: a release may be almost as large as a
    Secret may be. The state ConfigMap owns it, so that deleting that one object cleans up; its labels are taken
    over, but for the role.
    """
    meta = {
        "format": FORMAT,
        "run": request.run,
        "owner": request.owner,
        "packedSha256": hashlib.sha256(original.packed).hexdigest(),
        "labels": dict(original.labels),
        "release": original.summary(),  # for people who look; computed anew when read
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": SECRET_TYPE,
        "immutable": True,
        "metadata": {
            "name": request.snapshot,
            "namespace": request.namespace,
            "labels": {**(state["metadata"].get("labels") or {}), _ROLE: "snapshot"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": state["metadata"]["name"],
                    "uid": state["metadata"]["uid"],
                }
            ],
        },
        "data": {"release": _encode(original.packed), "meta": _encode(json.dumps(meta, sort_keys=True).encode())},
    }


def from_secret(secret: Mapping[str, Any]) -> Snapshot:
    """The snapshot in a Secret.

    Raises:
        ValueError: the Secret holds none, or one whose release is not what its meta data say.
    """
    try:
        meta = json.loads(base64.b64decode(secret["data"]["meta"]))
        packed = base64.b64decode(secret["data"]["release"])
        labels, stated = meta["labels"], meta["packedSha256"]
    except (KeyError, TypeError, binascii.Error, json.JSONDecodeError) as error:
        raise ValueError("not a snapshot") from error
    if meta.get("format") != FORMAT or stated != hashlib.sha256(packed).hexdigest():
        raise ValueError("not a snapshot of this format, or damaged")
    return Snapshot(releases.unpack(packed, labels))


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
