"""The proof that a result follows from its records: every figure of the status, computed again."""

from __future__ import annotations

from collections.abc import Mapping

from loadtest.api.comparison import VariantComparison
from loadtest.api.figures import Figures, StageResult
from loadtest.api.status import Phase
from loadtest.core import objectives
from loadtest.core.capacity import capacities
from loadtest.core.compare import common_stages, comparisons
from loadtest.core.expand import InvalidSpec, RunPlan, expand
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
    return problems + _judged(result), checked


def _judged(result: Result) -> list[str]:
    """What follows from the figures by the plan: objectives, comparison, capacity; nothing without the plan."""
    status = result.status.model_copy(deep=True)
    if result.spec is None or status.run_id is None:
        return []
    try:
        plan = expand(status.run_id, result.spec)
    except InvalidSpec:
        return []
    for _, run, stage in result.stages():
        shown = (stage.missed_objectives, stage.unknown_objectives)
        again = stage.model_copy()
        objectives.judge(plan, again)
        if (again.missed_objectives, again.unknown_objectives) != shown:
            return [f"repeat {run.repeat}, stage {stage.index}: other objectives are missed or unknown than are shown"]
    problems = []
    if status.objectives is not None and objectives.results(plan, status) != status.objectives:
        problems.append("objectives: they do not follow from the stages")
    if status.comparison is not None and _comparison(result, plan) != status.comparison:
        problems.append("comparison: it does not follow from the stages and their records")
    if status.capacity is not None and capacities(result.variants) != status.capacity:
        problems.append("capacity: it does not follow from the stages")
    return problems


def _comparison(result: Result, plan: RunPlan) -> list[VariantComparison]:
    stages = common_stages(result.variants)
    overall: dict[tuple[str, int], Figures] = {}
    for variant in result.variants:
        for run in variant.runs:
            stored = [result.record(stage) for stage in run.stages if stage.index in stages]
            whole = figures.pooled([parse(record) for record in stored if record is not None])
            if whole is not None and None not in stored:
                overall[variant.name, run.repeat] = whole
    ending = result.status.ending
    complete = ending is not None and ending.phase is Phase.SUCCEEDED
    earlier = result.status.baseline
    return comparisons(plan, result.variants, overall if not earlier else {}, complete=complete, earlier=earlier)


def _compare(where: str, shown: Figures | StageResult, again: Figures | StageResult) -> list[str]:
    left, right = shown.model_dump(exclude=_ADDED), again.model_dump(exclude=_ADDED)
    return [
        f"{where}: {field} is {left[field]}, recomputed {right.get(field)}"
        for field in left
        if left[field] != right.get(field)
    ]
