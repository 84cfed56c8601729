"""The comparison at the end of whole runs, in a world in memory."""

from __future__ import annotations

import pytest

from loadtest.adapters.store import decode
from loadtest.api.status import Phase
from loadtest.report.result import result_of
from loadtest.report.verify import differences
from tests.unit.reconcile.world import World, drive


def problems(world: World) -> list[str]:
    """What `loadtest report --verify` finds."""
    records = {name: decode(data) for name, data in world.config_maps.items()}
    found, checked = differences(result_of(world.body(), records), dict.fromkeys(records, "hash"))
    assert checked == len(records)
    return found


def repeated(slow: set[tuple[int, int]]) -> World:
    world = World(slow=slow)
    world.spec |= {"repeats": 5, "equivalenceMargin": "5%"}
    return world


async def test_variants_are_compared_once_the_target_is_restored() -> None:
    world = World()
    await drive(world)
    (two,) = world.parsed.comparison or []
    assert (two.variant, two.baseline) == ("two", "seven")
    assert two.overall is not None
    assert two.overall.stages == [0, 1]
    assert {row.verdict for row in two.overall.metrics} == {"Indicative"}
    assert {row.ratio_permille for row in two.overall.metrics} == {1000}
    assert problems(world) == []


async def test_5_repeats_of_a_slower_variant_are_worse() -> None:
    world = repeated({(position, stage) for position in range(6, 11) for stage in (0, 1)})
    await drive(world, pace=1.0)
    (two,) = world.parsed.comparison or []
    assert two.overall is not None
    verdicts = {row.metric: row.verdict for row in two.overall.metrics}
    assert verdicts == {"p50": "Worse", "requestsPerSecond": "Equivalent"}, "ten requests have no higher percentile"
    assert problems(world) == []


async def test_an_aborted_run_is_compared_as_far_as_it_came_and_claims_nothing() -> None:
    world = repeated({(position, 0) for position in range(6, 11)})
    await drive(world, pace=1.0, until=lambda w: w.parsed.summary is not None and w.parsed.summary.stage == "19/20")
    world.edit(abort=True)
    await drive(world)
    assert world.parsed.phase is Phase.ABORTED
    (two,) = world.parsed.comparison or []
    assert {row.verdict for stage in two.stages for row in stage.metrics} == {"Indicative"}
    assert two.stages[0].metrics[0].ratio_permille in range(99_900, 100_100)
    assert problems(world) == []


async def test_a_record_that_is_gone_costs_the_overall_comparison_alone() -> None:
    world = World()
    await drive(world, until=lambda w: w.parsed.phase is Phase.RESTORING)
    world.config_maps.popitem()
    await drive(world)
    (two,) = world.parsed.comparison or []
    assert two.overall is None
    assert len(two.stages) == 2


async def test_one_variant_is_compared_with_nothing() -> None:
    world = World()
    world.spec["variants"] = world.spec["variants"][:1]
    await drive(world)
    assert world.parsed.comparison == []


async def test_a_run_that_measured_nothing_is_not_compared() -> None:
    world = World(unsupported=("sessionBackend",))
    await drive(world)
    assert world.parsed.comparison is None


async def test_a_deletion_does_not_wait_for_a_comparison() -> None:
    world = World()
    await drive(world, until=lambda w: w.parsed.phase is Phase.RESTORING)
    world.deleting, world.generation, world.version = True, 2, world.version + 1
    await drive(world)
    assert world.parsed.comparison is None


@pytest.mark.parametrize("change", ["comparison", "objectives"])
async def test_verify_finds_a_verdict_that_does_not_follow(change: str) -> None:
    world = World()
    world.spec["objectives"] = [{"name": "median", "latency": {"percentile": "50", "below": "1s"}}]
    await drive(world)
    if change == "comparison":
        world.status["comparison"][0]["stages"][0]["metrics"][0]["ratioPermille"] = 900
    else:
        world.status["objectives"][0]["met"] = "False"
    (problem,) = problems(world)
    assert problem.startswith(f"{change}: ")


async def test_an_earlier_run_is_the_baseline_of_a_later_one() -> None:
    first = World()
    await drive(first)
    later = World(slow={(1, 0), (1, 1)}, earlier={"before": first.parsed})
    later.spec |= {"baselineRef": {"name": "before", "variant": "seven"}}
    await drive(later)
    found = later.parsed.comparison or []
    assert [(one.variant, one.baseline) for one in found] == [("seven", "before/seven"), ("two", "before/seven")]
    ratios = [metric.ratio_permille for stage in found[1].stages for metric in stage.metrics]
    assert set(ratios) == {1000}
    assert found[0].stages[0].metrics[0].ratio_permille > 90_000
    assert problems(later) == []


async def test_a_run_whose_baseline_is_not_there_is_refused_before_anything_is_touched() -> None:
    world = World()
    world.spec |= {"baselineRef": {"name": "nowhere"}}
    await drive(world)
    assert world.parsed.phase is Phase.FAILED
    assert world.parsed.ending is not None
    assert world.parsed.ending.reason == "BaselineNotFound"
    assert not world.upgrades
    assert world.lease is None


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_operator_that_dies_at_any_write_of_the_end_says_the_same(when: str) -> None:
    reference = World(slow={(2, 0), (2, 1)})
    await drive(reference, pace=3.0, until=lambda w: w.parsed.phase is Phase.RESTORING)
    moments = reference.moments = []
    await drive(reference, pace=3.0)
    reference.moments = None
    assert reference.parsed.comparison
    assert reference.parsed.capacity
    for where, world in moments:
        if where.startswith(when):
            await drive(world, pace=3.0)
            assert world.parsed.comparison == reference.parsed.comparison, where
            assert world.parsed.capacity == reference.parsed.capacity, where
            assert world.parsed.phase is Phase.SUCCEEDED, where


async def test_verify_finds_nothing_wrong_with_a_run_that_ended_before_its_first_stage() -> None:
    world = World()
    world.spec["objectives"] = [{"name": "median", "latency": {"percentile": "50", "below": "1s"}}]
    await drive(world, until=lambda w: w.parsed.phase is Phase.PREPARING)
    world.edit(abort=True)
    await drive(world)
    assert world.parsed.phase is Phase.ABORTED
    assert problems(world) == []
