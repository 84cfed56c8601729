from __future__ import annotations

import asyncio
import time

import pytest

from loadtest.handlers.wakeups import Wakeups


async def waited(wakeups: Wakeups, uid: str, seconds: float | None) -> float:
    began = time.monotonic()
    await asyncio.wait_for(wakeups.wait(uid, seconds), 5)
    return time.monotonic() - began


async def test_a_wait_ends_when_its_time_is_over() -> None:
    assert await waited(Wakeups(), "a", 0.05) >= 0.04


@pytest.mark.parametrize("seconds", [30.0, None])
async def test_a_wait_ends_early_when_woken(seconds: float | None) -> None:
    wakeups = Wakeups()
    waiting = asyncio.ensure_future(waited(wakeups, "a", seconds))
    await asyncio.sleep(0.01)
    wakeups.set("a")
    assert await waiting < 2


async def test_what_happens_between_two_waits_ends_the_next_one_and_only_that() -> None:
    wakeups = Wakeups()
    wakeups.set("a")
    assert await waited(wakeups, "a", None) < 1
    assert await waited(wakeups, "a", 0.05) >= 0.04


async def test_one_loadtest_does_not_wake_another() -> None:
    wakeups = Wakeups()
    wakeups.set("b")
    assert await waited(wakeups, "a", 0.05) >= 0.04


async def test_nothing_is_kept_of_a_loadtest_that_is_gone() -> None:
    wakeups = Wakeups()
    wakeups.set("a")
    wakeups.forget("a")
    wakeups.forget("never heard of")
    assert await waited(wakeups, "a", 0.05) >= 0.04


async def test_a_wait_that_is_cancelled_leaves_the_next_one_alone() -> None:
    wakeups = Wakeups()
    waiting = asyncio.ensure_future(wakeups.wait("a", None))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    wakeups.set("a")
    assert await waited(wakeups, "a", None) < 1
