from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.figures import InvalidAttempt, StageResult
from loadtest.core.progress import current_work, finished_stages, is_final, skipped_stages, stage_entries
from tests.unit.core.builders import SMALL, plan, running, stage, variants

PLAN = plan(SMALL)
"""seven at position 1, two at position 2; stages 0 and 1; one rerun."""

LOST = [InvalidAttempt(attempt=1, reason="MasterLost")]
Runs = tuple[tuple[str, int, list[StageResult]], ...]

WORK: list[tuple[str, Runs, tuple[Any, ...] | None]] = [
    ("nothing has been run", (), (1, 0, 1, False, 0)),
    ("the first attempt runs", (("seven", 1, [stage(0, "Unknown")]),), (1, 0, 1, True, 0)),
    ("the first stage is valid", (("seven", 1, [stage(0)]),), (1, 1, 1, False, 0)),
    ("the first stage is invalid", (("seven", 1, [stage(0, "False")]),), (1, 0, 2, False, 0)),
    ("its rerun runs", (("seven", 1, [stage(0, "Unknown", 2)]),), (1, 0, 2, True, 0)),
    ("its rerun is invalid too", (("seven", 1, [stage(0, "False", 2)]),), (1, 1, 1, False, 0)),
    ("an attempt was lost with its master", (("seven", 1, [stage(0, "False", invalid_attempts=LOST)]),),
     (1, 0, 2, False, 1)),
    ("a later stage begins where a master was lost before",
     (("seven", 1, [stage(0, attempt=2, invalid_attempts=LOST)]),), (1, 1, 1, False, 1)),
    ("the next repeat begins with no lost master",
     (("seven", 1, [stage(0, attempt=2, invalid_attempts=LOST), stage(1)]),), (2, 0, 1, False, 0)),
    ("a stage was left out", (("seven", 1, [stage(1)]),), (1, 0, 1, False, 0)),
    ("all is done", (("seven", 1, [stage(0), stage(1)]), ("two", 2, [stage(0), stage(1, "False", 2)])), None),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "expected"), [row[1:] for row in WORK], ids=[row[0] for row in WORK])
def test_the_work_to_do_when(runs: Runs, expected: tuple[Any, ...] | None) -> None:
    work = current_work(PLAN, running(variants=variants(*runs)))
    if expected is None:
        assert work is None
    else:
        assert work is not None
        assert (work.repeat.position, work.stage.index, work.attempt, work.running, work.lost) == expected


@pytest.mark.parametrize(
    ("entry", "reruns", "final"),
    [
        (None, 1, False),
        (stage(0, "Unknown"), 0, False),
        (stage(0, "True"), 1, True),
        (stage(0, "False", 1), 0, True),
        (stage(0, "False", 1), 1, False),
        (stage(0, "False", 2), 1, True),
        (stage(0, "False", 2), 5, False),
    ],
)
def test_a_stage_is_over_when_it_is_valid_or_its_reruns_are_used_up(
    entry: StageResult | None, reruns: int, final: bool
) -> None:
    assert is_final(entry, reruns) == final


def test_repeats_of_one_variant_are_told_apart_by_their_position() -> None:
    of = plan(SMALL | {"repeats": 2, "order": "Interleaved"})
    assert [(r.position, r.variant, r.repeat) for r in of.repeats] == [
        (1, "seven", 1), (2, "two", 1), (3, "two", 2), (4, "seven", 2)
    ]  # fmt: skip
    both = [stage(0), stage(1)]
    status = running(variants=variants(("seven", 1, both), ("two", 2, both), ("two", 3, [stage(0)])))
    work = current_work(of, status)
    assert work is not None
    assert (work.repeat.variant, work.repeat.repeat, work.stage.index) == ("two", 2, 1)
    assert set(stage_entries(status, 3)) == {0}
    assert stage_entries(status, 4) == {}


def test_finished_stages_come_in_order_with_the_invalid_ones_and_without_those_to_be_rerun() -> None:
    status = running(variants=variants(("seven", 1, [stage(0, "False", 2), stage(1, "False")]), ("two", 2, [stage(0)])))
    found = [(repeat.variant, entry.index) for repeat, entry in finished_stages(PLAN, status)]
    assert found == [("seven", 0), ("two", 0)]


STOPPING = plan(
    SMALL
    | {
        "repeats": 2,
        "objectives": [{"name": "p99", "latency": {"percentile": "99", "below": "1s"}, "onMiss": "StopVariant"}],
    }
)
"""seven at positions 1 and 2, two at 3 and 4."""

MISSED = stage(0, missed_objectives=["p99"])


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((("seven", 1, [MISSED]),), (2, 0)),
        ((("seven", 1, [stage(0, missed_objectives=["another"])]),), (1, 1)),
        ((("seven", 1, [MISSED]), ("seven", 2, [stage(0)])), (2, 1)),
        ((("seven", 1, [MISSED]), ("seven", 2, [MISSED])), (3, 0)),
        ((("seven", 1, [MISSED, stage(1, "Unknown")]),), (2, 0)),
        ((("seven", 1, [MISSED]), ("seven", 2, [MISSED]), ("two", 3, [MISSED]), ("two", 4, [MISSED])), None),
    ],
)
def test_a_repeat_ends_at_the_stage_that_missed_what_stops_its_variant(
    runs: Runs, expected: tuple[int, int] | None
) -> None:
    work = current_work(STOPPING, running(variants=variants(*runs)))
    assert (None if work is None else (work.repeat.position, work.stage.index)) == expected


def test_the_stages_that_a_stopped_repeat_leaves_out_are_skipped() -> None:
    found = variants(("seven", 1, [MISSED]), ("seven", 2, [stage(0), stage(1)]))
    found[0].runs[0].skipped_stages = [1]
    assert [stage.index for stage in skipped_stages(STOPPING, running(variants=found))] == [1]
