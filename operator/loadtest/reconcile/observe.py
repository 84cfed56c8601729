"""The first half of a step: fresh reads of the resource, the target and the injectors."""

from __future__ import annotations

import asyncio

from loadtest.core.decision import engaged
from loadtest.core.expand import InvalidSpec, RunPlan, expand
from loadtest.core.observed import Injectors, Observed, Resource, Target
from loadtest.ports import Ref
from loadtest.reconcile.ports import Ports


async def observe(ports: Ports, ref: Ref) -> Observed | None:
    """What the world looks like now; None where the LoadTest is gone.

    A LoadTest without a run to attend to costs this one read.
    """
    resource = await ports.loadtests.read(ref)
    if resource is None:
        return None
    if not engaged(resource):
        return Observed(now=ports.clock.now(), resource=resource)
    frozen = await ports.store.plan(resource, resource.status.run_id or "")
    plan = frozen or _again(resource)
    target, injectors = Target(), Injectors()
    if plan is not None:
        target, injectors = await asyncio.gather(
            ports.targets.observe(resource, plan), ports.injectors.observe(resource, plan)
        )
    return Observed(
        now=ports.clock.now(),
        resource=resource,
        plan=plan,
        frozen=frozen is not None,
        target=target,
        injectors=injectors,
    )


def _again(resource: Resource) -> RunPlan | None:
    """The plan made anew, where its ConfigMap is gone but the spec is still the one that was admitted."""
    if resource.spec is None or resource.status.run_id != resource.desired_run:
        return None
    try:
        return expand(resource.desired_run, resource.spec)
    except InvalidSpec:
        return None
