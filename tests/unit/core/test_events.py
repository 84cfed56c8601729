from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.conditions import ConditionType, Reason, set_condition
from loadtest.api.status import LoadTestStatus, Phase
from loadtest.core.events import events_between
from tests.unit.core.builders import NOW, ending, latency, release, running, stage, variants


def with_condition(type_: str, value: Any, reason: Reason) -> list[Any]:
    return set_condition([], type_, value, reason, "why", now=NOW, observed_generation=1)


def of_seven(*stages: Any) -> LoadTestStatus:
    return running(variants=variants(("seven", 1, list(stages))))


DONE = stage(0, requests=100, failures=2, latency_micros=latency(1500))
STARTED = "variant seven, repeat 1, stage 0, attempt 1"

STORY: list[tuple[str, LoadTestStatus, LoadTestStatus, list[tuple[str, str, str]]]] = [
    ("nothing changed", running(), running(), []),
    ("a run is admitted", LoadTestStatus(), running(phase=Phase.PENDING),
     [("Normal", "Admitted", "run 0123456789abcdef is admitted")]),
    ("a spec is refused", LoadTestStatus(), running(phase=Phase.FAILED, ending=ending(Phase.FAILED, "InvalidSpec")),
     [("Warning", "InvalidSpec", "because"), ("Normal", "Failed", "phase Pending -> Failed")]),
    ("a variant is applied", running(release=release()), running(release=release("two")),
     [("Normal", "Applying", "applying variant two to release runner/runner")]),
    ("the same variant stays", running(release=release("two")), running(release=release("two")), []),
    ("a stage starts", running(), of_seven(stage(0, "Unknown")),
     [("Normal", "StageStarted", f"{STARTED}: 1 injectors, 200 users")]),
    ("a stage is complete", of_seven(stage(0, "Unknown")), of_seven(DONE),
     [("Normal", "StageComplete", f"{STARTED}: 100 requests, 2 failures, p99 2 ms")]),
    ("a stage is invalid", of_seven(stage(0, "Unknown")),
     of_seven(stage(0, "False", invalid_reason="WorkerLost", invalid_message="w0 is gone")),
     [("Warning", "StageInvalid", f"{STARTED}: WorkerLost: w0 is gone")]),
    ("a stage is run again", of_seven(stage(0, "False")), of_seven(stage(0, "Unknown", 2)),
     [("Normal", "StageStarted", "variant seven, repeat 1, stage 0, attempt 2: 1 injectors, 200 users")]),
    ("the end is decided", running(), running(ending=ending(Phase.SUCCEEDED, "Completed")),
     [("Normal", "Completed", "because")]),
    ("an abort is decided", running(), running(ending=ending(Phase.ABORTED, "Aborted")),
     [("Warning", "Aborted", "because")]),
    ("the target is restored", running(),
     running(conditions=with_condition(ConditionType.TARGET_RESTORED, "True", Reason.RESTORED)),
     [("Normal", "Restored", "why")]),
    ("the target is not restored", running(),
     running(conditions=with_condition(ConditionType.TARGET_RESTORED, "False", Reason.RESTORE_CONFLICT)),
     [("Warning", "RestoreConflict", "why")]),
    ("the spec was edited", running(),
     running(conditions=with_condition(ConditionType.SPEC_DRIFTED, "True", Reason.SPEC_EDITED)),
     [("Warning", "SpecDrifted", "why")]),
    ("the phase changes", running(), running(phase=Phase.RESTORING),
     [("Normal", "Restoring", "phase Running -> Restoring")]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "events"), [row[1:] for row in STORY], ids=[row[0] for row in STORY])
def test_one_event_is_told_when(old: LoadTestStatus, new: LoadTestStatus, events: list[tuple[str, str, str]]) -> None:
    assert list(events_between(old, new)) == events


def test_a_stage_of_a_new_run_is_news_though_the_last_run_had_one_like_it() -> None:
    old = of_seven(DONE)
    new = of_seven(DONE).model_copy(update={"run_id": "fedcba9876543210"})
    assert [event[1] for event in events_between(old, new)] == ["Admitted", "StageComplete"]
