"""The verdict: what the figures say, which is another thing than how the run ended."""

from __future__ import annotations

from typing import NamedTuple

from loadtest.api.conditions import Reason
from loadtest.api.objectives import Objective
from loadtest.api.status import LoadTestStatus, ObjectiveResult, VariantResult, Verdict
from loadtest.core import objectives
from loadtest.core.decision import Ending
from loadtest.core.expand import RunPlan

REASONS = {
    Verdict.PASS: Reason.COMPLETED,
    Verdict.MISS: Reason.OBJECTIVE_MISSED,
    Verdict.FAIL: Reason.OBJECTIVE_FAILED,
    Verdict.INCONCLUSIVE: Reason.INCONCLUSIVE,
}
"""Why a run ended whose stages are all over."""


class Judgement(NamedTuple):
    """A verdict, and why, in a sentence."""

    verdict: Verdict
    message: str


def judgement(plan: RunPlan, status: LoadTestStatus) -> Judgement | None:
    """What the figures say so far; None where nothing was measured.

    In this order: a missed objective with onMiss Fail is certain, whatever else is missing. Where too much is invalid
    or too small, nothing can be said. Then any miss counts, and else the run passes.
    """
    variants = status.variants or []
    entries = [entry for variant in variants for run in variant.runs for entry in run.stages]
    if not any(entry.valid != "Unknown" for entry in entries):
        return None
    missed = [result for result in objectives.results(plan, status) or () if result.met == "False"]
    if failed := [result for result in missed if result.on_miss == "Fail"]:
        return Judgement(Verdict.FAIL, _misses(failed))
    if message := _inconclusive(plan, variants):
        return Judgement(Verdict.INCONCLUSIVE, message)
    if missed:
        return Judgement(Verdict.MISS, _misses(missed))
    return Judgement(Verdict.PASS, "every stage was run")


def ending(plan: RunPlan, status: LoadTestStatus) -> Ending:
    """How a run whose stages are all over ends."""
    found = judgement(plan, status)
    if found is None:  # pragma: no cover - a plan has at least one stage
        raise AssertionError("a run whose stages are over has measured something")
    return Ending("Succeeded", REASONS[found.verdict], found.message)


def _misses(missed: list[ObjectiveResult]) -> str:
    return "; ".join(f"{result.name} missed by {result.message}" for result in missed)


def _inconclusive(plan: RunPlan, variants: list[VariantResult]) -> str:
    """Why nothing can be said, if so.

    That is where a variant has more invalid stages than valid ones: then what is left of it is not the load that was
    asked for. And where more of a variant's stages cannot judge an objective than can.
    """
    for variant in variants:
        entries = [entry for run in variant.runs for entry in run.stages if entry.valid != "Unknown"]
        invalid = [entry for entry in entries if entry.valid != "True"]
        if len(invalid) * 2 > len(entries):
            first = invalid[0]
            return (
                f"variant {variant.name}: {len(invalid)} of {len(entries)} stages are invalid, "
                f"such as stage {first.index}: {first.invalid_reason}: {first.invalid_message}"
            )
        for objective in plan.spec.objectives or ():
            found = objectives.tally(objective, variant)
            if found.undecided:
                return (
                    f"variant {variant.name}: {found.unknown} of {found.unknown + found.judged} valid stages cannot "
                    f"judge objective {objective.name}, {objective.says()}: {_remedy(objective)}"
                )
    return ""


def _remedy(objective: Objective) -> str:
    if objective.measurement is not None:
        return f"{objective.measurement.field} of that measurement is unknown there; see status"
    return "they have too few requests: make them longer"
