"""Whole runs of the loop in a world in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from loadtest.api.conditions import ConditionType, find_condition
from loadtest.api.status import Phase
from loadtest.core.observed import Problem
from loadtest.ports import Refused
from tests.faults.changes import no_right, rejected
from tests.faults.injection import While
from tests.unit.reconcile.world import SPEC, START, World, drive


def condition(world: World, type_: str) -> tuple[str, str] | None:
    found = find_condition(world.parsed.conditions, type_)
    return (found.status, found.reason) if found else None


def clean(world: World) -> bool:
    """Nothing of the run is left but its results, and the release is the original."""
    return (
        world.variant is None
        and world.lease is None
        and not world.state
        and not world.jobs
        and not world.pods
        and world.plan_json is None
    )


async def test_a_run_goes_through_every_variant_and_stage_and_restores_the_release() -> None:
    world = World()
    await drive(world)
    status = world.parsed
    assert status.phase is Phase.SUCCEEDED
    assert [variant.name for variant in status.variants or ()] == ["seven", "two"]
    assert all(stage.valid == "True" for v in status.variants or () for run in v.runs for stage in run.stages)
    assert world.upgrades == ["seven", "two", "original"]
    assert clean(world)
    assert condition(world, "Ready") == ("True", "Completed")
    assert condition(world, "TargetRestored") == ("True", "Restored")
    assert condition(world, "ResultsPublished") == ("True", "RecordsStored")
    assert condition(world, "Reconciling") is None
    assert world.phases == ["Pending", "Preparing", "Running", "Restoring", "Succeeded"]


async def test_a_run_at_rest_costs_no_write() -> None:
    world = World()
    await drive(world)
    writes = world.writes
    await drive(world)
    assert world.writes == writes


async def test_the_status_holds_the_figures_of_each_stage_and_of_the_pool() -> None:
    world = World()
    await drive(world)
    variant = (world.parsed.variants or [])[0]
    stage = variant.runs[0].stages[1]
    assert (stage.requests, stage.failures, stage.requests_per_second_milli) == (10, 0, 1000)
    assert stage.latency_micros is not None
    assert stage.latency_micros.p50 in range(5000, 5006)
    assert stage.latency_micros.max == 10_000
    assert variant.pooled is not None
    assert variant.pooled.requests == 20
    assert world.parsed.summary is not None
    assert world.parsed.summary.stage == "4/4"


async def test_an_invalid_stage_is_run_again_within_its_bound() -> None:
    world = World(invalid_attempts={(1, 1, 1): "WorkerLost"})
    await drive(world)
    stage = (world.parsed.variants or [])[0].runs[0].stages[1]
    assert (stage.attempt, stage.valid) == (2, "True")
    assert [(a.attempt, a.reason) for a in stage.invalid_attempts or ()] == [(1, "WorkerLost")]


async def test_a_stage_that_stays_invalid_is_reported_as_invalid() -> None:
    world = World(invalid_attempts={(1, 1, 1): "WorkerLost", (1, 1, 2): "WorkerSaturated"})
    await drive(world)
    stage = (world.parsed.variants or [])[0].runs[0].stages[1]
    assert (stage.attempt, stage.valid, stage.invalid_reason) == (2, "False", "WorkerSaturated")
    assert world.parsed.phase is Phase.SUCCEEDED


async def test_too_many_invalid_stages_make_the_run_inconclusive() -> None:
    world = World(invalid_attempts={(1, stage, attempt): "WorkerLost" for stage in (0, 1) for attempt in (1, 2)})
    await drive(world)
    assert condition(world, "Stalled") == ("True", "Inconclusive")
    assert world.parsed.summary is not None
    assert world.parsed.summary.verdict == "Inconclusive"


async def test_a_restarted_target_pod_makes_the_stage_invalid() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.target_restarts = 1
    await drive(world)
    stage = (world.parsed.variants or [])[0].runs[0].stages[0]
    assert [a.reason for a in stage.invalid_attempts or ()] == ["TargetChanged"]
    assert stage.valid == "True"


async def test_a_lost_master_costs_the_attempt_and_a_new_set_of_injectors() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.pods = {name: entry for name, entry in world.pods.items() if not entry[0].is_master}
    await drive(world)
    stage = (world.parsed.variants or [])[0].runs[0].stages[0]
    assert (stage.attempt, stage.valid) == (2, "True")
    assert [a.reason for a in stage.invalid_attempts or ()] == ["MasterLost"]
    assert clean(world)


async def test_abort_keeps_what_was_measured_and_restores() -> None:
    world = World()
    await drive(world, until=lambda w: w.parsed.summary is not None and w.parsed.summary.stage == "1/4")
    world.edit(abort=True)
    await drive(world)
    assert world.parsed.phase is Phase.ABORTED
    assert (world.parsed.variants or [])[0].runs[0].stages[0].valid == "True"
    assert condition(world, "Stalled") == ("True", "Aborted")
    assert clean(world)


async def test_a_deletion_in_the_middle_of_a_stage_restores_first() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.deleting, world.generation, world.version = True, 2, world.version + 1
    await drive(world)
    assert clean(world)
    assert condition(world, "TargetRestored") == ("True", "Restored")


async def test_a_deadline_that_passes_aborts_and_restores() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.now = world.now.replace(year=2027)
    await drive(world)
    assert world.parsed.phase is Phase.ABORTED
    assert condition(world, "Stalled") == ("True", "DeadlineExceeded")
    assert clean(world)


async def test_suspend_finishes_the_stage_and_waits_with_the_variant_applied() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.edit(suspend=True)
    await drive(world, until=lambda w: condition(w, "Ready") == ("Unknown", "Suspended"))
    assert world.variant == "seven"
    assert world.parsed.summary is not None
    assert world.parsed.summary.stage == "1/4"
    world.edit(suspend=False)
    await drive(world)
    assert world.parsed.phase is Phase.SUCCEEDED
    assert world.upgrades == ["seven", "two", "original"]


async def test_a_suspended_run_applies_no_further_variant() -> None:
    world = World()
    await drive(world, until=lambda w: len(next(iter(w.stages.values()), {})) == 2)
    world.edit(suspend=True)
    await drive(world, until=lambda w: condition(w, "Ready") == ("Unknown", "Suspended"))
    world.now += timedelta(minutes=1)
    await drive(world, until=lambda w: w.now > START + timedelta(minutes=3))
    assert world.upgrades == ["seven"]


async def test_a_run_goes_on_after_a_suspension_of_hours_in_which_injectors_died() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.edit(suspend=True)
    await drive(world, until=lambda w: condition(w, "Ready") == ("Unknown", "Suspended"))
    world.pods = {name: entry for name, entry in world.pods.items() if entry[0].is_master}
    world.now += timedelta(hours=3)
    await drive(world, until=lambda w: w.now > START + timedelta(hours=3, minutes=1))
    assert not world.pods, "nothing is kept ready for hours"
    world.edit(suspend=False)
    await drive(world)
    assert world.parsed.phase is Phase.SUCCEEDED
    assert all(stage.attempt == 1 for v in world.parsed.variants or () for run in v.runs for stage in run.stages)


async def test_a_drifted_spec_is_shown_and_starts_a_new_run_after_the_end() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    first = world.parsed.run_id
    world.edit(variants=[*SPEC["variants"][:1], {"name": "two", "runner": {"threads": 3}}])
    await drive(world, until=lambda w: condition(w, "SpecDrifted") is not None)
    assert condition(world, "SpecDrifted") == ("True", "SpecEdited")
    await drive(world, until=lambda w: w.parsed.phase is Phase.SUCCEEDED)
    assert world.parsed.run_id == first
    await drive(world)
    assert world.parsed.run_id != first
    assert world.parsed.phase is Phase.SUCCEEDED
    assert condition(world, "SpecDrifted") is None


async def test_a_new_rerun_starts_a_new_run_and_drops_the_old_results() -> None:
    world = World()
    await drive(world)
    first, results = world.parsed.run_id, set(world.config_maps)
    world.edit(rerun="again")
    await drive(world)
    assert world.parsed.run_id != first
    assert not results & set(world.config_maps)


async def test_a_suspended_rerun_waits_and_then_runs() -> None:
    world = World()
    await drive(world)
    first = world.parsed.run_id
    world.edit(rerun="again", suspend=True)
    await drive(world, until=lambda w: condition(w, "Ready") == ("Unknown", "Suspended"))
    later = world.now + timedelta(minutes=5)
    await drive(world, until=lambda w: w.now > later)
    assert condition(world, "Ready") == ("Unknown", "Suspended")
    world.edit(suspend=False)
    await drive(world)
    assert world.parsed.phase is Phase.SUCCEEDED
    assert world.parsed.run_id != first


async def test_a_busy_target_is_waited_for() -> None:
    world = World(lease="performance/other/uid-2/run")
    await drive(world, until=lambda w: condition(w, "Ready") == ("Unknown", "TargetBusy"))
    assert world.phases == ["Pending"]
    assert not world.jobs
    world.lease = None
    await drive(world)
    assert world.parsed.phase is Phase.SUCCEEDED


async def test_a_lost_lease_ends_the_run_without_touching_the_release() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.lease = "performance/other/uid-2/run"
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert condition(world, "TargetRestored") == ("False", "LeaseLost")
    assert world.variant == "seven"
    assert world.lease == "performance/other/uid-2/run"


async def test_a_target_that_may_not_be_loaded_is_not_touched() -> None:
    world = World(refused=Problem("NamespaceNotAllowed", "namespace runner does not allow it: annotate it"))
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert condition(world, "Stalled") == ("True", "NamespaceNotAllowed")
    assert condition(world, "TargetRestored") == ("True", "NotChanged")
    assert (world.upgrades, world.outcomes, world.lease_renewed) == ([], {}, None)
    assert clean(world)


async def test_a_consent_that_is_withdrawn_stops_the_load_and_restores() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.refused = Problem("NamespaceNotAllowed", "namespace runner does not allow it any more")
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert condition(world, "Stalled") == ("True", "NamespaceNotAllowed")
    assert condition(world, "TargetRestored") == ("True", "Restored")
    assert world.upgrades == ["seven", "original"]
    assert clean(world)


async def test_a_setting_that_the_chart_does_not_know_ends_the_run_before_any_write() -> None:
    world = World(unsupported=("sessionBackend (values path session.backend)",))
    await drive(world)
    assert condition(world, "Stalled") == ("True", "SettingNotSupported")
    assert world.upgrades == []
    assert clean(world)


async def test_a_release_that_somebody_else_changed_is_left_alone() -> None:
    world = World(third_party=True)
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert condition(world, "TargetRestored") == ("False", "RestoreConflict")
    assert world.state, "the snapshot is kept for a person"


async def test_a_scenario_that_cannot_be_used_refuses_the_run() -> None:
    world = World(refuse_scenario=Refused("ScenarioNotFound", "ConfigMap performance/journey does not exist"))
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert condition(world, "Stalled") == ("True", "ScenarioNotFound")
    assert world.lease is None


async def test_a_rerun_whose_scenario_is_gone_is_refused_as_a_first_run_is() -> None:
    world = World()
    await drive(world)
    world.refuse_scenario = Refused("ScenarioNotFound", "ConfigMap performance/journey does not exist")
    world.edit(rerun="again")
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert condition(world, "Stalled") == ("True", "ScenarioNotFound")
    assert not world.parsed.variants, "what the last run measured is not shown as this one's"


async def test_a_spec_that_cannot_run_is_refused_with_field_and_remedy() -> None:
    world = World()
    world.spec["deadline"] = "1m"
    world.spec["load"]["stages"] = [{"injectors": 1, "duration": "2m"}]
    await drive(world)
    stalled = find_condition(world.parsed.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.reason == "InvalidSpec"
    assert "spec.deadline" in stalled.message


async def _with_moments(world: World) -> list[tuple[str, World]]:
    """Drives the world to the end of its run; what it was like at each write."""
    moments = world.moments = []
    await drive(world, pace=3.0)
    world.moments = None
    assert len(moments) == 2 * (world.writes - moments[0][1].writes + 1)
    return moments


async def _another_operator(world: World) -> None:
    """The operator dies, and another one takes over after a second."""
    world.now += timedelta(seconds=1)
    await drive(world, pace=3.0)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_operator_that_dies_at_any_write_comes_to_the_same_end(when: str) -> None:
    reference = World()
    for where, world in await _with_moments(reference):
        if not where.startswith(when):
            continue
        await _another_operator(world)
        assert world.parsed.phase is reference.parsed.phase, where
        assert world.upgrades == reference.upgrades, where
        assert clean(world), where
        assert set(world.config_maps) == set(reference.config_maps), where
        attempts = [s.attempt for v in world.parsed.variants or () for run in v.runs for s in run.stages]
        assert attempts == [1, 1, 1, 1], where


async def test_an_operator_that_dies_while_a_rerun_begins_comes_to_the_same_end() -> None:
    reference = World()
    await drive(reference, pace=3.0)
    once, reference.phases = list(reference.upgrades), []
    reference.edit(rerun="again")
    for where, world in (await _with_moments(reference))[:24]:
        await _another_operator(world)
        assert world.parsed.phase is Phase.SUCCEEDED, where
        assert world.upgrades == [*once, *once], where
        assert world.phases == ["Pending", "Preparing", "Running", "Restoring", "Succeeded"], where
        assert clean(world), where


async def test_status_writes_are_few_while_only_progress_changes() -> None:
    world = World()
    world.spec["load"]["stages"] = [{"injectors": 1, "duration": "10m"}]
    world.spec["variants"] = world.spec["variants"][:1]
    await drive(world)
    assert world.status_writes < 60 + 40, "at most one every 10 s of the stage's 600 s, and one per transition"


async def test_no_new_run_starts_while_a_restore_is_owed() -> None:
    world = World(third_party=True)
    await drive(world)
    first = world.parsed.run_id
    world.edit(rerun="again")
    await drive(world)
    assert world.parsed.run_id == first
    assert world.parsed.observed_generation == world.generation


async def test_a_deletion_goes_on_trying_a_restore_that_is_owed() -> None:
    world = World(third_party=True)
    await drive(world)
    world.deleting, world.generation, world.version = True, 2, world.version + 1
    await drive(world, until=lambda w: sum(key.startswith("restore") for key in w.jobs) > 1)
    world.third_party = False
    await drive(world)
    assert clean(world)
    assert condition(world, "TargetRestored") == ("True", "Restored")


async def test_a_person_may_ask_for_another_try_at_a_restore_that_failed() -> None:
    world = World(third_party=True)
    await drive(world)
    world.annotations = {"loadtest.eqrunner.dev/restore": "2026-01-01T00:00:00Z"}
    world.version += 1
    await drive(world, until=lambda w: sum(key.startswith("restore") for key in w.jobs) > 1)
    world.third_party = False
    await drive(world)
    assert clean(world)
    assert condition(world, "TargetRestored") == ("True", "Restored")
    writes = world.writes
    await drive(world)
    assert world.writes == writes, "an annotation that stays costs nothing once the target is restored"


async def test_a_person_may_give_up_a_restore() -> None:
    world = World(third_party=True)
    await drive(world)
    world.deleting, world.generation, world.version = True, 2, world.version + 1
    world.annotations = {"loadtest.eqrunner.dev/give-up-restore": "true"}
    await drive(world)
    assert not any(key != "restore-1" for key in world.jobs if key.startswith("restore"))


async def test_a_mistake_of_the_operator_is_shown_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    with monkeypatch.context() as patched:
        patched.setattr("loadtest.reconcile.loop.decide", lambda o: o.a_mistake)
        await drive(world, until=lambda w: condition(w, "Ready") == ("Unknown", "OperatorError"))
    await drive(world)
    assert world.parsed.phase is Phase.SUCCEEDED


async def test_a_right_that_is_missing_for_the_restore_is_shown_as_long_as_it_is_missing() -> None:
    world = World()
    await drive(world, until=lambda w: w.variant == "seven")
    world.fault = While("P7", 1200, error=no_right, on=frozenset({"Job restore"}))
    world.edit(abort=True)
    seen = set()

    def hour_over(w: World) -> bool:
        w.fault.tick(w)
        if w.fault.raised > 1:
            seen.add(condition(w, "Ready"))
        return w.fault.over

    await drive(world, until=hour_over)
    assert seen == {("Unknown", "Forbidden")}
    assert world.fault.raised < 40, "ever less often"
    await drive(world)
    assert condition(world, "TargetRestored") == ("True", "Restored")


async def test_a_status_that_the_api_server_rejects_does_not_end_the_loop() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.fault = While("P5", 60, error=rejected, on=frozenset({"status"}))

    def over(w: World) -> bool:
        w.fault.tick(w)
        return w.fault.over

    await drive(world, until=over)
    await drive(world)
    assert world.parsed.phase is Phase.SUCCEEDED


async def test_a_lease_that_was_renewed_in_the_future_is_renewed_again() -> None:
    world = World()
    await drive(world, until=lambda w: any(w.stages.values()))
    world.lease_renewed = world.now + timedelta(hours=1)
    await drive(world)
    assert world.lease_writes > 1


async def test_an_injector_that_crashes_at_its_start_ends_the_run_with_its_reason() -> None:
    world = World()
    await drive(world, until=lambda w: any(pod.is_master for pod, _ in w.pods.values()))
    name = next(iter(world.pods))
    pod, created = world.pods[name]
    problem = Problem("ContainerExited", "pod master: container locust ended, Error, exit code 2")
    world.pods[name] = (replace(pod, ended=True, crashed=True, problem=problem), created)
    await drive(world)
    stalled = find_condition(world.parsed.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.reason == "InjectorsNotReady"
    assert "exit code 2" in stalled.message
    assert clean(world)
