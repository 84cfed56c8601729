"""Measurements in whole runs: what is ordered of the master, and what a missing one does to the run."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from loadtest.api.status import Phase, Verdict
from tests.unit.reconcile.world import SPEC, World, drive

REDIS = {"name": "cache", "redis": {"address": "redis.runner.svc:6379"}}


def measured(*, required: bool) -> World:
    spec: dict[str, Any] = copy.deepcopy(SPEC)
    spec["load"]["stages"] = spec["load"]["stages"][:1]
    return World(spec=spec | {"measurements": [REDIS | {"required": required}]})


async def test_the_master_is_told_what_to_measure() -> None:
    world = measured(required=False)
    await drive(world, until=lambda world: world.stages)
    ((_, order, _),) = next(iter(world.stages.values())).values()
    assert order["measurements"] == [
        {"name": "cache", "required": False,
         "redis": {"host": "redis.runner.svc", "port": 6379, "password": False}},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("required", "valid", "verdict"), [(False, "True", Verdict.PASS), (True, "False", Verdict.INCONCLUSIVE)]
)
async def test_a_measurement_without_points_is_unknown_and_only_a_required_one_spoils_the_stage(
    required: bool, valid: str, verdict: Verdict
) -> None:
    world = measured(required=required)  # whose masters take no points
    await drive(world)
    status = world.parsed
    stages = [stage for variant in status.variants or () for run in variant.runs for stage in run.stages]
    assert {stage.valid for stage in stages} == {valid}
    assert {stage.redis.unknown_reason for stage in stages if stage.redis} == {"PointsMissing"}
    assert status.summary is not None
    assert (status.phase, status.summary.verdict) == (Phase.SUCCEEDED, verdict)
    reasons = {attempt.reason for stage in stages for attempt in stage.invalid_attempts or ()}
    assert reasons == ({"MeasurementMissing"} if required else set())
    assert {stage.attempt for stage in stages} == ({2} if required else {1}), "it is run again once"
