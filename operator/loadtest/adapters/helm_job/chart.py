"""A chart rebuilt from a stored release, and the digest by which a chart is recognised.

A stored release holds everything of a chart except its subcharts, so a chart that has some cannot be rebuilt.
"""

from __future__ import annotations

import base64
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loadtest.adapters.helm_job import values as chart_values


def title(chart: Mapping[str, Any]) -> str:
    """Name and version as `helm list` shows them."""
    metadata = chart.get("metadata") or {}
    return f"{metadata.get('name', '')}-{metadata.get('version', '')}"


def has_subcharts(chart: Mapping[str, Any], manifest: str) -> bool:
    """Whether the chart brought subcharts.

    Those that merely lie in `charts/` show only in the source comments that helm writes into the manifest.
    """
    name = re.escape(str((chart.get("metadata") or {}).get("name")))
    inside = re.search(rf"^# Source: {name}/charts/", manifest, re.MULTILINE)
    return _has_dependencies(chart) or inside is not None


def digest(chart: Mapping[str, Any]) -> str:
    """Hex SHA-256 of a stored chart, the same for each release made from the same chart with the same values."""
    return chart_values.sha256([_own(chart), _shared(chart)])


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two releases were made from the same chart, whatever values they were given.

    Helm writes what a release's subcharts add, and which of them are on, into the stored dependencies and default
    values of the parent. That depends on the values, so these two do not count for a chart that has subcharts.
    """
    apart = _own(one) == _own(other)
    return apart if _has_dependencies(one) or _has_dependencies(other) else apart and _shared(one) == _shared(other)


def _has_dependencies(chart: Mapping[str, Any]) -> bool:
    """Whether the chart names subcharts: in the dependencies that were on, or in the lock, which names all."""
    metadata, lock = chart.get("metadata") or {}, chart.get("lock") or {}
    return bool(metadata.get("dependencies") or lock.get("dependencies"))


def _own(chart: Mapping[str, Any]) -> dict[str, Any]:
    """What is the chart's alone."""
    parts = {key: chart.get(key) for key in ("lock", "schema")}
    parts["metadata"] = {key: each for key, each in (chart.get("metadata") or {}).items() if key != "dependencies"}
    for kind in ("templates", "files"):
        # By name: a chart read from a folder and from an archive list the same files in different order.
        parts[kind] = sorted([each["name"], each.get("data") or ""] for each in chart.get(kind) or [])
    return parts


def _shared(chart: Mapping[str, Any]) -> dict[str, Any]:
    """What subcharts have a part in."""
    metadata = chart.get("metadata") or {}
    return {"values": chart.get("values") or {}, "dependencies": metadata.get("dependencies") or []}


def write_archive(chart: Mapping[str, Any], folder: Path) -> Path:
    """Writes the chart as a `.tgz` into `folder` and returns its path.

    An archive, not a folder: helm applies `.helmignore` and its own ignore rules to folders only, and a file that once
    got into the release must not get lost here. Values and metadata are written as JSON, which YAML contains.
    """
    path = folder / "chart.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in _files(chart):
            entry = tarfile.TarInfo(f"chart/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def _files(chart: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    yield "Chart.yaml", chart_values.to_helm(chart["metadata"]).encode()
    yield "values.yaml", chart_values.to_helm(chart.get("values") or {}).encode()
    if chart.get("lock"):
        yield "Chart.lock", chart_values.to_helm(chart["lock"]).encode()
    if chart.get("schema"):
        yield "values.schema.json", base64.b64decode(chart["schema"])
    for kind in ("templates", "files"):
        for each in chart.get(kind) or []:
            yield each["name"], base64.b64decode(each.get("data") or "")
