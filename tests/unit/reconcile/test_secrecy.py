"""What must stay secret is in no status, no event and no log line, whatever becomes of the run."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from loadtest.core.observed import Problem
from loadtest.ports import Refused
from tests.unit.api.cases.base import merged
from tests.unit.reconcile.world import SPEC, World, drive

PLANTED = "correct-horse-battery-staple"
SECRETIVE = {
    "target": {"headers": {"Authorization": f"Bearer {PLANTED}", "X-Key": PLANTED}},
    "variants": [
        {"name": "seven", "values": {"database": {"password": PLANTED}, "env": [{"name": "A", "value": PLANTED}]}},
        {"name": "two", "values": {PLANTED: "a key can be telling too"}},
    ],
    "scenario": {"requests": {"launch": {"keysSecret": {"name": "keys"}, "claims": {"sub": PLANTED}}}},
}
"""Secrets where people put them though they should not."""


def refused_at_the_scenario() -> World:
    return World(refuse_scenario=Refused("InvalidScenario", "requests[0]: url must be a path"))


@pytest.mark.parametrize(
    ("world", "phase"),
    [
        (World(), "Succeeded"),
        (World(invalid_attempts={(1, 0, 1): "WorkerLost"}), "Succeeded"),
        (World(unsupported=("sessionBackend (values path session.backend)",)), "Failed"),
        (World(refused=Problem("NamespaceNotAllowed", "namespace runner does not allow it")), "Failed"),
        (World(third_party=True), "Failed"),
        (refused_at_the_scenario(), "Failed"),
    ],
    ids=["succeeds", "repeats a stage", "lacks a setting", "is not allowed", "meets a conflict", "has a bad scenario"],
)
async def test_a_run_tells_none_of_its_secrets(world: World, phase: str, caplog: pytest.LogCaptureFixture) -> None:
    world.spec = merged(SPEC, SECRETIVE)
    with caplog.at_level(logging.DEBUG):
        await drive(world)
    assert world.parsed.phase.value == phase
    _assert_silent(world, caplog)
    if phase == "Succeeded":
        assert PLANTED in (json.dumps(world.spec) + str(world.plan_json)), "it was there to be told"


BROKEN: list[dict[str, Any]] = [
    {"target": {"headers": {"Authorization": f"{PLANTED}\n"}}},
    {"variants": [{"name": "a", "values": PLANTED}]},
    {"variants": [{"name": "a", "values": {"password": PLANTED}}, {"name": "a", "values": {"password": PLANTED}}]},
    {"scenario": {"requests": {"launch": {"keysSecret": {"name": "keys"}, "claims": PLANTED}}}},
]


@pytest.mark.parametrize("change", BROKEN, ids=["header", "values", "two of a name", "claims"])
async def test_a_spec_that_is_refused_is_not_quoted_where_secrets_may_be(
    change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    world = World(spec=merged(SPEC, change))
    with caplog.at_level(logging.DEBUG):
        await drive(world)
    assert world.parsed.phase.value == "Failed"
    _assert_silent(world, caplog)


def _assert_silent(world: World, caplog: pytest.LogCaptureFixture) -> None:
    told = [json.dumps(world.status), *(" ".join(event) for event in world.events)]
    assert len(told) > 1, "people were told something"
    assert not [text for text in (*told, caplog.text) if PLANTED in text]
