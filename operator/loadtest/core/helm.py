"""The helm Jobs of a run: their keys, which is next, and what the last one said."""

from __future__ import annotations

from collections.abc import Iterator

from loadtest.api import names
from loadtest.core.observed import HelmJob, Outcome, Target

MAX_TRIES = 3
"""Tries at a helm Job that dies without a word (evicted, killed) before the run gives up on it."""


def key(op: str, position: int | None, attempt: int) -> str:
    """Key of a Job: `snapshot-1`, `apply-<position>-1`, `restore-1`."""
    return f"{op}-{attempt}" if position is None else f"{op}-{position}-{attempt}"


def _tries(keys: Iterator[str], prefix: str) -> list[int]:
    return sorted(int(tail) for k in keys if k.startswith(prefix) and (tail := k.removeprefix(prefix)).isdigit())


def tries(target: Target, op: str, position: int | None = None) -> list[int]:
    """Numbers of the tries at a Job that left a trace: a Job or an outcome."""
    prefix = f"{op}-" if position is None else f"{op}-{position}-"
    return _tries(iter({*target.jobs, *target.outcomes}), prefix)


def last_outcome(target: Target, op: str, position: int | None = None) -> Outcome | None:
    """Outcome of the last try, None where the last try has none (yet)."""
    numbers = tries(target, op, position)
    return target.outcomes.get(key(op, position, numbers[-1])) if numbers else None


def running_job(target: Target) -> HelmJob | None:
    """A helm Job of this run that has not ended and has not written its outcome."""
    at_work = (job for job in target.jobs.values() if job.running and not job.key.startswith(names.DEAD_MAN))
    return next((job for job in at_work if job.key not in target.outcomes), None)


def dead_man(target: Target) -> HelmJob | None:
    """The run's dead-man Job, while it stands by or is at work."""
    return next((job for job in target.jobs.values() if job.running and job.key.startswith(names.DEAD_MAN)), None)


def was_applied(target: Target) -> bool:
    """Whether any apply Job was ever started."""
    return any(k.startswith("apply-") for k in {*target.jobs, *target.outcomes})


def live_variant(target: Target, variants: dict[int, str]) -> str | None:
    """The variant that the latest finished apply made live.

    Args:
        target: the observed target.
        variants: position of a repeat -> its variant.
    """
    applied = [
        (int(parts[1]), int(parts[2]), outcome)
        for k, outcome in target.outcomes.items()
        if (parts := k.split("-"))[0] == "apply" and len(parts) == 3  # noqa: PLR2004 - apply, position, try
    ]
    if not applied:
        return None
    position, _, outcome = max(applied, key=lambda entry: entry[:2])
    return variants.get(position) if outcome.ok else None


def taken_by_dead_man(target: Target, holder: str) -> bool:
    """Whether the dead-man Job has taken this run's Lease, or has even done its work."""
    return target.lease.holder == names.dead_man_holder(holder) or last_outcome(target, names.DEAD_MAN) is not None
