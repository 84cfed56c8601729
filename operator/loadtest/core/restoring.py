"""The way back: stop the load, put the release back, prove it, clean up, give the Lease back."""

from __future__ import annotations

from typing import Literal

from loadtest.api import names
from loadtest.api.conditions import ConditionType, Reason, reason_of
from loadtest.core import actions, helm, rollout
from loadtest.core.decision import Decision, Fact, insisted
from loadtest.core.observed import Observed, Outcome

MAX_RESTORE_TRIES = 5
"""Tries at a restore before the run is called not restored. After that, it goes on only for who insists."""

RETRY_SECONDS = 10.0
SLOW_RETRY_SECONDS = 300.0
ASKED_RETRY_SECONDS = 30.0
"""While a person waits for it."""
DEFAULT_ROLLOUT_SECONDS = 600.0


def wind_down(o: Observed, *, lease_lost: bool, holder: str) -> Decision:
    """The next step of an ending run; `finished` at its end."""
    if pods := o.injectors.pods:
        names = tuple(pod.name for pod in pods if not pod.terminating)
        message = "stopping the load" if names else "waiting for the last injector to go"
        action = actions.DeleteInjectors(names) if names else None
        return Decision("Restoring", Reason.RESTORING, message, action=action, wait=0.0 if names else 0.5)
    if o.plan is None and _restored(o) is None:
        return _without_plan(o)
    if decision := _restore(o, lease_lost=lease_lost, holder=holder):
        return decision
    return _clean(o, holder=holder)


def _without_plan(o: Observed) -> Decision:
    """The plan is lost: where the release is, nobody can say any more, but whether it was changed is in the status."""
    release = o.resource.status.release
    if release is None or release.intended_variant is None:
        return _result("True", Reason.NOT_CHANGED, "no release was changed")
    message = (
        f"the plan of the run is lost: roll release {release.namespace}/{release.name} back "
        f"to revision {release.revision} by hand"
    )
    return _result("False", Reason.PLAN_MISSING, message)


def _restored(o: Observed) -> bool | None:
    """The stored fact: True restored (or nothing to restore), False given up on, None not known yet."""
    condition = next((c for c in o.resource.status.conditions if c.type == ConditionType.TARGET_RESTORED), None)
    if condition is None or condition.reason == Reason.RESTORING:
        return None
    return condition.status == "True"


def _restore(o: Observed, *, lease_lost: bool, holder: str) -> Decision | None:
    """The restore itself; None once its result is stored."""
    done = _restored(o)
    if done is True:
        return None
    if o.resource.abandoned:
        message = "a person let go of the restore: the target may not be what it was"
        return None if done is False else _result("False", Reason.RESTORE_GIVEN_UP, message)
    if done is False and not insisted(o.resource):
        return None
    release = o.resource.status.release
    changed = helm.was_applied(o.target) or (release is not None and release.intended_variant is not None)
    if lease_lost and changed and not o.target.gone:
        return None if done is False else _by_dead_man(o, holder)
    if release is None or release.revision is None:
        if job := helm.running_job(o.target):
            return Decision("Restoring", Reason.RESTORING, f"waiting for the helm Job {job.key}", wait=0.5)
        return _result("True", Reason.NOT_CHANGED, "no release was changed")
    if o.target.gone:
        return _result("True", Reason.TARGET_GONE, "the target's namespace is gone: nothing is left to restore")
    if not changed:
        return _result("True", Reason.NOT_CHANGED, "the release was not changed")
    if not o.target.prepared:
        return Decision(
            "Restoring", Reason.RESTORING, "the state of the run is made anew", action=actions.PrepareTarget()
        )
    return _helm_restore(o)


def _by_dead_man(o: Observed, holder: str) -> Decision:
    """The Lease is not ours any more, so the release is not touched: what the dead-man Job made of it."""
    outcome = helm.last_outcome(o.target, names.DEAD_MAN)
    if outcome is not None and outcome.ok:
        return _result("True", reason_of(outcome.reason or Reason.RESTORED), f"by the dead-man Job: {outcome.message}")
    if helm.dead_man(o.target) and helm.taken_by_dead_man(o.target, holder) and outcome is None:
        return Decision("Restoring", Reason.RESTORING, "the dead-man Job restores the release", wait=1.0)
    if outcome is not None:
        conflict = outcome.reason == Reason.RESTORE_CONFLICT
        reason = Reason.RESTORE_CONFLICT if conflict else Reason.RESTORE_FAILED
        return _result("False", reason, f"by the dead-man Job: {outcome.message}")
    return _result("False", Reason.LEASE_LOST, "another run holds the Lease: the release was left alone")


def _helm_restore(o: Observed) -> Decision | None:
    if job := helm.running_job(o.target):
        return Decision("Restoring", Reason.RESTORING, f"waiting for the helm Job {job.key}", wait=0.5)
    tries = helm.tries(o.target, "restore")
    outcome = helm.last_outcome(o.target, "restore")
    if outcome is None and len(tries) < MAX_RESTORE_TRIES:
        return _try(tries)
    if outcome is not None and outcome.ok:
        return _verify(o, outcome)
    return _retry(o, outcome, tries)


def _try(tries: list[int]) -> Decision:
    key = helm.key("restore", None, (tries[-1] if tries else 0) + 1)
    return Decision("Restoring", Reason.RESTORING, "restoring the release", action=actions.RunHelm("restore", key))


def _verify(o: Observed, outcome: Outcome) -> Decision:
    """The release is back; its pods must be, too."""
    if outcome.reason == Reason.RELEASE_GONE:
        return _result(
            "True", Reason.RELEASE_GONE, outcome.message or "the release is gone: nothing is left to restore"
        )
    gate = rollout.gate(o.target.workloads, {}, None, 0.0, o.now)
    if gate.open:
        revision = f" as revision {outcome.revision}" if outcome.changed else ", which was never changed"
        return _result("True", Reason.RESTORED, f"values and manifest are those of the snapshot again{revision}")
    limit = DEFAULT_ROLLOUT_SECONDS
    if o.plan is not None and o.plan.spec.target.release is not None:
        limit = o.plan.spec.target.release.rollout_timeout.seconds
    waited = (o.now - outcome.finished_at).total_seconds() if outcome.finished_at else 0.0
    if waited > limit and _restored(o) is None:
        return _result(
            "False", Reason.ROLLOUT_TIMEOUT, f"the release is restored, but its pods are not ready: {gate.message}"
        )
    return Decision("Restoring", Reason.RESTORING, gate.message, wait=1.0 if waited <= limit else RETRY_SECONDS)


def _retry(o: Observed, outcome: Outcome | None, tries: list[int]) -> Decision:
    """A restore that failed: again after a while, and in the end a person must act."""
    conflict = outcome is not None and outcome.reason == Reason.RESTORE_CONFLICT
    message = outcome.message if outcome else "the helm Job ended without an outcome"
    given_up = conflict or len(tries) >= MAX_RESTORE_TRIES
    if given_up and _restored(o) is None:
        unequal = outcome is not None and outcome.reason == Reason.RESTORE_VERIFICATION_FAILED
        failed = Reason.RESTORE_VERIFICATION_FAILED if unequal else Reason.RESTORE_FAILED
        again = f"once the cause is removed: loadtest restore {o.resource.name} -n {o.resource.namespace}"
        return _result("False", Reason.RESTORE_CONFLICT if conflict else failed, f"{message}; {again}")
    pause = _pause(o) if given_up else RETRY_SECONDS
    waited = (o.now - outcome.finished_at).total_seconds() if outcome and outcome.finished_at else pause
    if waited >= pause:
        return _try(tries)
    return Decision(
        "Restoring", Reason.RESTORING, f"the restore failed and is tried again: {message}", wait=pause - waited
    )


def _pause(o: Observed) -> float:
    """How long a restore that was called failed rests between two tries."""
    return ASKED_RETRY_SECONDS if o.resource.asked else SLOW_RETRY_SECONDS


def _result(status: Literal["True", "False"], reason: Reason, message: str) -> Decision:
    fact = Fact(ConditionType.TARGET_RESTORED, status, reason, message)
    return Decision("Restoring", Reason.RESTORING, message, facts=(fact,))


def _clean(o: Observed, *, holder: str) -> Decision:
    """Remove what the run left beside the target. What could not be restored keeps its snapshot and its Lease."""
    keep = _restored(o) is False and not o.resource.abandoned
    ours = o.target.lease.holder in {holder, names.dead_man_holder(holder)}
    if keep and (job := helm.dead_man(o.target)):
        action = actions.DismissDeadMan(job.key)
        return Decision("Restoring", Reason.RESTORING, "the dead-man Job goes", action=action)
    free = ours or o.target.lease.holder is None or _restored(o) is True
    if not keep and (o.target.prepared or o.target.jobs) and free:
        return Decision(
            "Restoring", Reason.RESTORING, "cleaning up beside the target", action=actions.CleanTarget(), wait=0.3
        )
    if not keep and ours:
        return Decision("Restoring", Reason.RESTORING, "giving the Lease back", action=actions.ReleaseLease())
    if _unevaluated(o):
        return Decision("Restoring", Reason.RESTORING, "comparing the variants", action=actions.Evaluate())
    if o.frozen and not keep:
        return Decision("Restoring", Reason.RESTORING, "removing the frozen plan", action=actions.DropPlan())
    ending = o.resource.status.ending
    if ending is None:  # pragma: no cover - wind_down runs only with an ending
        raise AssertionError("no run winds down without an ending")
    wait = _pause(o) if keep and insisted(o.resource) else None
    return Decision("Terminal", reason_of(ending.reason), ending.message, wait=wait, finished=True)


def _unevaluated(o: Observed) -> bool:
    """Whether something was measured that has not been compared yet. Last of all: it is read from what is stored."""
    status = o.resource.status
    stages = (stage for variant in status.variants or () for run in variant.runs for stage in run.stages)
    wanted = o.plan is not None and status.comparison is None and not o.resource.deleting
    return wanted and any(stage.valid == "True" for stage in stages)
