"""What is reported on: a LoadTest's spec and status, and the stored records of its stages, as far as they are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from loadtest.api import names
from loadtest.api.figures import Figures, StageResult
from loadtest.api.spec import LoadTestSpec
from loadtest.api.status import LoadTestStatus, RunResult, VariantResult
from loadtest.report.series import Digest, digest
from loadtest.results.figures import pooled
from loadtest.results.record import parse


@dataclass(frozen=True)
class Result:
    """One LoadTest with its results.

    Attributes:
        spec: None where it is one that this version cannot read.
        records: stored records by the name in `resultRef`; without them a report has no curves over time. A record of a
            long stage takes some 100 MB when it is read: they are read one after the other, and what is kept of each
            is its digest.
        ran_on: what was loaded, where that is not what the spec says: a process of a laptop.
    """

    name: str
    namespace: str
    spec: LoadTestSpec | None
    status: LoadTestStatus
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ran_on: str | None = None
    _digests: dict[str, Digest | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _pools: dict[tuple[str, ...], Figures | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def variants(self) -> list[VariantResult]:
        """What was measured, in the order of the variants."""
        return self.status.variants or []

    @property
    def baseline(self) -> str | None:
        """Name of the variant that the others are compared with."""
        if self.spec is not None and self.spec.baseline:
            return self.spec.baseline
        return self.variants[0].name if self.variants else None

    def record(self, stage: StageResult) -> Mapping[str, Any] | None:
        """The stored record of a stage, if it is there."""
        return self.records.get(stage.result_ref.name) if stage.result_ref else None

    def digest(self, stage: StageResult) -> Digest | None:
        """What the pictures need of a stage's record; None where the record is not there."""
        name = stage.result_ref.name if stage.result_ref else ""
        if name not in self._digests:
            stored = self.record(stage)
            self._digests[name] = digest(stored) if stored is not None else None
        return self._digests[name]

    def pool(self, stages: Sequence[StageResult]) -> Figures | None:
        """The requests of several stages as if they were one; None where a record is not there."""
        names = tuple(stage.result_ref.name if stage.result_ref else "" for stage in stages)
        if names not in self._pools:
            whole = all(name in self.records for name in names)
            self._pools[names] = pooled([parse(self.records[name]) for name in names]) if whole else None
        return self._pools[names]

    def stages(self) -> Iterator[tuple[VariantResult, RunResult, StageResult]]:
        """Every stage of every repeat."""
        for variant in self.variants:
            for run in variant.runs:
                for stage in run.stages:
                    yield variant, run, stage


def result_of(body: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]] | None = None) -> Result:
    """The result in a LoadTest's JSON. ValueError where its status is none that this version can read."""
    meta = body.get("metadata") or {}
    try:
        spec = LoadTestSpec.model_validate(body.get("spec") or {})
    except ValidationError:
        spec = None
    return Result(
        name=str(meta.get("name") or "loadtest"),
        namespace=str(meta.get("namespace") or "default"),
        spec=spec,
        status=LoadTestStatus.model_validate(body.get("status") or {}),
        records=records or {},
        ran_on=(meta.get("annotations") or {}).get(names.ANNOTATION_RAN_ON),
    )
