"""The second half of a step: one idempotent action through the ports, one function each."""

from __future__ import annotations

import asyncio
from typing import Any, assert_never

from loadtest.api import names
from loadtest.api.conditions import Reason
from loadtest.api.figures import Figures, ResultRef, StageResult
from loadtest.api.status import BaselineResult
from loadtest.core import actions
from loadtest.core.baseline import UnusableBaseline, copied
from loadtest.core.expand import RunPlan, expand
from loadtest.core.measuring import measurement_orders, target_namespace
from loadtest.core.observed import Observed
from loadtest.core.progress import stage_entries
from loadtest.core.project import Done
from loadtest.core.rollout import changed_pods
from loadtest.ports import Outdated, Refused
from loadtest.reconcile.evaluate import evaluate
from loadtest.reconcile.ports import Ports
from loadtest.results import figures
from loadtest.results.record import BadRecord, Problem, Record, envelope, parse

JOIN_SECONDS = 120


async def execute(ports: Ports, o: Observed, action: actions.Action) -> Done:
    """Carry out `action`; what it brought that belongs into the status."""
    match action:
        case actions.Admit():
            return await _admit(ports, o, action)
        case actions.CollectStage():
            return await _collect(ports, o, action)
        case actions.LoseStage():
            return _invalid(o, action, action.reason, action.message)
        case actions.Evaluate():
            return await evaluate(ports, o, _plan(o))
        case actions.DropPlan():
            await ports.store.drop_plan(o.resource, _plan(o).run)
        case actions.CreateMaster() | actions.CreateWorkers() | actions.DeleteInjectors():
            await _injectors(ports, o, action)
        case actions.StartStage():
            order = stage_order(o, _plan(o), action)
            await ports.injectors.start_stage(o, action.position, action.stage, action.attempt, order)
        case (
            actions.AcquireLease()
            | actions.PrepareTarget()
            | actions.RunHelm()
            | actions.DismissDeadMan()
            | actions.CleanTarget()
            | actions.ReleaseLease()
        ):
            await _target(ports, o, action)
        case _:
            assert_never(action)
    return Done()


async def _injectors(
    ports: Ports, o: Observed, action: actions.CreateMaster | actions.CreateWorkers | actions.DeleteInjectors
) -> None:
    match action:
        case actions.CreateMaster():
            await ports.injectors.create_master(o.resource, _plan(o), action.position, action.generation)
        case actions.CreateWorkers():
            await _create_workers(ports, o, action)
        case actions.DeleteInjectors():
            await ports.injectors.delete(o.resource, action.pods)


async def _target(
    ports: Ports,
    o: Observed,
    action: actions.AcquireLease
    | actions.PrepareTarget
    | actions.RunHelm
    | actions.DismissDeadMan
    | actions.CleanTarget
    | actions.ReleaseLease,
) -> None:
    resource, plan = o.resource, _plan(o)
    match action:
        case actions.AcquireLease():
            await ports.targets.acquire(resource, plan, o.target)
        case actions.PrepareTarget():
            await ports.targets.prepare(resource, plan)
        case actions.RunHelm():
            await ports.targets.helm(resource, plan, action.op, action.key, action.variant)
        case actions.DismissDeadMan():
            await ports.targets.dismiss(plan, action.key)
        case actions.CleanTarget():
            await ports.targets.clean(plan)
        case actions.ReleaseLease():
            await ports.targets.release(resource, plan)


def _plan(o: Observed) -> RunPlan:
    if o.plan is None:
        raise Outdated("the plan of the run is gone")
    return o.plan


async def _admit(ports: Ports, o: Observed, action: actions.Admit) -> Done:
    if o.resource.spec is None:
        raise Outdated("the spec cannot be read any more")
    plan = expand(action.run, o.resource.spec)
    earlier = await _earlier(ports, o, plan)
    await ports.store.forget(o.resource, None)
    return Done(admitted=(action.run, await ports.store.freeze(o.resource, plan)), baseline=earlier)


async def _earlier(ports: Ports, o: Observed, plan: RunPlan) -> BaselineResult | None:
    """What spec.baselineRef names, taken now: the other LoadTest may be run again, or go."""
    reference = plan.spec.baseline_ref
    if reference is None:
        return None
    status = await ports.loadtests.ended(o.resource.namespace, reference.name)
    try:
        return copied(plan, reference, status)
    except UnusableBaseline as reason:
        raise Refused(Reason.BASELINE_NOT_FOUND, str(reason)) from reason


async def _create_workers(ports: Ports, o: Observed, action: actions.CreateWorkers) -> None:
    plan = _plan(o)
    await asyncio.gather(
        *(
            ports.injectors.create_worker(o.resource, plan, action.position, action.generation, index, action.master_ip)
            for index in action.indexes
        )
    )


def stage_order(o: Observed, plan: RunPlan, action: actions.StartStage) -> dict[str, Any]:
    """What the master is told: who takes part, how many users, how long; and the target's pods, to compare later."""
    stage, load = plan.stages[action.stage], plan.spec.load
    measurements = measurement_orders(plan.spec, o.target.pods, target_namespace(plan.spec, o.resource.namespace))
    return {
        "injectors": stage.injectors,
        "users": stage.users,
        "spawnRate": stage.spawn_rate,
        **({"arrivalsPerSecond": stage.rate} if stage.rate is not None else {}),
        "expectedWorkers": sorted(action.workers),
        "durationSeconds": stage.seconds,
        # Once per repeat, at its first stage: after each change of variant the target's pods are new, and cold.
        "warmUpSeconds": load.warm_up.seconds if stage.index == 0 else 0,
        "joinTimeoutSeconds": JOIN_SECONDS,
        "requestTimeoutSeconds": load.request_timeout.seconds,
        "context": {"pods": {name: pod.fingerprint() for name, pod in o.target.pods.items()}},
        **({"measurements": measurements} if measurements else {}),
    }


async def _collect(ports: Ports, o: Observed, action: actions.CollectStage) -> Done:
    """Store the record before the status speaks of it; a record that is stored already is taken as it is."""
    plan = _plan(o)
    name = names.result(plan.run, action.position, action.stage, action.attempt)
    found = await ports.store.get(o.resource.namespace, name)
    if found is None:
        record = await ports.injectors.record(o, action.position, action.stage, action.attempt)
        stored = envelope(
            record, _target_problems(o, plan, record), {n: p.fingerprint() for n, p in o.target.pods.items()}
        )
        reference = await ports.store.put(o.resource, name, stored)
    else:
        stored, reference = found
    try:
        parsed = parse(stored)
    except BadRecord as error:  # a master of another version: an attempt without figures, not a run that hangs
        return _invalid(o, action, "RecordUnreadable", str(error))
    result = figures.stage_result(parsed)
    result.result_ref = ResultRef(name=reference.name, parts=reference.parts, sha256=reference.sha256)
    result.finished_at = o.now
    variant = next(repeat.variant for repeat in plan.repeats if repeat.position == action.position)
    pool = await _pooled(ports, o, plan, variant, parsed if result.valid == "True" else None)
    return Done(stage=(action.position, result), pooled=(variant, pool) if pool else None)


def _target_problems(o: Observed, plan: RunPlan, record: dict[str, Any]) -> list[Problem]:
    """What the operator itself saw go wrong: the target's pods were not the same set throughout."""
    if plan.spec.target.allow_scaling:
        return []
    before = ((record.get("order") or {}).get("context") or {}).get("pods") or {}
    changed = changed_pods(before, o.target.pods)
    return [Problem(changed.reason, changed.message)] if changed else []


async def _pooled(ports: Ports, o: Observed, plan: RunPlan, variant: str, newest: Record | None) -> Figures | None:
    """All valid stages of a variant as one, the newest with them. From records: percentiles cannot be pooled."""
    references = [
        stage.result_ref.name
        for repeat in plan.repeats
        if repeat.variant == variant
        for stage in stage_entries(o.resource.status, repeat.position).values()
        if stage.valid == "True" and stage.result_ref
    ]
    records = []
    for (
        name
    ) in references:  # one after the other: read, a long stage's record takes six times the memory of a parsed one
        found = await ports.store.get(o.resource.namespace, name)
        if found is None:
            return None
        records.append(parse(found[0]))
    return figures.pooled([*records, *([newest] if newest else [])])


def _invalid(o: Observed, action: actions.LoseStage | actions.CollectStage, reason: str, message: str) -> Done:
    """An attempt that has no figures."""
    stage = _plan(o).stages[action.stage]
    result = StageResult(
        index=stage.index,
        injectors=stage.injectors,
        users=stage.users,
        attempt=action.attempt,
        valid="False",
        invalid_reason=reason,
        invalid_message=message,
        finished_at=o.now,
    )
    return Done(stage=(action.position, result))
