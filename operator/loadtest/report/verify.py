"""The proof that a result follows from its records: every figure of the status, computed again."""

from __future__ import annotations

from collections.abc import Mapping

from loadtest.api.figures import Figures, StageResult
from loadtest.report.result import Result
from loadtest.results import figures
from loadtest.results.record import Record, parse

_ADDED = {"result_ref", "finished_at", "invalid_attempts", "missed_objectives", "unknown_objectives"}
"""What the operator adds to the figures of a record."""


def differences(result: Result, hashes: Mapping[str, str]) -> tuple[list[str], int]:
    """Where the status differs from what its records give, in sentences, and how many records were computed again.

    `hashes` are the SHA-256 of the stored records, by name.
    """
    problems: list[str] = []
    checked = 0
    for variant in result.variants:
        valid: list[Record] = []
        for run in variant.runs:
            for stage in run.stages:
                if stage.result_ref is None:
                    continue
                where = f"{variant.name}, repeat {run.repeat}, stage {stage.index}"
                stored = result.record(stage)
                if stored is None:
                    problems.append(f"{where}: record {stage.result_ref.name} is missing")
                    continue
                checked += 1
                record = parse(stored)
                if hashes.get(stage.result_ref.name) != stage.result_ref.sha256:
                    problems.append(f"{where}: the stored record has another hash than the status says")
                problems += _compare(where, stage, figures.stage_result(record))
                if stage.valid == "True":
                    valid.append(record)
        again = figures.pooled(valid)
        if variant.pooled is not None and again != variant.pooled:
            problems += _compare(f"{variant.name}, pooled", variant.pooled, again or Figures())
    return problems, checked


def _compare(where: str, shown: Figures | StageResult, again: Figures | StageResult) -> list[str]:
    left, right = shown.model_dump(exclude=_ADDED), again.model_dump(exclude=_ADDED)
    return [
        f"{where}: {field} is {left[field]}, recomputed {right.get(field)}"
        for field in left
        if left[field] != right.get(field)
    ]
