"""Observed world -> one decision, row by row in the order in which a run meets them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from loadtest.api.conditions import ConditionType, Reason, set_condition
from loadtest.api.figures import InvalidAttempt
from loadtest.api.status import LoadTestStatus, Phase
from loadtest.core import actions
from loadtest.core.decide import decide
from loadtest.core.decision import Decision
from loadtest.core.observed import HelmJob, Lease, Observed, Problem, StageProgress, Target
from loadtest.core.project import before_action
from tests.unit.api.cases.base import BARE
from tests.unit.core.builders import (
    HOLDER,
    NOW,
    RUN,
    SMALL,
    ago,
    ending,
    injectors,
    master_pod,
    observed,
    outcome,
    plan,
    pod,
    release,
    resource,
    running,
    spec,
    stage,
    target,
    variants,
    worker_pod,
    workload,
)

PLAN = plan(SMALL)
ENV = PLAN.variants[0].env
SEVEN = workload(pod(env=ENV))
OTHER_THREADS = workload(pod(env=ENV | {"WEB_SERVER_THREADS": "1"}))
SNAPPED = outcome("snapshot-1")
APPLIED = outcome("apply-1-1", changed=True)
STORED = release("seven")
OTHER = Lease("performance/other/uid-2/run")
NOT_ALLOWED = Problem("NamespaceNotAllowed", "namespace runner does not allow LoadTests of namespace performance")
UNREADABLE = Problem("Forbidden", "the operator may not read namespace runner")
PROBLEM = Problem("ImagePullFailed", "pod x: ImagePullBackOff")


def conditions(value: Any, reason: Reason) -> list[Any]:
    return set_condition([], ConditionType.TARGET_RESTORED, value, reason, "so it is", now=NOW, observed_generation=1)


def before(status: LoadTestStatus | None = None, change: dict[str, Any] | None = None, **changes: Any) -> Observed:
    """A LoadTest without a run."""
    made = resource(spec(SMALL | (change or {})), status or LoadTestStatus(), **changes)
    return observed(plan=None, frozen=False, resource=made, target=target(lease=Lease()))


def with_spec(o: Observed, **change: Any) -> Observed:
    return replace(o, resource=replace(o.resource, spec=spec(SMALL | change)))


def applied(*pods: Any, status: LoadTestStatus | None = None, stages: Any = (), **changes: Any) -> Observed:
    """The first variant is live."""
    changes.setdefault("target", target(SNAPPED, APPLIED, workloads=(SEVEN,)))
    return observed(status or running(release=STORED), injectors=injectors(*pods, stages=stages), **changes)


def in_stage(*pods: Any, began: float = 5, progress: tuple[StageProgress, ...] = (), **changes: Any) -> Observed:
    """The first stage was started."""
    status = running(
        release=STORED, variants=variants(("seven", 1, [stage(0, "Unknown", started_at=ago(began), finished_at=None)]))
    )
    return applied(*pods, status=status, stages=progress, **changes)


def ended(phase: Phase = Phase.SUCCEEDED, reason: str = "Completed", **changes: Any) -> LoadTestStatus:
    return running(ending=ending(phase, reason), release=STORED, **changes)


def leaving(*outcomes: Any, status: LoadTestStatus | None = None, **changes: Any) -> Observed:
    """A run whose end is decided and whose injectors are gone."""
    return observed(status or ended(), target=target(SNAPPED, APPLIED, *outcomes, **changes))


READY = (master_pod(), worker_pod())
WINDOW = StageProgress(0, 1, "window", users=200, elapsed_seconds=4, duration_seconds=10)
RESTORED = ended(conditions=conditions("True", Reason.RESTORED))
UNRESTORED = ended(conditions=conditions("False", Reason.RESTORE_FAILED))
DELETED = resource(PLAN.spec, UNRESTORED, deleting=True)
FAILED_RESTORE = outcome("restore-1", ok=False, reason="HelmFailed", message="no", finished_at=ago(5))
TAKEN = Lease(f"{HOLDER}/dead-man")
NEW_DEAD_MAN = HelmJob("dead-man-1", running=True, created_at=ago(10))
OLD_DEAD_MAN = HelmJob("dead-man-1", running=True, created_at=ago(301))
EMPTY = target(lease=Lease(), prepared=False, workloads=())

CASES: dict[str, tuple[Observed, type | None, str]] = {
    # before a run
    "a new LoadTest is admitted": (before(), actions.Admit, "Admitted"),
    "a spec that cannot be read is refused": (
        before(spec=None, invalid=Problem("InvalidSpec", "spec.load: missing")), None, "InvalidSpec"),
    "a spec that cannot be run is refused": (before(change={"deadline": "1m"}), None, "InvalidSpec"),
    "an aborted spec is refused": (before(change={"abort": True}), None, "Aborted"),
    "a suspended spec waits": (before(change={"suspend": True}), None, "Suspended"),
    "a deleted LoadTest without a run is left alone": (before(deleting=True), None, "Completed"),
    "an ended run is left alone": (before(running(phase=Phase.SUCCEEDED)), None, "Completed"),
    "another spec after the end starts a new run": (
        before(running(phase=Phase.SUCCEEDED, run_id="f" * 16)), actions.Admit, "Admitted"),
    "a refused spec is looked at again after an edit that makes no other run": (
        before(running(phase=Phase.FAILED, started_at=None), generation=2), actions.Admit, "Admitted"),
    "an ended run is not run again after such an edit": (
        before(running(phase=Phase.SUCCEEDED), generation=2), None, "Completed"),
    "no new run starts while a restore is owed": (
        before(running(phase=Phase.FAILED, run_id="f" * 16, conditions=conditions("False", Reason.RESTORE_FAILED))),
        None, "Completed"),
    # the Lease
    "a free target is taken": (observed(target=target(lease=Lease())), actions.AcquireLease, "Preparing"),
    "a busy target is waited for": (observed(target=replace(EMPTY, lease=OTHER)), None, "TargetBusy"),
    "a target whose holder left it clean is taken": (
        observed(target=replace(EMPTY, lease=replace(OTHER, holder_exists=False))), actions.AcquireLease, "Preparing"),
    "a target whose holder left it changed is waited for": (
        observed(target=replace(EMPTY, lease=replace(OTHER, holder_exists=False, holder_left_state=True))),
        None, "TargetBusy"),
    "a Lease of an earlier run of the same LoadTest is taken over": (
        observed(target=replace(EMPTY, lease=Lease("performance/test/uid-1/" + "f" * 16))),
        actions.AcquireLease, "Preparing"),
    "a Lease is renewed while nothing else is to do": (
        in_stage(*READY, progress=(WINDOW,), target=target(
            SNAPPED, APPLIED, workloads=(SEVEN,), lease=Lease(HOLDER, renewed_at=ago(61)))),
        actions.AcquireLease, "StageRunning"),
    # the target
    "room is made beside the target": (observed(target=target(prepared=False)), actions.PrepareTarget, "Preparing"),
    "a snapshot is taken first": (observed(target=target()), actions.RunHelm, "Preparing"),
    "a running snapshot is waited for": (
        observed(target=target(jobs={"snapshot-1": HelmJob("snapshot-1", running=True)})), None, "Preparing"),
    "a snapshot Job that died without a word is tried again": (
        observed(target=target(jobs={"snapshot-1": HelmJob("snapshot-1", running=False)})),
        actions.RunHelm, "Preparing"),
    "a helm Job that keeps dying ends the run": (
        observed(target=target(jobs={f"snapshot-{n}": HelmJob(f"snapshot-{n}", running=False) for n in (1, 2, 3)})),
        None, "HelmFailed"),
    "a finished snapshot is noted": (observed(target=target(SNAPPED)), None, "Preparing"),
    "a snapshot that is refused ends the run": (
        observed(target=target(outcome("snapshot-1", ok=False, reason="ReleaseManagedByGitOps"))),
        None, "ReleaseManagedByGitOps"),
    "a reason that is not known is not passed on": (
        observed(target=target(outcome("snapshot-1", ok=False, reason="Whatever"))), None, "OperatorError"),
    "a setting that the chart has not ends the run": (
        observed(target=target(outcome("snapshot-1", unsupported=("sessionBackend",)))), None, "SettingNotSupported"),
    "the variant is applied": (
        observed(running(release=release()), target=target(SNAPPED)), actions.RunHelm, "Applying"),
    "the injectors of the last repeat go before the next variant": (
        applied(*READY, status=running(release=STORED, variants=variants(("seven", 1, [stage(0), stage(1)])))),
        actions.DeleteInjectors, "Applying"),
    "a variant that helm refuses ends the run": (
        observed(running(release=STORED), target=target(SNAPPED, outcome("apply-1-1", ok=False, reason="HelmFailed"))),
        None, "HelmFailed"),
    # the injectors
    "the master comes first": (applied(), actions.CreateMaster, "StartingInjectors"),
    "workers wait for the address of the master": (
        applied(master_pod(ip="", running=False)), None, "StartingInjectors"),
    "the missing workers are created": (applied(master_pod()), actions.CreateWorkers, "StartingInjectors"),
    "an injector that ended is removed": (
        applied(master_pod(), worker_pod(ended=True, running=False)), actions.DeleteInjectors, "StartingInjectors"),
    "an injector of another repeat is removed": (
        applied(*READY, worker_pod(position=9)), actions.DeleteInjectors, "StartingInjectors"),
    "a worker too many is removed": (applied(*READY, worker_pod(1)), actions.DeleteInjectors, "StartingInjectors"),
    "an injector that goes is waited for": (
        applied(master_pod(), worker_pod(terminating=True)), None, "StartingInjectors"),
    "workers that run but have not joined are waited for": (
        replace(applied(*READY), injectors=replace(injectors(*READY), master=None)), None, "StartingInjectors"),
    "injectors that never join end the run": (
        replace(applied(*READY), injectors=replace(
            injectors(master_pod(created_at=ago(301)), worker_pod(created_at=ago(301))), master=None)),
        None, "InjectorsNotReady"),
    "a worker that was made only now has its time, however old the master": (
        replace(applied(*READY), injectors=replace(
            injectors(master_pod(created_at=ago(301)), worker_pod()), master=None)),
        None, "StartingInjectors"),
    "an image that can never be pulled ends the run": (
        replace(applied(*READY), injectors=replace(
            injectors(
                master_pod(created_at=ago(301)), worker_pod(problem=PROBLEM, created_at=ago(301))), master=None)),
        None, "ImagePullFailed"),
    # the gate
    "a rollout that goes on is waited for": (
        applied(*READY, target=target(SNAPPED, APPLIED, workloads=(replace(SEVEN, updated=0),))), None, "RollingOut"),
    "a rollout that takes too long ends the run": (
        applied(master_pod(created_at=ago(601)), worker_pod(), target=target(
            SNAPPED, replace(APPLIED, finished_at=ago(601)), workloads=(replace(SEVEN, updated=0),))),
        None, "RolloutTimeout"),
    "pods that show something else end the run": (
        applied(*READY, target=target(SNAPPED, APPLIED, workloads=(OTHER_THREADS,))),
        None, "VariantNotLive"),
    "a target without a release is loaded as it is": (
        observed(running(), plan(base=BARE), target=target(prepared=False, workloads=()), injectors=injectors(
            master_pod(), *(worker_pod(n) for n in range(10)))), actions.StartStage, "StageRunning"),
    "a suspended run lets its injectors go": (
        with_spec(applied(*READY), suspend=True), actions.DeleteInjectors, "Suspended"),
    "a suspended run without injectors waits": (with_spec(applied(), suspend=True), None, "Suspended"),
    "a suspended run finishes its stage": (
        with_spec(in_stage(*READY, progress=(WINDOW,)), suspend=True), None, "StageRunning"),
    # the stage
    "a stage is started": (applied(*READY), actions.StartStage, "StageRunning"),
    "a started stage that the master does not know is ordered again": (
        in_stage(*READY), actions.StartStage, "StageRunning"),
    "a running stage is watched": (in_stage(*READY, progress=(WINDOW,)), None, "StageRunning"),
    "a complete stage is collected": (
        in_stage(*READY, progress=(replace(WINDOW, state="complete"),)), actions.CollectStage, "Collecting"),
    "an invalid stage is collected too": (
        in_stage(*READY, progress=(replace(WINDOW, state="invalid"),)), actions.CollectStage, "Collecting"),
    "a stage whose master is gone is lost": (in_stage(worker_pod()), actions.LoseStage, "MasterLost"),
    "a stage whose master ended well is lost, too": (
        in_stage(master_pod(ended=True, running=False), worker_pod()), actions.LoseStage, "MasterLost"),
    "a master that is silent is given time": (
        replace(in_stage(*READY), injectors=replace(injectors(*READY), master=None)), None, "StageRunning"),
    "a master that is silent for too long is lost": (
        replace(in_stage(*READY, began=3600), injectors=replace(injectors(*READY), master=None)),
        actions.LoseStage, "MasterLost"),
    # the end
    "a deletion ends the run": (observed(resource=resource(PLAN.spec, running(), deleting=True)), None, "Deleted"),
    "an abort ends the run": (with_spec(observed(), abort=True), None, "Aborted"),
    "a lost plan ends the run": (observed(plan=None, frozen=False), None, "PlanMissing"),
    "a deadline that has passed ends the run": (observed(running(started_at=ago(12 * 3600 + 1))), None,
                                                "DeadlineExceeded"),
    "a Lease that somebody took ends the run": (
        applied(*READY, target=target(SNAPPED, lease=OTHER)), None, "LeaseLost"),
    "a target that may not be loaded is left alone: no Lease, no Job": (
        observed(target=Target(refused=NOT_ALLOWED)),
        None,
        "NamespaceNotAllowed",
    ),
    "a target that may not be loaded any more ends the run": (
        in_stage(master_pod(), worker_pod(), target=target(SNAPPED, APPLIED, workloads=(SEVEN,), refused=NOT_ALLOWED)),
        None,
        "NamespaceNotAllowed",
    ),
    "a namespace that cannot be read is no consent": (
        observed(target=Target(refused=UNREADABLE)),
        None,
        "Forbidden",
    ),
    "a namespace that cannot be read any more does not end the run": (
        observed(target=target(prepared=False, refused=UNREADABLE)),
        actions.PrepareTarget,
        "Preparing",
    ),
    "a target that is gone ends the run": (applied(target=target(SNAPPED, gone=True)), None, "TargetGone"),
    "a run without work is complete": (
        observed(running(variants=variants(("seven", 1, [stage(0), stage(1)]), ("two", 2, [stage(0), stage(1)])))),
        None, "Completed"),
    # the way back
    "the load stops first": (
        observed(ended(), injectors=injectors(*READY)), actions.DeleteInjectors, "Restoring"),
    "injectors that go are waited for": (
        observed(ended(), injectors=injectors(master_pod(terminating=True))), None, "Restoring"),
    "the release is restored": (leaving(), actions.RunHelm, "Restoring"),
    "a helm Job that still runs is waited for": (
        leaving(jobs={"apply-2-1": HelmJob("apply-2-1", running=True)}), None, "Restoring"),
    "a release that was never changed is left alone": (
        observed(ended().model_copy(update={"release": release()}), target=target(SNAPPED)), None, "NotChanged"),
    "a release whose snapshot was never stored is left alone": (
        observed(ended().model_copy(update={"release": None})), None, "NotChanged"),
    "a restored release is proven by its pods": (
        leaving(outcome("restore-1"), workloads=(replace(SEVEN, ready=0),)), None, "Restoring"),
    "a restored release is noted": (leaving(outcome("restore-1", changed=True)), None, "Restored"),
    "pods that do not come back are told": (
        leaving(outcome("restore-1", finished_at=ago(601)), workloads=(replace(SEVEN, ready=0),)),
        None, "RolloutTimeout"),
    "a restore that failed is tried again after a while": (leaving(FAILED_RESTORE), None, "Restoring"),
    "a restore that failed is tried again": (
        leaving(replace(FAILED_RESTORE, finished_at=ago(11))), actions.RunHelm, "Restoring"),
    "a restore that keeps failing is given up": (
        leaving(*(replace(FAILED_RESTORE, key=f"restore-{n}") for n in range(1, 6))), None, "RestoreFailed"),
    "a release that somebody else changed is left alone": (
        leaving(outcome("restore-1", ok=False, reason="RestoreConflict")), None, "RestoreConflict"),
    "a release that is gone needs no restore": (
        leaving(outcome("restore-1", reason="ReleaseGone")), None, "ReleaseGone"),
    "a namespace that is gone needs no restore": (leaving(gone=True), None, "TargetGone"),
    "a release whose Lease is lost is left alone": (leaving(lease=OTHER), None, "LeaseLost"),
    "a deleted LoadTest goes on trying to restore": (
        observed(target=target(SNAPPED, APPLIED, replace(FAILED_RESTORE, finished_at=ago(301))), resource=DELETED),
        actions.RunHelm, "Restoring"),
    "a deleted LoadTest waits long for pods that do not come back": (
        observed(target=target(SNAPPED, APPLIED, outcome("restore-1", finished_at=ago(601)),
                               workloads=(replace(SEVEN, ready=0),)), resource=DELETED), None, "Restoring"),
    "what stands beside the target is removed": (leaving(status=RESTORED), actions.CleanTarget, "Restoring"),
    "the Lease is given back": (
        observed(RESTORED, target=target(prepared=False)), actions.ReleaseLease, "Restoring"),
    "the plan is removed": (observed(RESTORED, target=EMPTY), actions.DropPlan, "Restoring"),
    "the run is over": (observed(RESTORED, target=EMPTY, frozen=False), None, "Completed"),
    "what could not be restored keeps its snapshot and its Lease": (
        leaving(status=UNRESTORED, jobs={}), None, "Completed"),
    "the dead-man Job goes, as a person has to act now": (
        leaving(status=UNRESTORED), actions.DismissDeadMan, "Restoring"),
    "the dead-man Job is started before anything else": (
        observed(target=target(jobs={})), actions.RunHelm, "Preparing"),
    "no variant is applied before the dead-man Job's pod runs": (
        observed(running(release=STORED), target=target(SNAPPED, jobs={"dead-man-1": NEW_DEAD_MAN})),
        None, "Preparing"),
    "a dead-man Job whose pod does not start ends the run": (
        observed(running(release=STORED), target=target(SNAPPED, jobs={"dead-man-1": OLD_DEAD_MAN})),
        None, "HelmFailed"),
    "a dead-man Job that was lost is made anew": (
        applied(*READY, target=target(SNAPPED, APPLIED, jobs={"dead-man-1": HelmJob("dead-man-1", running=False)})),
        actions.RunHelm, "Preparing"),
    "a dead-man Job that always ends ends the run": (
        applied(*READY, target=target(SNAPPED, APPLIED, jobs={
            f"dead-man-{n}": HelmJob(f"dead-man-{n}", running=False) for n in (1, 2, 3)})), None, "HelmFailed"),
    "a Lease that the dead-man Job took ends the run": (
        applied(*READY, target=target(SNAPPED, APPLIED, lease=TAKEN)), None, "LeaseLost"),
    "what the dead-man Job restored ends the run, whoever holds the Lease": (
        applied(*READY, target=target(SNAPPED, APPLIED, outcome("dead-man-1"), lease=Lease())), None, "LeaseLost"),
    "the dead-man Job that restores is waited for": (leaving(lease=TAKEN), None, "Restoring"),
    "what the dead-man Job restored is restored": (leaving(outcome("dead-man-1"), lease=TAKEN), None, "Restored"),
    "what the dead-man Job could not restore is not": (
        leaving(outcome("dead-man-1", ok=False, reason="HelmFailed"), lease=TAKEN), None, "RestoreFailed"),
    "what the dead-man Job left to somebody else is not": (
        leaving(outcome("dead-man-1", ok=False, reason="RestoreConflict"), lease=TAKEN), None, "RestoreConflict"),
    "the Lease that the dead-man Job holds is given back": (
        observed(RESTORED, target=target(prepared=False, lease=TAKEN)), actions.ReleaseLease, "Restoring"),
    "a person may give up a restore": (
        observed(
            resource=resource(PLAN.spec, UNRESTORED, abandoned=True), target=target(SNAPPED, APPLIED)),
        actions.CleanTarget, "Restoring"),
    "a plan that is lost after a change leaves the restore to a person": (
        observed(ended(Phase.FAILED, "PlanMissing"), plan=None, frozen=False), None, "PlanMissing"),
}  # fmt: skip


@pytest.mark.parametrize(("o", "action", "reason"), CASES.values(), ids=CASES.keys())
def test_decision(o: Observed, action: type | None, reason: str) -> None:
    found = decide(o)
    shown = found.facts[0].reason if found.facts else found.reason
    assert (type(found.action) if found.action else None, str(shown)) == (action, reason)


@pytest.mark.parametrize("o", [row[0] for row in CASES.values()], ids=CASES.keys())
def test_the_loop_never_spins(o: Observed) -> None:
    """While nothing moves but the status that each step stores, a step soon does something, pauses, or is the last."""
    for _ in range(5):
        found = decide(o)
        if found.action is not None or found.wait is None or found.wait >= 0.2:
            return
        o = replace(o, resource=replace(o.resource, status=before_action(o, found)))
    raise AssertionError(f"{found.reason} for ever: {found.message}")


def of(name: str) -> Decision:
    return decide(CASES[name][0])


def test_what_cannot_be_observed_again_is_noted_before_it_is_done() -> None:
    applying = of("the variant is applied")
    assert applying.intended_variant == "seven"
    assert applying.action == actions.RunHelm("apply", "apply-1-1", "seven")
    starting = of("a stage is started")
    assert starting.started is not None
    assert (starting.started.position, starting.started.stage, starting.started.attempt) == (1, 0, 1)
    assert starting.action == actions.StartStage(1, 0, 1, ("w-1-1-0",))


def test_a_try_has_the_number_after_the_last() -> None:
    assert of("a snapshot Job that died without a word is tried again").action == actions.RunHelm(
        "snapshot", "snapshot-2"
    )
    assert of("a restore that failed is tried again").action == actions.RunHelm("restore", "restore-2")


def test_a_lost_master_costs_the_repeat_all_its_injectors() -> None:
    lost = [InvalidAttempt(attempt=1, reason="MasterLost")]
    status = running(
        release=STORED, variants=variants(("seven", 1, [stage(0, "False", invalid_attempts=lost, finished_at=ago(1))]))
    )
    old = decide(applied(*READY, status=status))
    assert old.action == actions.DeleteInjectors(("m-1-1", "w-1-1-0"))
    assert decide(applied(status=status)).action == actions.CreateMaster(1, 2)


@pytest.mark.parametrize(
    ("seen", "wait"),
    [
        (replace(WINDOW, elapsed_seconds=1), 2.0),
        (replace(WINDOW, elapsed_seconds=9.5), 0.5),
        (replace(WINDOW, elapsed_seconds=12), 0.3),
        (replace(WINDOW, state="ramp"), 0.3),
        (replace(WINDOW, state="tail"), 0.3),
    ],
)
def test_a_window_is_watched_every_two_seconds_and_its_end_at_once(seen: StageProgress, wait: float) -> None:
    assert decide(in_stage(*READY, progress=(seen,))).wait == pytest.approx(wait)


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("a spec that cannot be run is refused", Phase.FAILED),
        ("an aborted spec is refused", Phase.ABORTED),
        ("the run is over", Phase.SUCCEEDED),
        ("what could not be restored keeps its snapshot and its Lease", Phase.FAILED),
    ],
)
def test_the_status_of_an_ended_run(name: str, phase: Phase) -> None:
    o = CASES[name][0]
    status = before_action(o, decide(o))
    found = {condition.type: (condition.status, condition.reason) for condition in status.conditions}
    assert status.phase is phase
    assert status.run_id == RUN
    assert "Reconciling" not in found
    assert (found.get("Stalled", ("False",))[0] == "True") == (phase is not Phase.SUCCEEDED)
    assert "ResultsPublished" not in found, "nothing was measured"
