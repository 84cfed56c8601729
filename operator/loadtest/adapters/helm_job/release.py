"""A Helm release as helm stores it: decoding, encoding, and the hashes by which two are compared. Pure.

Source of the format: helm 3 `pkg/storage/driver` (secrets.go, util.go) and `pkg/release`. A revision is the Secret
`sh.helm.release.v1.NAME.vN` of type `helm.sh/release.v1`; its key `release` holds base64 of gzip of JSON, and the
Secret's own encoding puts base64 around that once more. Helm 2's uncompressed form is read too.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadtest.adapters.helm_job import chart as charts
from loadtest.adapters.helm_job import values as chart_values

SECRET_TYPE = "helm.sh/release.v1"  # noqa: S105  a type of Secret, not a secret
DEPLOYED, FAILED, SUPERSEDED, UNINSTALLED, UNINSTALLING = (
    "deployed",
    "failed",
    "superseded",
    "uninstalled",
    "uninstalling",
)
PENDING_UPGRADE, PENDING_ROLLBACK = "pending-upgrade", "pending-rollback"
_GZIP_MAGIC = b"\x1f\x8b\x08"


def secret_name(release: str, revision: int) -> str:
    """The name of the Secret that holds one revision."""
    return f"sh.helm.release.v1.{release}.v{revision}"


@dataclass(frozen=True)
class Release:
    """One revision of a release.

    Attributes:
        body: the stored JSON object.
        packed: the same as stored, without any base64: gzip of JSON (plain JSON from very old helms).
        labels: those of the Secret; helm keeps the labels of a release there and nowhere else.
    """

    body: Mapping[str, Any]
    packed: bytes
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The release's name."""
        return str(self.body["name"])

    @property
    def revision(self) -> int:
        """1 for the first."""
        return int(self.body["version"])

    @property
    def status(self) -> str:
        """Helm's word: deployed, superseded, failed, pending-upgrade, ..."""
        return str(self._info.get("status", "unknown"))

    @property
    def description(self) -> str:
        """What helm says about the revision; for a finished upgrade it is what `--description` gave."""
        return str(self._info.get("description", ""))

    @property
    def _info(self) -> Mapping[str, Any]:
        return self.body.get("info") or {}

    @property
    def chart(self) -> Mapping[str, Any]:
        """The chart as stored: metadata, templates, files, default values, without subcharts."""
        return self.body.get("chart") or {}

    @property
    def user_values(self) -> chart_values.Values:
        """The values that were given on top of the chart's own: what `helm get values` shows."""
        return self.body.get("config") or {}

    @property
    def manifest(self) -> str:
        """What `helm get manifest` shows."""
        return str(self.body.get("manifest", ""))

    @property
    def values_sha256(self) -> str:
        """Hash of the user values."""
        return chart_values.sha256(self.user_values)

    @property
    def manifest_sha256(self) -> str:
        """Hash of the manifest's bytes."""
        return hashlib.sha256(self.manifest.encode()).hexdigest()

    @property
    def chart_sha256(self) -> str:
        """Hash of the chart: see `chart.digest`."""
        return charts.digest(self.chart)

    def same_content(self, other: Release) -> bool:
        """Whether user values and manifest are the same, byte for byte; the revision may differ."""
        return (self.values_sha256, self.manifest_sha256) == (other.values_sha256, other.manifest_sha256)

    def summary(self) -> dict[str, Any]:
        """What may be told of a release: hashes, and no value."""
        return {
            "revision": self.revision,
            "status": self.status,
            "valuesSha256": self.values_sha256,
            "manifestSha256": self.manifest_sha256,
            "chart": charts.title(self.chart),
            "chartSha256": self.chart_sha256,
        }


def unpack(packed: bytes, labels: Mapping[str, str]) -> Release:
    """A release from its stored bytes.

    Raises:
        ValueError: they are not a release.
    """
    try:
        text = gzip.decompress(packed) if packed.startswith(_GZIP_MAGIC) else packed
        body = json.loads(text)
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError("not a stored Helm release") from error
    if not isinstance(body, dict) or "name" not in body or "version" not in body:
        raise ValueError("not a stored Helm release")
    return Release(body, packed, dict(labels))


def from_secret(secret: Mapping[str, Any]) -> Release:
    """A release from the Secret that holds it.

    Raises:
        ValueError: the Secret holds none.
    """
    try:
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
    except (KeyError, TypeError, binascii.Error) as error:
        raise ValueError("not a stored Helm release") from error
    return unpack(packed, secret["metadata"].get("labels") or {})


def to_secret(release: Release, namespace: str, status: str) -> dict[str, Any]:
    """The Secret that holds this revision with this status, as helm itself would have written it."""
    body = {**release.body, "info": {**release._info, "status": status}}  # noqa: SLF001  of the same class
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    stored = base64.b64encode(gzip.compress(text.encode(), mtime=0))
    labels = {**release.labels, "name": release.name, "owner": "helm", "status": status}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": SECRET_TYPE,
        "metadata": {
            "name": secret_name(release.name, release.revision),
            "namespace": namespace,
            "labels": {**labels, "version": str(release.revision)},
        },
        "data": {"release": base64.b64encode(stored).decode()},
    }
