"""Before load: the snapshot of the release, and the variant of the current repeat applied by helm."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from loadtest.api import names
from loadtest.api.conditions import ConditionType, Reason, reason_of
from loadtest.core import actions, helm
from loadtest.core.decision import Decision, Ending, Fact, Snapshot
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Observed, Outcome
from loadtest.core.progress import current_work

DEAD_MAN_TIMEOUT = timedelta(minutes=5)
"""How long the dead-man Job's pod may take to be scheduled, pull its image and start."""


def prepare(o: Observed, plan: RunPlan) -> Decision | None:
    """The next step towards a live variant; None when helm has nothing left to do for the current repeat."""
    if plan.spec.target.release is None:
        return None
    if not o.target.prepared:
        return Decision(
            "Preparing", Reason.PREPARING, "making room in the target's namespace", action=actions.PrepareTarget()
        )
    return _dead_man(o) or _snapshot(o) or _apply(o, plan)


def _dead_man(o: Observed) -> Decision | None:
    """The dead-man Job, which restores the release if this operator dies for good; before anything is changed."""
    if helm.dead_man(o.target):
        return None
    phase: Literal["Preparing", "Running"] = "Running" if helm.was_applied(o.target) else "Preparing"
    tries = helm.tries(o.target, names.DEAD_MAN)
    if len(tries) >= helm.MAX_TRIES:
        last = o.target.jobs.get(helm.key(names.DEAD_MAN, None, tries[-1]))
        why = last.problem.message if last and last.problem else "without a word"
        text = f"the dead-man Job, which guards the release, ended {len(tries)} times: {why}"
        return Decision(phase, Reason.HELM_FAILED, text, ending=Ending("Failed", Reason.HELM_FAILED, text))
    key = helm.key(names.DEAD_MAN, None, (tries[-1] if tries else 0) + 1)
    message = "starting the dead-man Job, which restores the release if the operator dies"
    return Decision(phase, Reason.PREPARING, message, action=actions.RunHelm(names.DEAD_MAN, key))


def _standing_by(o: Observed) -> Decision | None:
    """The wait for the dead-man Job's pod before the first change; None when it runs, or once one was made."""
    job = helm.dead_man(o.target)
    if job is None or job.ready or helm.was_applied(o.target):
        return None
    message = "waiting for the pod of the dead-man Job" + (f": {job.problem.message}" if job.problem else "")
    if job.created_at and o.now > job.created_at + DEAD_MAN_TIMEOUT:
        text = f"{message}; without it no release is changed"
        return Decision("Preparing", Reason.HELM_FAILED, text, ending=Ending("Failed", Reason.HELM_FAILED, text))
    return Decision("Preparing", Reason.PREPARING, message, wait=0.5)


def _snapshot(o: Observed) -> Decision | None:
    if o.resource.status.release is not None and o.resource.status.release.revision is not None:
        return None
    outcome = helm.last_outcome(o.target, "snapshot")
    if outcome is None:
        return _run(o, "snapshot", None, "", "taking a snapshot of the release")
    if not outcome.ok:
        return _fail(outcome)
    if outcome.unsupported:
        message = (
            f"the chart has no value for {', '.join(outcome.unsupported)}: "
            "drop it from the variants, or map it in spec.target.release.settings"
        )
        return Decision(
            "Preparing",
            Reason.SETTING_NOT_SUPPORTED,
            message,
            ending=Ending("Failed", Reason.SETTING_NOT_SUPPORTED, message),
        )
    if outcome.revision is None:
        return _fail(outcome)
    return Decision(
        "Preparing",
        Reason.PREPARING,
        f"the snapshot of revision {outcome.revision} is stored",
        snapshot=Snapshot(outcome.revision, outcome.values_sha256, outcome.manifest_sha256, outcome.chart),
    )


def _apply(o: Observed, plan: RunPlan) -> Decision | None:
    work = current_work(plan, o.resource.status)
    if work is None or work.running:
        return None
    variants = {repeat.position: repeat.variant for repeat in plan.repeats}
    wanted, position = work.repeat.variant, work.repeat.position
    if helm.live_variant(o.target, variants) == wanted:
        return None
    if leftover := tuple(pod.name for pod in o.injectors.pods if pod.position != position and not pod.terminating):
        return Decision(
            "Running", Reason.APPLYING, "the repeat is over: its injectors go", action=actions.DeleteInjectors(leftover)
        )
    outcome = helm.last_outcome(o.target, "apply", position)
    if outcome is not None and not outcome.ok:
        return _fail(outcome)
    return _standing_by(o) or _run(o, "apply", position, wanted, f"applying variant {wanted}")


def _run(o: Observed, op: str, position: int | None, variant: str, message: str) -> Decision:
    """Start the next try of a Job, or wait for the one that runs."""
    phase: Literal["Preparing", "Running"] = "Preparing" if op == "snapshot" or (position or 0) <= 1 else "Running"
    if job := helm.running_job(o.target):
        trouble = f" ({job.problem.message})" if job.problem else ""
        return Decision(phase, Reason.APPLYING if variant else Reason.PREPARING, message + trouble, wait=0.5)
    tries = helm.tries(o.target, op, position)
    if len(tries) >= helm.MAX_TRIES:
        last = o.target.jobs.get(helm.key(op, position, tries[-1]))
        why = last.problem.message if last and last.problem else "without a word"
        text = f"the helm Job ended {len(tries)} times without an outcome: {why}"
        return Decision(phase, Reason.HELM_FAILED, text, ending=Ending("Failed", Reason.HELM_FAILED, text))
    next_try = (tries[-1] if tries else 0) + 1
    return Decision(
        phase,
        Reason.APPLYING if variant else Reason.PREPARING,
        message,
        action=actions.RunHelm(op, helm.key(op, position, next_try), variant),
        intended_variant=variant or None,
    )


def _fail(outcome: Outcome) -> Decision:
    reason = reason_of(outcome.reason or Reason.HELM_FAILED)
    facts = (Fact(ConditionType.TARGET_APPLIED, "False", reason, outcome.message),)
    return Decision("Preparing", reason, outcome.message, facts=facts, ending=Ending("Failed", reason, outcome.message))
