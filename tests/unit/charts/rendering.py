"""Charts rendered by helm, without a cluster."""

import json
import subprocess
from collections.abc import Iterable
from typing import Any

import yaml

from tests.cluster.binaries import ensure_binaries
from tests.cluster.paths import TREE

CHARTS = TREE / "charts"
NAMESPACE = "loadtest-system"


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs helm and returns whatever became of it."""
    return subprocess.run(
        [str(ensure_binaries("helm")["helm"]), *arguments], capture_output=True, text=True, check=False
    )


def render(chart: str, values: dict[str, Any] | None = None, *, upgrade: bool = False) -> list[dict[str, Any]]:
    """The objects that a chart renders with these values, hooks included."""
    flags = ["--namespace", NAMESPACE, "--kube-version", "1.34.0", *(["--is-upgrade"] if upgrade else [])]
    for name, value in (values or {}).items():
        flags += ["--set-json", f"{name}={json.dumps(value)}"]
    done = helm("template", "test", str(CHARTS / chart), *flags)
    if done.returncode:
        raise ValueError(done.stderr)
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def of_kind(objects: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Those of one kind."""
    return [each for each in objects if each["kind"] == kind]


def rules(objects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All rules of all roles."""
    return [rule for each in objects if each["kind"] in {"Role", "ClusterRole"} for rule in each["rules"]]


def verbs(objects: Iterable[dict[str, Any]], group: str, resource: str) -> set[str]:
    """What all roles together allow with a resource."""
    fitting = [each for each in rules(objects) if group in each["apiGroups"] and resource in each["resources"]]
    return {verb for rule in fitting for verb in rule["verbs"]}
