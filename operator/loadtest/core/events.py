"""Events: one per transition, from the difference of two statuses. The status is the record; events tell the story."""

from __future__ import annotations

from collections.abc import Iterator

from loadtest.api.conditions import ConditionType, find_condition
from loadtest.api.figures import StageResult
from loadtest.api.status import LoadTestStatus

Event = tuple[str, str, str]
"""Kind (Normal or Warning), reason, message."""


def events_between(old: LoadTestStatus, new: LoadTestStatus) -> Iterator[Event]:
    """What happened between two statuses of one LoadTest."""
    if new.run_id != old.run_id and new.ending is None:
        yield "Normal", "Admitted", f"run {new.run_id} is admitted"
    variant = new.release.intended_variant if new.release else None
    if variant and variant != (old.release.intended_variant if old.release else None):
        yield (
            "Normal",
            "Applying",
            f"applying variant {variant} to release {new.release.namespace}/{new.release.name}" if new.release else "",
        )
    yield from _stages(old, new)
    if new.ending is not None and old.ending is None:
        kind = "Normal" if new.ending.phase == "Succeeded" else "Warning"
        yield kind, new.ending.reason, new.ending.message
    restored = find_condition(new.conditions, ConditionType.TARGET_RESTORED)
    before = find_condition(old.conditions, ConditionType.TARGET_RESTORED)
    if restored is not None and (before is None or before.reason != restored.reason):
        yield "Normal" if restored.status == "True" else "Warning", restored.reason, restored.message
    drifted = find_condition(new.conditions, ConditionType.SPEC_DRIFTED)
    if drifted is not None and find_condition(old.conditions, ConditionType.SPEC_DRIFTED) is None:
        yield "Warning", "SpecDrifted", drifted.message
    if new.phase != old.phase:
        yield "Normal", str(new.phase.value), f"phase {old.phase.value} -> {new.phase.value}"


def _stages(old: LoadTestStatus, new: LoadTestStatus) -> Iterator[Event]:
    before = _entries(old) if old.run_id == new.run_id else {}
    for key, entry in _entries(new).items():
        was = before.get(key)
        if was is not None and (was.attempt, was.valid) == (entry.attempt, entry.valid):
            continue
        variant, repeat, index = key
        where = f"variant {variant}, repeat {repeat}, stage {index}, attempt {entry.attempt}"
        if entry.valid == "Unknown":
            yield "Normal", "StageStarted", f"{where}: {entry.injectors} injectors, {entry.users} users"
        elif entry.valid == "True":
            p99 = f", p99 {entry.latency_micros.p99 / 1000:.0f} ms" if entry.latency_micros else ""
            yield "Normal", "StageComplete", f"{where}: {entry.requests} requests, {entry.failures} failures{p99}"
        else:
            yield "Warning", "StageInvalid", f"{where}: {entry.invalid_reason}: {entry.invalid_message}"


def _entries(status: LoadTestStatus) -> dict[tuple[str, int, int], StageResult]:
    return {
        (variant.name, run.repeat, stage.index): stage
        for variant in status.variants or ()
        for run in variant.runs
        for stage in run.stages
    }
