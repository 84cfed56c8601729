"""What must hold after every run, whatever went wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from loadtest.adapters.store import decode
from loadtest.api.status import TERMINAL, LoadTestStatus, StageResult
from loadtest.handlers.loadtest import has_work
from loadtest.results import figures
from loadtest.results.record import parse
from tests.faults.injection import Tap
from tests.unit.reconcile.world import START, World

LEGAL = {
    ("Pending", "Preparing"),
    ("Pending", "Running"),  # a target without a release needs no preparation
    ("Pending", "Restoring"),
    ("Pending", "Failed"),
    ("Pending", "Aborted"),
    ("Preparing", "Running"),
    ("Preparing", "Restoring"),
    ("Running", "Restoring"),
    ("Running", "Pending"),  # the Lease was deleted by somebody, and is taken anew
    ("Preparing", "Pending"),
    ("Restoring", "Succeeded"),
    ("Restoring", "Failed"),
    ("Restoring", "Aborted"),
    ("Succeeded", "Pending"),  # a new run of the same LoadTest
    ("Failed", "Pending"),
    ("Aborted", "Pending"),
}
"""One phase may follow another. Within an ended run nothing changes any more."""


@dataclass(frozen=True)
class Expected:
    """What a run must come to.

    Attributes:
        same: the same end as the undisturbed run, figure by figure.
        phases: phases that the run may end in, where it is not the same.
        reasons: reasons of its end, of Ready; empty where any will do.
        restored: reasons of TargetRestored=True that are right; empty where the run must not have restored.
        unrestored: reasons of TargetRestored=False that are right; then snapshot and Lease must be kept.
        untouched: the release must be left as it is, because somebody else has deployed.
        minutes: how long the run may take beyond the undisturbed one.
        writes: how many writes, attempts included, it may cost beyond the undisturbed run.
        taken: the dead-man Job may have taken the Lease.
        check: anything else that must hold at the end; what is wrong.
    """

    same: bool = False
    phases: frozenset[str] = TERMINAL
    reasons: frozenset[str] = frozenset()
    restored: frozenset[str] = frozenset({"Restored", "NotChanged"})
    unrestored: frozenset[str] = frozenset()
    untouched: bool = False
    minutes: float = 5.0
    writes: int = 40
    taken: bool = False
    check: Callable[[World], list[str]] = lambda _: []


@dataclass(frozen=True)
class Reference:
    """The undisturbed run of a shape."""

    end: dict[str, Any]
    seconds: float
    writes: int


@dataclass
class Verdict:
    """What the oracle found wrong; nothing where the run passed."""

    wrong: list[str] = field(default_factory=list)

    def demand(self, fact: object, otherwise: str) -> None:
        """Note `otherwise` unless `fact`."""
        if not fact:
            self.wrong.append(otherwise)


TIMES = {"startedAt", "finishedAt", "lastTransitionTime", "estimatedCompletion"}
WORDS = {"message", "activity", "liveRevision", "observedGeneration"}


def end_of(w: World) -> dict[str, Any]:
    """How a run ended: its status without times, revisions and messages, what helm did, and what is stored."""
    return {
        "status": _bare(w.parsed.to_wire()),
        "upgrades": w.upgrades,
        "stored": sorted(w.config_maps),
        "gone": w.gone,
    }


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        named = {str(e.get("type") or e.get("name") or n): _bare(e) for n, e in enumerate(value) if isinstance(e, dict)}
        return named or value
    if isinstance(value, dict):
        return {key: _bare(entry) for key, entry in value.items() if key not in TIMES | WORDS}
    return value


def judge(w: World, tap: Tap, expected: Expected, reference: Reference) -> list[str]:
    """Everything that is wrong with the end of this run."""
    verdict = Verdict()
    status = w.parsed
    if not w.gone:
        verdict.demand(status.phase in TERMINAL, f"the run did not end: {status.phase}")
        if not expected.unrestored:
            verdict.demand(not has_work(w.body()), "the finalizer stays on")
    _ending(w, status, expected, reference, verdict)
    _release(w, status, expected, verdict)
    _left(w, status, expected, verdict)
    _recomputed(w, status, verdict)
    verdict.demand(not w.dead_man_acted or expected.taken, "the dead-man Job took the Lease of a living operator")
    verdict.wrong += w.violations
    steps = list(zip(w.phases, w.phases[1:], strict=False))
    verdict.demand(all(step in LEGAL for step in steps), f"the phases are no legal path: {w.phases}")
    seconds = (w.now - START).total_seconds()
    limit = reference.seconds + 60 * expected.minutes
    verdict.demand(seconds <= limit, f"the run took {seconds:.0f} s, and may take {limit:.0f}")
    writes, most = sum(tap.attempts.values()), reference.writes + expected.writes + seconds / 8
    verdict.demand(writes <= most, f"{writes} writes were tried, and may be {most:.0f}: {dict(tap.attempts)}")
    return verdict.wrong + expected.check(w)


def _ending(w: World, status: LoadTestStatus, expected: Expected, reference: Reference, verdict: Verdict) -> None:
    if expected.same:
        verdict.wrong += differences(end_of(w), reference.end)
        return
    if w.gone:
        return
    verdict.demand(status.phase in expected.phases, f"the phase is {status.phase}, not {sorted(expected.phases)}")
    ready = next((c for c in status.conditions if c.type == "Ready"), None)
    if expected.reasons and ready is not None:
        verdict.demand(
            ready.reason in expected.reasons, f"Ready says {ready.reason}: {ready.message}, not {expected.reasons}"
        )
    ended_well = status.phase == "Succeeded" and ready is not None and ready.status == "True"
    stages = [s for v in status.variants or () for run in v.runs for s in run.stages]
    if ended_well:
        verdict.demand(all(s.valid == "True" for s in stages), "a run with invalid stages says that it is Ready")


def _release(w: World, status: LoadTestStatus, expected: Expected, verdict: Verdict) -> None:
    """The release is the original again, or it is said that it is not."""
    restored = next((c for c in status.conditions if c.type == "TargetRestored"), None)
    original = w.variant is None and not w.stuck
    if w.gone:
        verdict.demand(original or w.foreign or w.release_gone or w.target_gone, "the LoadTest went unrestored")
    elif restored is None:
        verdict.demand(False, "nothing is said of TargetRestored")
    elif restored.status == "True":
        gone = restored.reason in {"ReleaseGone", "TargetGone"}
        verdict.demand(
            original or gone or expected.untouched, f"TargetRestored=True, but the release is {w.variant}, {w.stuck=}"
        )
        verdict.demand(restored.reason in expected.restored, f"TargetRestored=True {restored.reason}")
        verdict.demand(not gone or w.release_gone or w.target_gone, f"{restored.reason}, but it is there")
    else:
        verdict.demand(
            restored.reason in expected.unrestored, f"TargetRestored=False {restored.reason}: {restored.message}"
        )
        verdict.demand(w.snapshot or w.target_gone, "not restored, and the snapshot is gone")
    if expected.untouched:
        verdict.demand(w.foreign, "what somebody else had deployed was overwritten")


def _left(w: World, status: LoadTestStatus, expected: Expected, verdict: Verdict) -> None:
    """Nothing of the run is left, but its results, and what is kept for a person after a failed restore."""
    kept = any(c.type == "TargetRestored" and c.status == "False" for c in status.conditions) and not w.gone
    verdict.demand(not w.pods, f"injectors are left: {sorted(w.pods)}")
    if not kept and not w.target_gone:
        verdict.demand(w.lease is None, f"the Lease is left: {w.lease}")
        verdict.demand(not w.jobs, f"Jobs are left: {sorted(w.jobs)}")
        verdict.demand(not w.state, "the state ConfigMap is left")
    if not kept:
        verdict.demand(w.plan_json is None, "the frozen plan is left")
    if kept:
        verdict.demand(w.lease is not None or w.target_gone, "not restored, and the Lease is free for the next run")
    run = status.run_id or ""
    strangers = [name for name in w.config_maps if f"ldt-{run}-" not in name]
    verdict.demand(not strangers, f"records of another run are left: {strangers}")


def _recomputed(w: World, status: LoadTestStatus, verdict: Verdict) -> None:
    """Every figure of the status comes out again from the stored records."""
    if w.gone:
        return
    for variant in status.variants or ():
        records = []
        for run in variant.runs:
            for stage in run.stages:
                if stage.result_ref is None:
                    verdict.demand(stage.valid != "True", f"stage {stage.index} is valid and has no record")
                    continue
                data = w.config_maps.get(stage.result_ref.name)
                if data is None:
                    verdict.wrong.append(f"the record {stage.result_ref.name} is not stored")
                    continue
                record = parse(decode(data))
                again = figures.stage_result(record)
                verdict.wrong += [f"stage {stage.index}: {wrong}" for wrong in _unlike(again, stage)]
                records += [record] if stage.valid == "True" else []
        pooled = figures.pooled(records) if records else None
        verdict.demand(pooled == variant.pooled, f"the pool of {variant.name} does not come out again")


def _unlike(again: StageResult, stage: StageResult) -> Iterator[str]:
    for name in ("requests", "failures", "latency_micros", "requests_per_second_milli", "valid", "attempt"):
        if getattr(again, name) != getattr(stage, name):
            yield f"{name} is {getattr(stage, name)}, and its record says {getattr(again, name)}"


def differences(got: Any, wanted: Any, where: str = "end") -> list[str]:
    """Where two ends differ, by path."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        keys = sorted({*got, *wanted})
        return [d for key in keys for d in differences(got.get(key), wanted.get(key), f"{where}.{key}")]
    return [] if got == wanted else [f"{where} is {got}, and of the undisturbed run {wanted}"]
