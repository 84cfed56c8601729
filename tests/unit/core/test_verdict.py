from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.status import LoadTestStatus, Verdict
from loadtest.core.verdict import ending, judgement
from tests.unit.core.builders import SMALL, plan, running, stage, variants


def planned(*on_miss: str) -> Any:
    """A plan with objectives o0, o1 ..., each with its onMiss."""
    bound = {"percentile": "99", "below": "1s"}
    named = [{"name": f"o{n}", "latency": bound, "onMiss": word} for n, word in enumerate(on_miss)]
    return plan(SMALL | ({"objectives": named} if named else {}))


def status_of(first: list[str], missed: tuple[str, ...] = (), unknown: tuple[str, ...] = ()) -> LoadTestStatus:
    """The first variant's stages have these validities; the last missed some objectives, all cannot tell some."""
    seven = [
        stage(
            n, word, 2, invalid_reason="WorkerLost",
            missed_objectives=list(missed) if word == "True" and n == len(first) - 1 else None,
            unknown_objectives=list(unknown) if word == "True" else None,
        )
        for n, word in enumerate(first)
    ]  # fmt: skip
    return running(variants=variants(("seven", 1, seven), ("two", 2, [stage(0), stage(1)])))


GOOD, HALF, BAD = ["True", "True"], ["False", "True"], ["False", "False"]


@pytest.mark.parametrize(
    ("on_miss", "status", "verdict", "reason"),
    [
        ((), status_of(GOOD), "Pass", "Completed"),
        ((), status_of(HALF), "Pass", "Completed"),
        ((), status_of(BAD), "Inconclusive", "Inconclusive"),
        (("Report",), status_of(GOOD), "Pass", "Completed"),
        (("Report",), status_of(GOOD, ("o0",)), "Miss", "ObjectiveMissed"),
        (("StopVariant",), status_of(GOOD, ("o0",)), "Miss", "ObjectiveMissed"),
        (("Fail",), status_of(GOOD, ("o0",)), "Fail", "ObjectiveFailed"),
        (("Report", "Fail"), status_of(GOOD, ("o0",)), "Miss", "ObjectiveMissed"),
        (("Report", "Fail"), status_of(GOOD, ("o0", "o1")), "Fail", "ObjectiveFailed"),
        (("Report",), status_of(GOOD, unknown=("o0",)), "Inconclusive", "Inconclusive"),
        (("Report", "Report"), status_of(GOOD, ("o0",), ("o1",)), "Inconclusive", "Inconclusive"),
        (("Fail", "Report"), status_of(GOOD, ("o0",), ("o1",)), "Fail", "ObjectiveFailed"),
        (("Fail",), status_of(HALF, ("o0",)), "Fail", "ObjectiveFailed"),
    ],
)
def test_the_verdict_of_a_run_whose_stages_are_over(
    on_miss: tuple[str, ...], status: LoadTestStatus, verdict: str, reason: str
) -> None:
    of = planned(*on_miss)
    found = judgement(of, status)
    assert found is not None
    assert found.verdict == verdict
    assert (ending(of, status).phase, ending(of, status).reason) == ("Succeeded", reason)


def test_a_message_says_which_stages_are_invalid() -> None:
    found = judgement(planned(), status_of(BAD))
    assert found is not None
    assert "variant seven: 2 of 2 stages are invalid, such as stage 0: WorkerLost" in found.message


def test_a_message_says_which_objective_could_not_be_judged() -> None:
    found = judgement(planned("Report"), status_of(GOOD, unknown=("o0",)))
    assert found is not None
    assert "2 of 2 valid stages cannot judge objective o0, p99 below 1s: they have too few requests" in found.message


def test_a_run_that_measured_nothing_has_no_verdict() -> None:
    assert judgement(planned(), running()) is None
    assert judgement(planned(), running(variants=variants(("seven", 1, [stage(0, "Unknown")])))) is None


def test_what_an_aborted_run_measured_has_a_verdict() -> None:
    status = running(variants=variants(("seven", 1, [stage(0, missed_objectives=["o0"]), stage(1, "Unknown")])))
    found = judgement(planned("Report"), status)
    assert found is not None
    assert found.verdict is Verdict.MISS
