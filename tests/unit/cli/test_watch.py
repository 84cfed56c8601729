from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.conditions import ConditionType, Reason, set_condition
from loadtest.api.status import LoadTestStatus, Phase, Progress, Summary, Verdict, initial_status
from loadtest.cli.live import line
from loadtest.cli.watch import ended, exit_code
from tests.unit.core.builders import NOW, running


def status(phase: Phase, verdict: Verdict | None = None, restored: Any = None) -> LoadTestStatus:
    conditions = []
    if restored is not None:
        conditions = set_condition(
            [], ConditionType.TARGET_RESTORED, restored, Reason.RESTORED, "", now=NOW, observed_generation=1
        )
    return running(phase=phase, conditions=conditions, summary=Summary(verdict=verdict) if verdict else None)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (status(Phase.SUCCEEDED, Verdict.PASS, "True"), 0),
        (status(Phase.SUCCEEDED), 0),
        (status(Phase.SUCCEEDED, Verdict.MISS, "True"), 0),
        (status(Phase.SUCCEEDED, Verdict.FAIL, "True"), 3),
        (status(Phase.SUCCEEDED, Verdict.INCONCLUSIVE, "True"), 4),
        (status(Phase.FAILED), 5),
        (status(Phase.FAILED, restored="True"), 5),
        (status(Phase.ABORTED, restored="True"), 6),
        (status(Phase.ABORTED, Verdict.FAIL, "True"), 6),
        (status(Phase.FAILED, restored="False"), 7),
        (status(Phase.FAILED, Verdict.PASS, "False"), 7),
        (status(Phase.FAILED, Verdict.FAIL, "False"), 7),
    ],
)
def test_the_exit_code_says_how_the_run_went(end: LoadTestStatus, code: int) -> None:
    assert exit_code(end) == code


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.PASS, 0), (Verdict.MISS, 3), (Verdict.FAIL, 3)])
def test_a_strict_exit_code_counts_any_miss(verdict: Verdict, code: int) -> None:
    assert exit_code(status(Phase.SUCCEEDED, verdict, "True"), strict=True) == code


@pytest.mark.parametrize(
    ("phase", "observed", "generation", "expected"),
    [
        (Phase.RUNNING, 1, 1, False),
        (Phase.RESTORING, 1, 1, False),
        (Phase.SUCCEEDED, 1, 1, True),
        (Phase.FAILED, 1, 1, True),
        (Phase.ABORTED, 1, 1, True),
        (Phase.SUCCEEDED, 1, 2, False),
    ],
)
def test_an_end_counts_only_for_the_present_spec(phase: Phase, observed: int, generation: int, expected: bool) -> None:
    seen = running(phase=phase, observed_generation=observed)
    assert ended({"metadata": {"generation": generation}}, seen) == expected


def ready(message: str) -> list[Any]:
    return set_condition(
        [], ConditionType.READY, "Unknown", Reason.STAGE_RUNNING, message, now=NOW, observed_generation=1
    )


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (LoadTestStatus(), "Pending     "),
        (running(conditions=ready("measuring")), "Running     measuring"),
        (running(progress=Progress(percent=5), conditions=ready("why")), "Running       5 %  why"),
        (
            running(
                progress=Progress(percent=42, activity="measuring: 4 of 10 s"),
                summary=Summary(stage="3/15", requests_per_second=6019, p99_millis=970, failures=0),
                conditions=ready("not this"),
            ),
            "Running      42 %  stage 3/15  6019 req/s  p99 970 ms  0 failures  measuring: 4 of 10 s",
        ),
    ],
)
def test_one_line_tells_how_far_a_run_is(seen: LoadTestStatus, text: str) -> None:
    assert line(seen) == text


def test_a_line_fits_on_a_screen_and_the_first_status_has_one() -> None:
    assert len(line(running(conditions=ready("x" * 500)))) < 130
    assert line(LoadTestStatus.model_validate(initial_status())).startswith("Pending")
