"""Whether Flux or Argo CD owns a release. Pure, but for the reading of live objects, which is handed in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

_FLUX = "helm.toolkit.fluxcd.io/"
_ARGO_ANNOTATION = "argocd.argoproj.io/tracking-id"
_ARGO_LABEL = "argocd.argoproj.io/instance"
_PLURALS = {
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("apps/v1", "DaemonSet"): "daemonsets",
    ("v1", "Service"): "services",
}
"""Kinds whose live objects are looked at: tools mark every object, and a release that is loaded has one of these."""
_MOST_READS = 10


def owner_in(metadata: Mapping[str, Any]) -> str | None:
    """The tool that marked an object, in words; None if none did.

    Flux's helm-controller adds its labels to everything that a release renders. Argo CD renders charts without making
    a release, but marks the live objects it applies; `app.kubernetes.io/instance` is not taken as such a mark, since
    nearly every chart sets it.
    """
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if any(key.startswith(_FLUX) for key in labels):
        name, namespace = labels.get(f"{_FLUX}name", "?"), labels.get(f"{_FLUX}namespace", "?")
        return f"Flux (HelmRelease {namespace}/{name})"
    if _ARGO_ANNOTATION in annotations or _ARGO_LABEL in labels:
        application = annotations.get(_ARGO_ANNOTATION, "").split(":")[0] or labels.get(_ARGO_LABEL, "?")
        return f"Argo CD (Application {application})"
    return None


def owner(labels: Mapping[str, str], manifest: str, read: Callable[[str], Any], namespace: str) -> str | None:
    """The tool that owns a release.

    Args:
        labels: of the Secret that holds the release.
        manifest: what was rendered.
        read: gets the live object at an API path; None where it is not there or may not be read.
        namespace: of the release.
    """
    found = owner_in({"labels": labels})
    objects = list(_objects(manifest))
    for metadata in (each["metadata"] for each in objects):
        found = found or owner_in(metadata)
    for path in list(_paths(objects, namespace))[:_MOST_READS]:
        if found:
            break
        found = owner_in((read(path) or {}).get("metadata") or {})
    return found


def _objects(manifest: str) -> Iterator[Mapping[str, Any]]:
    import yaml  # noqa: PLC0415  only a snapshot parses manifests; the other operations start faster without

    # The base loader makes every scalar a string, so that nothing which helm accepted is refused here.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    for text in re.split(r"^---.*$", manifest, flags=re.MULTILINE):
        try:
            each = yaml.load(text, Loader=loader)  # noqa: S506  the base loader makes plain data only
        except yaml.YAMLError:
            continue
        if isinstance(each, dict) and isinstance(each.get("metadata"), dict):
            yield each


def _paths(objects: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[str]:
    for each in objects:
        version, metadata = str(each.get("apiVersion")), each["metadata"]
        plural = _PLURALS.get((version, str(each.get("kind"))))
        if plural:
            root = f"/api/{version}" if version == "v1" else f"/apis/{version}"
            yield f"{root}/namespaces/{metadata.get('namespace') or namespace}/{plural}/{metadata.get('name')}"
