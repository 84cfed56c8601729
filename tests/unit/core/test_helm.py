from __future__ import annotations

import pytest

from loadtest.api import names
from loadtest.core import helm
from loadtest.core.observed import HelmJob
from tests.unit.core.builders import outcome, target

VARIANTS = {1: "seven", 2: "two", 11: "seven"}


def test_keys_are_those_that_names_are_made_of() -> None:
    assert helm.key("snapshot", None, 1) == names.snapshot_key(1)
    assert helm.key("apply", 11, 2) == names.apply_key(11, 2)
    assert helm.key("restore", None, 3) == names.restore_key(3)


def test_tries_of_one_position_are_not_those_of_another() -> None:
    seen = target(outcome("apply-1-1"), outcome("apply-11-1"), outcome("apply-1-2"), outcome("restore-1"))
    assert helm.tries(seen, "apply", 1) == [1, 2]
    assert helm.tries(seen, "apply", 11) == [1]
    assert helm.tries(seen, "restore") == [1]
    assert helm.tries(seen, "snapshot") == []


def test_a_job_without_an_outcome_is_a_try_whose_word_is_still_missing() -> None:
    seen = target(outcome("apply-1-1", ok=False), jobs={"apply-1-2": HelmJob("apply-1-2", running=True)})
    assert helm.tries(seen, "apply", 1) == [1, 2]
    assert helm.last_outcome(seen, "apply", 1) is None
    assert (job := helm.running_job(seen)) is not None
    assert job.key == "apply-1-2"


def test_a_job_that_has_written_its_outcome_runs_no_more_whatever_its_controller_says() -> None:
    seen = target(outcome("apply-1-1"), jobs={"apply-1-1": HelmJob("apply-1-1", running=True)})
    assert helm.running_job(seen) is None


@pytest.mark.parametrize(
    ("outcomes", "live"),
    [
        ([], None),
        (["snapshot-1"], None),
        (["apply-1-1"], "seven"),
        (["apply-1-1", "apply-2-1"], "two"),
        (["apply-2-1", "apply-11-1"], "seven"),
        (["apply-2-1", "apply-2-2!"], None),
        (["apply-2-1!", "apply-2-2"], "two"),
    ],
)
def test_the_live_variant_is_that_of_the_latest_apply_if_it_went_well(outcomes: list[str], live: str | None) -> None:
    seen = target(*(outcome(key.rstrip("!"), ok=not key.endswith("!")) for key in outcomes))
    assert helm.live_variant(seen, VARIANTS) == live
    assert helm.was_applied(seen) == any(key.startswith("apply") for key in outcomes)
