"""What the operator asks for: the file `request.json` that it mounts into every helm Job of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadtest.adapters.helm_job import values as chart_values

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""A DNS subdomain: also keeps a leading dash away from helm's command line."""
_CHART_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]{0,251}")
_VERSION = re.compile(r"[A-Za-z0-9][-+A-Za-z0-9_.]{0,127}")
_REPOSITORY = re.compile(r"(https?|oci)://[^\s]+")


@dataclass(frozen=True)
class NamedChart:
    """A chart to fetch, for releases whose stored chart cannot serve."""

    repo: str
    name: str
    version: str


@dataclass(frozen=True)
class Setting:
    """A value path that some variants set by name; it must exist in the chart."""

    setting: str
    path: str


@dataclass(frozen=True)
class Request:
    """One run's request.

    Attributes:
        owner: namespace and name of the LoadTest, for people.
        state: the ConfigMap that outcomes go into; owner of the snapshot.
        snapshot: the Secret that holds the original.
        variants: for each variant the values that go on top of the release's own.
        timeout_seconds: for one call of helm.
        lease: name of the Lease of the release.
        holder: how the run signs it.
    """

    run: str
    owner: str
    release: str
    namespace: str
    chart: NamedChart | None
    state: str
    snapshot: str
    variants: Mapping[str, chart_values.Values]
    settings: tuple[Setting, ...]
    timeout_seconds: int
    lease: str
    holder: str

    def description(self, variant: str) -> str:
        """How a revision of this run is marked in `helm history`, and recognised."""
        return f"loadtest run {self.run} variant {variant}"


def load(path: Path) -> Request:
    """Reads the file.

    Raises:
        ValueError: it does not hold a request.
    """
    raw = json.loads(path.read_text())
    try:
        request = Request(
            run=raw["run"],
            owner=raw["owner"],
            release=raw["release"],
            namespace=raw["namespace"],
            chart=_chart(raw.get("chart")),
            state=raw["state"],
            snapshot=raw["snapshot"],
            variants={name: values or {} for name, values in raw["variants"].items()},
            settings=tuple(Setting(each["setting"], each["path"]) for each in raw["settings"]),
            timeout_seconds=int(raw["timeoutSeconds"]),
            lease=raw["lease"],
            holder=raw["holder"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path.name}: {type(error).__name__} {error}") from error
    for field in ("run", "release", "namespace", "state", "snapshot", "lease"):
        if not _NAME.fullmatch(getattr(request, field)):
            raise ValueError(f"{path.name}: {field} is not a name")
    return request


def _chart(raw: Any) -> NamedChart | None:
    if raw is None:
        return None
    chart = NamedChart(raw["repo"], raw["name"], raw["version"])
    rules = ((_REPOSITORY, chart.repo), (_CHART_NAME, chart.name), (_VERSION, chart.version))
    for rule, text in rules:
        if not rule.fullmatch(text):
            raise ValueError("chart: repo must be an http(s) or oci URL, name and version plain words")
    return chart
