"""Releases that Flux or Argo CD own."""

from typing import Any

import pytest

from loadtest.adapters.helm_job.gitops import owner, owner_in

_FLUX = {"helm.toolkit.fluxcd.io/name": "runner", "helm.toolkit.fluxcd.io/namespace": "eq"}
_PLAIN = "---\n# Source: a\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: runner\n"
_DEPLOYMENT = "/apis/apps/v1/namespaces/eq/deployments/runner"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, None),
        ({"labels": None, "annotations": None}, None),
        ({"labels": {"app.kubernetes.io/instance": "runner", "app.kubernetes.io/managed-by": "Helm"}}, None),
        ({"labels": _FLUX}, "Flux (HelmRelease eq/runner)"),
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "eq-app:apps/Deployment:eq/runner"}},
            "Argo CD (Application eq-app)",
        ),
        ({"labels": {"argocd.argoproj.io/instance": "eq-app"}}, "Argo CD (Application eq-app)"),
    ],
)
def test_the_tool_that_marked_an_object_is_named(metadata: dict[str, Any], expected: str | None) -> None:
    assert owner_in(metadata) == expected


@pytest.mark.parametrize(
    ("labels", "manifest", "live", "expected"),
    [
        ({}, _PLAIN, {}, None),
        ({}, "", {}, None),
        (_FLUX, "", {}, "Flux"),
        ({}, _PLAIN + "  labels: {helm.toolkit.fluxcd.io/name: runner}\n", {}, "Flux"),
        ({}, _PLAIN, {_DEPLOYMENT: {"metadata": {"labels": {"argocd.argoproj.io/instance": "a"}}}}, "Argo CD"),
        ({}, "--- # broken\n\t: {\n" + _PLAIN, {_DEPLOYMENT: {"metadata": {"labels": _FLUX}}}, "Flux"),
        ({}, "---\nkind: List\nmetadata: null\n---\n- a\n", {}, None),
    ],
)
def test_marks_are_found_on_the_stored_release_in_its_manifest_and_on_live_objects(
    labels: dict[str, str], manifest: str, live: dict[str, Any], expected: str | None
) -> None:
    found = owner(labels, manifest, live.get, "eq")
    assert (found is None) if expected is None else (found or "").startswith(expected)


def test_few_live_objects_are_read() -> None:
    manifest = "".join(f"---\napiVersion: v1\nkind: Service\nmetadata: {{name: s{n}}}\n" for n in range(50))
    read: list[str] = []
    assert owner({}, manifest, read.append, "eq") is None
    assert len(read) == 10
