"""Helm in the world in memory: what a Job does to the release, how long it takes, and how it can go wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from loadtest.adapters.helm_job.dead_man import Silence
from loadtest.api import names
from loadtest.core.observed import HelmJob, Outcome, Problem

if TYPE_CHECKING:
    from tests.unit.reconcile.world import World

SECONDS = timedelta(seconds=3)
LIMIT = 1200.0
"""Seconds without a renewal of the Lease after which the dead-man Job acts."""
DEADLINE = timedelta(seconds=660)
"""After this the Job controller ends a Job that hangs (its activeDeadlineSeconds)."""


def jobs(w: World) -> dict[str, HelmJob]:
    """The Jobs as the API server shows them now; what they have done by now is done."""
    go_on(w)
    return {
        key: HelmJob(
            key,
            running=key not in w.outcomes and key not in w.dead_jobs,
            problem=w.dead_jobs.get(key),
            created_at=created,
            ready=w.now - created >= timedelta(seconds=2),
        )
        for key, (created, _, _) in w.jobs.items()
    }


def go_on(w: World) -> None:
    """What the Jobs do as time goes on, whether an operator lives or not."""
    for key, (created, op, variant) in w.jobs.items():
        if key not in w.outcomes and key not in w.dead_jobs and op != names.DEAD_MAN:
            _advance(w, key, op, variant, w.now - created)
    _dead_man_looks(w)


def _dead_man_looks(w: World) -> None:
    """The dead-man Job looks at the Lease, by its own arithmetic."""
    for key, (_, op, _) in w.jobs.items():
        if op != names.DEAD_MAN or key in w.outcomes or key in w.dead_jobs:
            continue
        silence = w.silences.setdefault(key, Silence(30.0))
        ours = w.lease is None or w.lease == w.owner_of_jobs
        if ours and silence.saw(str(w.lease_writes), w.seconds()) >= LIMIT:
            w.lease = names.dead_man_holder(w.owner_of_jobs)
            w.lease_writes += 1
            w.dead_man_acted = True
            _advance(w, key, "restore", "", timedelta(days=1))
            w.outcomes[key] = replace(w.outcomes[key], op=names.DEAD_MAN)


def _advance(w: World, key: str, op: str, variant: str, age: timedelta) -> None:
    how = w.helm_faults.get(key, "")
    if age < (DEADLINE if how == "hangs" else SECONDS):
        return
    outcome = _refused(w, key, op) or Outcome(
        key, op, ok=True, finished_at=w.now, values_sha256="v", manifest_sha256="m", chart="runner-1.0.0"
    )
    changes = outcome.ok and outcome.reason == "" and op != "snapshot"
    if how in {"fails-half-way", "killed-half-way"} and changes:
        _set(w, variant or None)
        w.stuck = True
    elif how in {"", "killed-after"} and changes:
        changed = _work(w, variant or None)
        outcome = replace(outcome, changed=changed, revision=w.revision)
    elif how in {"", "killed-after"} and outcome.ok and op == "snapshot":
        w.snapshot = True
        outcome = replace(outcome, revision=w.revision, unsupported=w.unsupported)
    if how.startswith("killed") or how == "hangs":
        w.dead_jobs[key] = Problem("HelmFailed", f"Job {key}: {how}")
    elif how.startswith("fails"):
        w.outcomes[key] = replace(outcome, ok=False, reason="HelmFailed", message="as ordered by the test")
    else:
        w.outcomes[key] = outcome


def _refused(w: World, key: str, op: str) -> Outcome | None:
    """What the Job finds that leaves it nothing to do."""
    no = Outcome(key, op, ok=False, finished_at=w.now)
    if op != "snapshot" and w.lease not in {None, w.owner_of_jobs, names.dead_man_holder(w.owner_of_jobs)}:
        return replace(no, reason="LeaseLost", message=f"{w.lease} holds the Lease")
    if w.release_gone:
        if op == "restore":
            return replace(no, ok=True, reason="ReleaseGone", message="the release is gone")
        return replace(no, reason="ReleaseNotFound", message="no such release")
    if op == "snapshot":
        return None
    if not w.snapshot:
        return replace(no, reason="SnapshotMissing", message="there is no snapshot")
    if w.foreign or (w.third_party and op == "restore"):
        return replace(no, reason="RestoreConflict", message="somebody deployed revision 9 meanwhile")
    return None


def _work(w: World, wanted: str | None) -> bool:
    """What a Job that succeeds does: acts only on a difference, and leaves a pending release by a rollback."""
    if not w.stuck and w.variant == wanted:
        return False
    if w.stuck:
        _set(w, None)
        w.stuck = False
    if w.variant != wanted:
        _set(w, wanted)
    return True


def _set(w: World, wanted: str | None) -> None:
    w.variant = wanted
    w.revision += 1
    w.rolled_at = w.now
    w.upgrades.append(wanted or "original")
