from __future__ import annotations

import itertools
import threading
import time

import gevent
import pytest

from loadtest_injector.token_stock import MAX_AGE_SECONDS, SIZE, TokenStock


class Maker:
    """Makes "1", "2", ... and notes in which thread."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.made = 0
        self.threads: set[int] = set()
        self.now = 1_000.0
        self.stock = TokenStock(self.make, lambda: self.now)

    def make(self) -> str:
        self.threads.add(threading.get_ident())
        self.made += 1
        return str(next(self.numbers))

    def settle(self, made: int) -> None:
        end = time.monotonic() + 20
        while self.made < made:
            assert time.monotonic() < end, f"{self.made} of {made} were made"
            gevent.sleep(0.005)
        gevent.sleep(0.05)  # whatever is made beyond that is to be seen
        assert self.made == made


def test_a_launch_takes_a_token_that_is_there_and_another_is_made_behind_it():
    maker = Maker()
    taken = [maker.stock.token()]
    maker.settle(1 + SIZE)
    taken += [maker.stock.token() for _ in range(SIZE)]
    assert maker.made == 1 + SIZE  # nothing was made while users took them
    assert sorted(taken, key=int) == [str(number) for number in range(1, SIZE + 2)]
    maker.settle(1 + 2 * SIZE)


def test_tokens_are_made_in_a_thread_of_their_own():
    maker = Maker()
    maker.stock.token()
    maker.settle(1 + SIZE)
    assert len(maker.threads) == 1
    assert threading.get_ident() not in maker.threads


def test_every_token_is_handed_out_once_however_many_users_ask_at_a_time():
    maker = Maker()
    users = [gevent.spawn(maker.stock.token) for _ in range(5 * SIZE)]
    gevent.joinall(users, raise_error=True, timeout=20)
    assert len({user.value for user in users}) == 5 * SIZE


def test_a_token_that_has_lain_too_long_is_not_used():
    maker = Maker()
    maker.stock.token()
    maker.settle(1 + SIZE)
    maker.now += MAX_AGE_SECONDS
    assert int(maker.stock.token()) <= 1 + SIZE
    maker.now += 1
    maker.settle(2 + SIZE)
    for _ in range(SIZE - 1):
        assert int(maker.stock.token()) > 1 + SIZE


def test_what_goes_wrong_in_making_a_token_is_told_to_the_user():
    def make() -> str:
        raise ValueError("no key")

    stock = TokenStock(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="no key"):
            stock.token()
