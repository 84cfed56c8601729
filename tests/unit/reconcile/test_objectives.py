"""Whole runs with objectives, in a world in memory."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.conditions import find_condition
from loadtest.api.status import Phase, Verdict
from loadtest.cli.watch import exit_code
from tests.unit.reconcile.world import World, drive


def objective(on_miss: str) -> dict[str, Any]:
    """Ten requests are enough for a median, and for no higher percentile."""
    return {"name": "median", "latency": {"percentile": "50", "below": "100ms"}, "onMiss": on_miss}


def world(on_miss: str, slow: set[tuple[int, int]], **spec: Any) -> World:
    made = World(slow=slow)
    made.spec |= {"objectives": [objective(on_miss)], **spec}
    return made


def stages(of: World) -> list[tuple[str, int, list[int], list[int]]]:
    """Variant, repeat, stages that were run, stages that were skipped."""
    return [
        (variant.name, run.repeat, [stage.index for stage in run.stages], run.skipped_stages or [])
        for variant in of.parsed.variants or ()
        for run in variant.runs
    ]


def conditions(of: World) -> dict[str, tuple[str, str]]:
    found = {type_: find_condition(of.parsed.conditions, type_) for type_ in ("Ready", "Stalled", "Reconciling")}
    return {type_: (one.status, one.reason) for type_, one in found.items() if one}


async def test_a_variant_that_misses_is_stopped_and_the_next_one_goes_on() -> None:
    made = world("StopVariant", {(1, 0)})
    await drive(made)
    assert stages(made) == [("seven", 1, [0], [1]), ("two", 1, [0, 1], [])]
    assert (made.parsed.variants or [])[0].runs[0].stopped_by == "median"
    assert made.upgrades == ["seven", "two", "original"]
    assert made.parsed.summary is not None
    assert made.parsed.summary.stage == "4/4"
    assert made.parsed.summary.verdict is Verdict.MISS
    assert made.parsed.progress is not None
    assert made.parsed.progress.percent == 100
    (result,) = made.parsed.objectives or []
    assert (result.met, result.stages, result.missed_stages) == ("False", 3, 1)


async def test_each_repeat_is_stopped_by_its_own_miss() -> None:
    made = world("StopVariant", {(1, 0)}, repeats=2)
    await drive(made)
    assert stages(made) == [
        ("seven", 1, [0], [1]), ("seven", 2, [0, 1], []), ("two", 1, [0, 1], []), ("two", 2, [0, 1], []),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("on_miss", "slow", "verdict", "shown", "codes"),
    [
        ("Report", set(), Verdict.PASS, {"Ready": ("True", "Completed")}, (0, 0)),
        ("Report", {(2, 1)}, Verdict.MISS, {"Ready": ("True", "ObjectiveMissed")}, (0, 3)),
        ("StopVariant", {(2, 0)}, Verdict.MISS, {"Ready": ("True", "ObjectiveMissed")}, (0, 3)),
        (
            "Fail",
            {(2, 1)},
            Verdict.FAIL,
            {"Ready": ("False", "ObjectiveFailed"), "Stalled": ("True", "ObjectiveFailed")},
            (3, 3),
        ),
    ],
)
async def test_verdict_conditions_and_exit_codes_of_a_run(
    on_miss: str,
    slow: set[tuple[int, int]],
    verdict: Verdict,
    shown: dict[str, tuple[str, str]],
    codes: tuple[int, int],
) -> None:
    made = world(on_miss, slow)
    await drive(made)
    assert made.parsed.phase is Phase.SUCCEEDED
    assert made.parsed.summary is not None
    assert made.parsed.summary.verdict is verdict
    assert conditions(made) == shown
    assert (exit_code(made.parsed), exit_code(made.parsed, strict=True)) == codes


async def test_a_run_whose_stages_cannot_judge_an_objective_is_inconclusive() -> None:
    made = world("Fail", set())
    made.spec["objectives"][0]["latency"]["percentile"] = "99"
    await drive(made)
    assert made.parsed.summary is not None
    assert made.parsed.summary.verdict is Verdict.INCONCLUSIVE
    assert conditions(made)["Stalled"] == ("True", "Inconclusive")
    assert exit_code(made.parsed) == 4


async def test_an_aborted_run_has_the_verdict_of_what_it_measured() -> None:
    made = world("Report", {(1, 0)})
    await drive(made, until=lambda w: w.parsed.summary is not None and w.parsed.summary.stage == "1/4")
    made.edit(abort=True)
    await drive(made)
    assert made.parsed.phase is Phase.ABORTED
    assert made.parsed.summary is not None
    assert made.parsed.summary.verdict is Verdict.MISS
    assert exit_code(made.parsed) == 6


async def test_a_run_aborted_before_its_first_stage_has_no_verdict() -> None:
    made = world("Report", set())
    await drive(made, until=lambda w: w.parsed.phase is Phase.PREPARING)
    made.edit(abort=True)
    await drive(made)
    assert made.parsed.phase is Phase.ABORTED
    assert made.parsed.summary is None or made.parsed.summary.verdict is None


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_operator_that_dies_at_any_write_stops_the_same_variant(when: str) -> None:
    reference = world("StopVariant", {(1, 0)})
    moments = reference.moments = []
    await drive(reference, pace=3.0)
    reference.moments = None
    for where, made in moments:
        if not where.startswith(when):
            continue
        await drive(made, pace=3.0)
        assert stages(made) == stages(reference), where
        assert made.parsed.summary is not None
        assert made.parsed.summary.verdict is Verdict.MISS, where
        assert made.upgrades == reference.upgrades, where
