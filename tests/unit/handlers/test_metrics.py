from __future__ import annotations

import json
import logging
from typing import Any

import kopf
import pytest
from prometheus_client import generate_latest

from loadtest.api import names
from loadtest.core.observed import Problem
from loadtest.handlers.metrics import RESTORES, STAGES, Metrics
from loadtest.reconcile import trace
from loadtest.reconcile.loop import Reconciler
from tests.unit.reconcile.world import World, drive


def lines(metrics: Metrics) -> list[str]:
    return generate_latest(metrics.registry).decode().splitlines()


def loadtest(uid: str, phase: str | None, restored: str | None = None, **annotations: str) -> dict[str, Any]:
    conditions = [{"type": "TargetRestored", "status": restored}] if restored else []
    meta = {"uid": uid, "namespace": "ns", "name": f"test-{uid}", "annotations": annotations}
    return {"metadata": meta, "status": {"phase": phase, "conditions": conditions} if phase else {}}


def test_loadtests_are_counted_by_their_phase_of_now() -> None:
    metrics = Metrics({}, {})
    for uid, phase in (("a", None), ("b", "Running"), ("c", "Running"), ("c", "Succeeded"), ("d", "Running")):
        metrics.note(loadtest(uid, phase))
    metrics.forget("d")
    metrics.forget("never seen")
    found = {line for line in lines(metrics) if line.startswith("loadtest_loadtests{")}
    assert {line for line in found if not line.endswith(" 0.0")} == {
        'loadtest_loadtests{phase="Pending"} 1.0',
        'loadtest_loadtests{phase="Running"} 1.0',
        'loadtest_loadtests{phase="Succeeded"} 1.0',
    }
    assert len(found) == 7, "a phase that nothing is in is 0, so that alerts see it"


def test_a_target_that_is_not_restored_has_a_line_until_it_is_or_a_person_gives_up() -> None:
    metrics = Metrics({}, {})
    line = 'loadtest_target_not_restored{name="test-a",namespace="ns"} 1.0'
    metrics.note(loadtest("a", "Failed", restored="False"))
    assert line in lines(metrics)
    metrics.note(loadtest("a", "Failed", restored="True"))
    assert line not in lines(metrics)
    metrics.note(loadtest("a", "Failed", restored="False"))
    metrics.note(loadtest("a", "Failed", restored="False", **{names.ANNOTATION_GIVE_UP_RESTORE: "true"}))
    assert line not in lines(metrics)


async def test_what_became_of_a_run_is_counted_from_what_people_are_told() -> None:
    metrics, world = Metrics({}, {}), World(invalid_attempts={(1, 0, 1): "WorkerLost"})
    await drive(world)
    for _, reason, _ in world.events:
        metrics.told(reason)
    found = lines(metrics)
    assert 'loadtest_runs_total{phase="Succeeded"} 1.0' in found
    assert 'loadtest_runs_total{phase="Failed"} 0.0' in found
    assert 'loadtest_stages_total{result="valid"} 4.0' in found
    assert 'loadtest_stages_total{result="invalid"} 1.0' in found
    assert 'loadtest_restores_total{reason="Restored"} 1.0' in found
    assert 'loadtest_restores_total{reason="RestoreConflict"} 0.0' in found


async def test_the_loop_tells_the_reason_of_each_event() -> None:
    world = World(refused=Problem("NamespaceNotAllowed", "no"))
    reconciler, told = Reconciler(world.ports(), monotonic=world.seconds), list[str]()
    reconciler.on_event = told.append
    while await reconciler.step(world.ref()) is not None:
        pass
    assert told == [reason for _, reason, _ in world.events]
    assert "NamespaceNotAllowed" in told


def test_events_that_are_counted_are_told_by_those_words() -> None:
    assert set(STAGES) == {"StageComplete", "StageInvalid"}
    assert "NotChanged" not in RESTORES, "a target that was never changed was not restored"


async def test_each_log_line_of_a_step_names_the_loadtest_and_the_run_in_json(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    logging.getLogger("loadtest").setLevel(logging.INFO)
    caplog.handler.addFilter(trace.Fields())
    with caplog.at_level(logging.INFO, "loadtest"):
        await drive(world)
    formatter = kopf._core.actions.loggers.ObjectJsonFormatter("%(message)s")
    told = [json.loads(formatter.format(record)) for record in caplog.records]
    assert told
    assert {(line["loadtest"], line["run"]) for line in told} == {("performance/test", world.parsed.run_id)}
