"""Every bad input gets a reason and a message that says what to do, and the page says so."""

from __future__ import annotations

import pytest

from loadtest.api.conditions import Reason
from tests.unit.bad_input.page import MADE_BY, PAGE, rendered
from tests.unit.bad_input.stalled import STALLED, Row


@pytest.mark.parametrize("row", STALLED, ids=lambda row: row.what)
async def test_what_the_operator_refuses_has_a_reason_and_a_message(row: Row) -> None:
    reason, message = await row.probe()
    assert reason in set(Reason)
    assert len(message) > len("a few words")


async def test_the_page_shows_the_messages_as_they_are() -> None:
    text = PAGE.read_text()
    assert text == await rendered(text), f"docs/bad-input.md is stale: run {MADE_BY}"
