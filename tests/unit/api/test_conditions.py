from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from loadtest.api.conditions import (
    MAX_MESSAGE,
    Condition,
    ConditionType,
    Reason,
    find_condition,
    is_true,
    remove_condition,
    set_condition,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
BEFORE = [
    Condition(
        type="Ready", status="Unknown", reason="Created", message="", last_transition_time=NOON, observed_generation=1
    ),
    Condition(type="Reconciling", status="True", reason="Created", message="", last_transition_time=NOON),
]


def changed(status: Any, reason: str = "Created", message: str = "") -> list[Condition]:
    return set_condition(BEFORE, "Ready", status, reason, message, now=LATER, observed_generation=2)


def test_the_time_of_transition_moves_when_the_status_changes():
    assert changed("True")[0].last_transition_time == LATER


@pytest.mark.parametrize(("reason", "message"), [("Created", ""), ("Admitted", ""), ("Created", "new")])
def test_the_time_of_transition_stays_while_the_status_stays(reason: str, message: str):
    after = changed("Unknown", reason, message)[0]
    assert (after.last_transition_time, after.reason, after.message) == (NOON, reason, message)
    assert after.observed_generation == 2


def test_setting_the_same_again_changes_nothing():
    once = changed("True", "Completed", "done")
    again = set_condition(
        once, "Ready", "True", "Completed", "done", now=LATER + timedelta(hours=1), observed_generation=2
    )
    assert again == once


def test_the_given_conditions_stay_as_they_are():
    changed("True")
    assert (BEFORE[0].status, len(BEFORE)) == ("Unknown", 2)


def test_a_changed_condition_keeps_its_place_and_a_new_one_comes_last():
    after = set_condition(changed("True"), "Stalled", "True", "Aborted", "", now=LATER, observed_generation=2)
    assert [condition.type for condition in after] == ["Ready", "Reconciling", "Stalled"]


@pytest.mark.parametrize(
    ("length", "kept"), [(MAX_MESSAGE, MAX_MESSAGE), (MAX_MESSAGE + 1, MAX_MESSAGE), (10**6, MAX_MESSAGE)]
)
def test_a_message_that_is_too_long_is_cut_and_shows_it(length: int, kept: int):
    message = changed("True", message="x" * length)[0].message
    assert len(message) == kept
    assert message.endswith("…") == (length > MAX_MESSAGE)


def test_a_removed_condition_is_neither_found_nor_true():
    after = remove_condition(BEFORE, ConditionType.RECONCILING)
    assert find_condition(after, ConditionType.RECONCILING) is None
    assert is_true(BEFORE, ConditionType.RECONCILING)
    assert not is_true(after, ConditionType.RECONCILING)
    assert not is_true(BEFORE, ConditionType.READY)


def test_transition_times_are_whole_seconds_as_in_all_of_kubernetes():
    after = set_condition([], "Ready", "True", "Completed", "", now=LATER.replace(microsecond=9), observed_generation=1)
    assert after[0].to_wire() == {
        "type": "Ready",
        "status": "True",
        "reason": "Completed",
        "message": "",
        "lastTransitionTime": "2026-01-02T12:05:00Z",
        "observedGeneration": 1,
    }


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValidationError, match="must say its zone"):
        set_condition([], "Ready", "True", "Completed", "", now=datetime(2026, 1, 2), observed_generation=1)  # noqa: DTZ001


@pytest.mark.parametrize("word", [*ConditionType, *Reason], ids=str)
def test_every_type_and_reason_is_one_word_with_a_documented_meaning(word: Any):
    assert word.isascii()
    assert word[0].isupper()
    assert word.isalnum()
    assert word.meaning.endswith(".")
    assert word.name == "".join(f"_{c}" if c.isupper() and i else c for i, c in enumerate(word)).upper().replace(
        "GIT_OPS", "GITOPS"
    )


def test_no_word_is_there_twice():
    assert len({str(reason) for reason in Reason}) == len(Reason.__members__)
