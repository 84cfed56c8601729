from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from loadtest_injector import garbage


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    usual = gc.get_threshold()
    yield
    garbage.release()
    assert (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()) == (True, usual, 0)


def cycle() -> None:
    """Garbage that only a search finds."""
    ring: list[object] = []
    ring.append(ring)


def test_nothing_is_searched_from_the_start_of_the_users_until_all_run():
    cycle()
    garbage.hold()
    assert not gc.isenabled()
    assert gc.collect() == 0  # what was there has been found already


def test_while_all_run_what_was_there_before_is_not_looked_at_again():
    garbage.hold()
    before = len(gc.get_objects())
    garbage.settle()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before * 0.9
    assert len(gc.get_objects()) < before * 0.1


def test_garbage_is_found_all_the_same_when_there_is_enough_of_it():
    garbage.hold()
    garbage.settle()
    searches = gc.get_stats()[0]["collections"]
    for _ in range(garbage.NEW_OBJECTS // 2):
        cycle()
    assert gc.get_stats()[0]["collections"] == searches
    for _ in range(garbage.NEW_OBJECTS):
        cycle()
    assert 0 < gc.get_stats()[0]["collections"] - searches < 5


def test_an_attempt_that_ends_before_all_run_leaves_nothing_changed():
    garbage.hold()
