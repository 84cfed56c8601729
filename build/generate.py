# ruff: noqa: INP001 - a script, not a package
"""Writes what is made from the models: the CRD, its copy in the chart, and the reference page."""

from pathlib import Path

from loadtest.api import crd, reference

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write all three; tests fail where one of them is stale."""
    for path in ("crds/loadtests.loadtest.eqrunner.dev.yaml", "charts/loadtest-operator/files/crd.yaml"):
        (ROOT / path).write_text(crd.text())
    (ROOT / "docs/reference/loadtest.md").write_text(reference.text())


if __name__ == "__main__":
    main()
