"""The comparison and the capacity at the end of a run, from the status and the stored records."""

from __future__ import annotations

import asyncio

from loadtest.api.figures import Figures
from loadtest.api.status import Phase, RunResult
from loadtest.core.capacity import capacities
from loadtest.core.compare import common_stages, comparisons
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Observed
from loadtest.core.project import Done
from loadtest.reconcile.ports import Ports
from loadtest.results import figures
from loadtest.results.record import parse


async def evaluate(ports: Ports, o: Observed, plan: RunPlan) -> Done:
    """Compare the variants of a run that is over, and say how far each scales."""
    status = o.resource.status
    variants = status.variants or []
    complete = status.ending is not None and status.ending.phase is Phase.SUCCEEDED
    earlier = status.baseline
    overall = await _overall(ports, o) if len(variants) > 1 and earlier is None else {}
    return Done(
        comparison=tuple(comparisons(plan, variants, overall, complete=complete, earlier=earlier)),
        capacity=tuple(await asyncio.to_thread(capacities, variants)),
    )


async def _overall(ports: Ports, o: Observed) -> dict[tuple[str, int], Figures]:
    """Each repeat over the stages that are valid everywhere; nothing where one of the records is gone."""
    variants = o.resource.status.variants or []
    stages = common_stages(variants)
    found: dict[tuple[str, int], Figures] = {}
    for variant in variants:
        for run in variant.runs:
            whole = await _repeat(ports, o, run, stages)
            if whole is None:
                return {}
            found[variant.name, run.repeat] = whole
    return found


async def _repeat(ports: Ports, o: Observed, run: RunResult, stages: list[int]) -> Figures | None:
    references = [stage.result_ref for stage in run.stages if stage.index in stages]
    records = []
    for reference in references:
        stored = await ports.store.get(o.resource.namespace, reference.name) if reference else None
        if stored is None:
            return None
        # In a thread: a record holds some hundred thousand numbers, and other LoadTests' steps go on meanwhile.
        records.append(await asyncio.to_thread(parse, stored[0]))
    return await asyncio.to_thread(figures.pooled, records)
