"""The decision: from the observed world to one action, or a wait, or the end. Pure.

The checks below are asked in order, and the first that has something to say wins. Every step of the loop asks all of
them anew: where the run stands is read from the world (pods, Jobs, the state ConfigMap, stored results), never from a
program counter. The few facts that cannot be observed again are in the status, stored before an action depends on
them: the run id, the started attempts, the intended variant, why the run ends, and that the target is restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from loadtest.api import names
from loadtest.api.conditions import Reason, reason_of
from loadtest.core import actions, helm, injecting, restoring, verdict
from loadtest.core.decision import Decision, Ending, engaged, owed, renew_due
from loadtest.core.expand import InvalidSpec, RunPlan, expand
from loadtest.core.observed import Observed
from loadtest.core.preparing import prepare
from loadtest.core.progress import current_work

REST = Decision("Terminal", Reason.COMPLETED, wait=None)


def decide(o: Observed) -> Decision:
    """What to do now. A `wait` of None without an action says that there is nothing left to do."""
    decision = next(d for check in CHECKS if (d := check(o)) is not None)
    if decision.action is None and decision.wait is not None and renew_due(o):
        return replace(decision, action=actions.AcquireLease(), wait=0.0)
    return decision


def rest(o: Observed) -> Decision | None:
    """A run that has ended, and no other asked for; or a deletion before any run; or a restore that is still owed.

    While a target is not restored no new run starts: it would take what the last run left for the original.
    """
    status = o.resource.status
    if engaged(o.resource):
        return None
    # A spec that was refused is looked at again after every edit: not all fields count into the run id.
    edited = status.started_at is None and status.observed_generation < o.resource.generation
    asked = status.run_id and status.run_id == o.resource.desired_run and not edited
    if o.resource.deleting or asked or owed(o.resource):
        return REST
    return None


def admit(o: Observed) -> Decision | None:
    """A LoadTest without a run: refuse it, hold it, or admit it."""
    if engaged(o.resource):
        return None
    resource, run = o.resource, o.resource.desired_run
    if resource.invalid or resource.spec is None:
        problem = resource.invalid
        message = problem.message if problem else "the spec cannot be read"
        return Decision(
            "Pending", Reason.INVALID_SPEC, message, refuse=run, ending=Ending("Failed", Reason.INVALID_SPEC, message)
        )
    if resource.spec.abort:
        message = "spec.abort was true before the run began: set it to false to run"
        return Decision(
            "Pending", Reason.ABORTED, message, refuse=run, ending=Ending("Aborted", Reason.ABORTED, message)
        )
    if resource.spec.suspend:
        return Decision("Pending", Reason.SUSPENDED, "spec.suspend is true: nothing was started", wait=60.0)
    try:
        expand(run, resource.spec)
    except InvalidSpec as error:
        return Decision(
            "Pending",
            Reason.INVALID_SPEC,
            str(error),
            refuse=run,
            ending=Ending("Failed", Reason.INVALID_SPEC, str(error)),
        )
    return Decision("Pending", Reason.ADMITTED, "the run is admitted", action=actions.Admit(run))


def end(o: Observed) -> Decision | None:
    """Why an active run must end now, noted once."""
    if o.resource.status.ending is not None:
        return None
    ending = next(_endings(o), None)
    if ending is None:
        return None
    return Decision("Running", ending.reason, ending.message, ending=ending)


def _endings(o: Observed) -> Iterator[Ending]:
    status, resource = o.resource.status, o.resource
    if resource.deleting:
        yield Ending("Aborted", Reason.DELETED, "the LoadTest was deleted")
    if resource.spec is not None and resource.spec.abort:
        yield Ending("Aborted", Reason.ABORTED, "spec.abort was set")
    if o.plan is None:
        yield Ending(
            "Failed", Reason.PLAN_MISSING, "the ConfigMap of the frozen plan is gone: start again with a new spec.rerun"
        )
        return
    deadline = o.plan.spec.deadline
    if status.started_at and o.now > status.started_at + timedelta(seconds=deadline.seconds):
        yield Ending("Aborted", Reason.DEADLINE_EXCEEDED, f"the run did not end within spec.deadline, {deadline}")
    if lease_lost(o):
        yield Ending("Failed", Reason.LEASE_LOST, _lost_to(o))
    if o.target.gone:
        yield Ending("Failed", Reason.TARGET_GONE, "the target's namespace is gone")
    if refused := _refused(o):
        yield refused
    if current_work(o.plan, status) is None:
        yield verdict.ending(o.plan, status)


def _refused(o: Observed) -> Ending | None:
    """The LoadTest may not load its target. That nobody can say so any more does not end a run that was allowed."""
    refused = o.target.refused
    if refused is None or (refused.reason == Reason.FORBIDDEN and o.target.lease.holder == holder(o)):
        return None
    return Ending("Failed", reason_of(refused.reason), refused.message)


def lease_lost(o: Observed) -> bool:
    """Whether another run, or the dead-man Job, took the Lease of a target that this run has begun to use."""
    if helm.last_outcome(o.target, names.DEAD_MAN) is not None:
        return True
    return o.target.lease.holder not in {None, holder(o)} and (o.target.prepared or bool(o.injectors.pods))


def _lost_to(o: Observed) -> str:
    if helm.taken_by_dead_man(o.target, holder(o)):
        return f"the Lease was not renewed for {o.target.lease.seconds} s, so the dead-man Job restores the release"
    return f"the Lease of the target was taken by {o.target.lease.holder}"


def holder(o: Observed) -> str:
    """How this run signs a Lease."""
    return f"{o.resource.owner}/{o.resource.uid}/{o.resource.status.run_id}"


def own(o: Observed) -> Decision | None:
    """The Lease of the target: one run at a time."""
    lease = o.target.lease
    if o.resource.status.ending is not None or lease.holder == holder(o):
        return None
    if (
        lease.holder is None
        or lease.holder.startswith(f"{o.resource.owner}/{o.resource.uid}/")
        or (not lease.holder_exists and not lease.holder_left_state)
    ):
        return Decision("Pending", Reason.PREPARING, "taking the Lease of the target", action=actions.AcquireLease())
    if not lease.holder_exists:
        message = f"{lease.holder} was removed without restoring the target: restore it by hand, then delete its Lease"
    else:
        message = f"the target is in use by {'/'.join(lease.holder.split('/')[:2])}; this run waits for its end"
    return Decision("Pending", Reason.TARGET_BUSY, message, wait=5.0)


def wind_down(o: Observed) -> Decision | None:
    """A run whose end is decided: stop the load, restore the target, clean up."""
    if o.resource.status.ending is None:
        return None
    return restoring.wind_down(o, lease_lost=lease_lost(o), holder=holder(o))


def run(o: Observed) -> Decision:
    """The next piece of work: a variant to apply, injectors to create, a stage to run or collect."""
    plan = _plan(o)
    if decision := injecting.hold(o, plan) or prepare(o, plan):
        return decision
    return injecting.inject(o, plan)


def _plan(o: Observed) -> RunPlan:
    if o.plan is None:  # pragma: no cover - `end` has ended a run without a plan
        raise AssertionError("a run without a plan has been ended before")
    return o.plan


CHECKS: tuple[Callable[[Observed], Decision | None], ...] = (rest, admit, end, wind_down, own, run)
