"""How often a claim is wrong, and how often a true difference is found: 1,000 simulated tests each."""

from __future__ import annotations

import math
import random

import pytest

from loadtest.results.claims import Claim, Pair, claims
from loadtest.results.statistics import FEWEST_REPEATS

TESTS, STAGES = 1000, 5


class Simulated:
    """Tests of two variants: every repeat of a variant has a level of its own at every stage."""

    def __init__(self, variation: float, ratio: float = 1.0, repeats: int = FEWEST_REPEATS, seed: int = 1) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - the same numbers each time
        self.variation, self.ratio, self.repeats = variation, ratio, repeats

    def value(self, typical: float) -> float:
        """One repeat's figure at one stage, as read from a histogram: a whole number of microseconds."""
        return round(typical * math.exp(self.rng.gauss(0, self.variation)))

    def pair(self) -> Pair:
        return (
            [self.value(100_000) for _ in range(self.repeats)],
            [self.value(100_000 * self.ratio) for _ in range(self.repeats)],
        )

    def words(self, margin: float | None = None) -> list[list[str]]:
        """The claims of each test at its stages."""
        return [
            [claim.word for claim in claims([self.pair() for _ in range(STAGES)], lower_is_better=True, margin=margin)]
            for _ in range(TESTS)
        ]


class Correlated(Simulated):
    """The figure is a p90 of requests that depend on each other: AR(1) logarithms, in a queue's way."""

    REQUESTS, CORRELATION = 60, 0.9

    def value(self, typical: float) -> float:
        level, now = super().value(typical), 0.0
        times = []
        for _ in range(self.REQUESTS):
            now = self.CORRELATION * now + self.rng.gauss(0, 0.02)
            times.append(level * math.exp(now))
        return round(sorted(times)[math.ceil(0.9 * self.REQUESTS) - 1])


def share(tests: list[list[str]], *words: str) -> float:
    """The share of tests that say one of these words of any stage."""
    return sum(any(word in words for word in test) for test in tests) / len(tests)


@pytest.mark.parametrize("variation", [0.0, 0.01, 0.02, 0.05])
def test_equal_variants_are_called_better_or_worse_in_at_most_5_of_100_tests(variation: float) -> None:
    assert share(Simulated(variation).words(), "Better", "Worse") <= 0.05


@pytest.mark.parametrize("variation", [0.0, 0.01, 0.02, 0.05])
def test_nor_are_those_whose_requests_depend_on_each_other(variation: float) -> None:
    assert share(Correlated(variation).words(), "Better", "Worse") <= 0.05


def test_a_difference_of_5_percent_is_found_at_1_percent_variation_with_5_repeats() -> None:
    tests = Simulated(0.01, ratio=1.05).words()
    found = sum(word == "Worse" for test in tests for word in test) / (TESTS * STAGES)
    assert found >= 0.8
    assert share(tests, "Better") == 0


def test_the_detectable_difference_is_found_four_times_of_five() -> None:
    found, rng = [], Simulated(0.02, repeats=20)
    for _ in range(200):
        rng.ratio = 1.0
        (nothing,) = claims([rng.pair()], lower_is_better=True, margin=None)
        assert nothing.detectable is not None
        rng.ratio = 1 + nothing.detectable
        found.append(claims([rng.pair()], lower_is_better=True, margin=None)[0].word == "Worse")
    assert 0.65 <= sum(found) / len(found) <= 0.95


def test_variants_as_far_apart_as_the_margin_are_called_equivalent_in_at_most_5_of_100_tests() -> None:
    assert share(Simulated(0.01, ratio=1.03).words(margin=0.03), "Equivalent") <= 0.05


def test_equal_variants_are_found_equivalent_within_a_margin_of_5_percent() -> None:
    tests = Simulated(0.01).words(margin=0.05)
    assert sum(word == "Equivalent" for test in tests for word in test) / (TESTS * STAGES) >= 0.8


def one(base: list[float], other: list[float], *, lower: bool = True, margin: float | None = None) -> Claim:
    return claims([(base, other)], lower_is_better=lower, margin=margin)[0]


LOW, HIGH = [98.0, 99.0, 100.0, 101.0, 102.0], [198.0, 199.0, 200.0, 201.0, 202.0]


def test_what_is_better_depends_on_the_metric() -> None:
    assert one(LOW, HIGH).word == "Worse"
    assert one(HIGH, LOW).word == "Better"
    assert one(LOW, HIGH, lower=False).word == "Better"


def test_a_claim_says_how_far_and_how_sure() -> None:
    claim = one(LOW, HIGH)
    assert claim.ratio == pytest.approx(2, rel=1e-3)
    assert claim.interval is not None
    assert claim.interval[0] < claim.ratio < claim.interval[1]
    assert claim.effect == 1
    assert claim.detectable is not None
    assert 0 < claim.detectable < 0.1


@pytest.mark.parametrize("repeats", [1, 2, 4])
def test_with_fewer_than_5_repeats_of_either_nothing_is_claimed(repeats: int) -> None:
    for base, other in ((LOW[:repeats], HIGH), (LOW, HIGH[:repeats])):
        claim = one(base, other)
        assert (claim.word, claim.interval, claim.effect, claim.detectable) == ("Indicative", None, None, None)


def test_a_run_that_was_not_brought_to_its_end_claims_nothing() -> None:
    (claim,) = claims([(LOW, HIGH)], lower_is_better=True, margin=None, may_claim=False)
    assert claim.word == "Indicative"


def test_one_repeat_is_compared_as_it_is() -> None:
    assert one([970.0], [984.0]).ratio == 984 / 970


def test_a_difference_within_the_margin_does_not_matter_even_where_it_is_sure() -> None:
    base, other = [100.0, 100.1, 99.9, 100.0, 100.1], [101.0, 101.1, 100.9, 101.0, 101.1]
    assert one(base, other).word == "Worse"
    assert one(base, other, margin=0.03).word == "Equivalent"


def test_more_stages_ask_for_more_certainty() -> None:
    base, other = [98.0, 99.0, 100.0, 101.0, 102.0], [101.0, 102.0, 103.0, 104.0, 105.0]
    assert one(base, other).word == "Worse"
    many = claims([(base, other), *[(base, base)] * 9], lower_is_better=True, margin=None)
    assert many[0].word == "Inconclusive"
