"""How sure a percentile is: the distribution-free interval between two order statistics, with exact binomial ranks.

The number of values below the true percentile p of a distribution is binomial (n, p), whatever the distribution. So the
true percentile lies between the values of rank l and u where the binomial puts at most 2.5 % below l and at most 2.5 %
from u on (Hahn and Meeker, Statistical Intervals, 5.2). It takes requests for a sample of requests like them, each by
itself: requests of one run depend on each other, and another run differs more.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

TAIL = 0.025
"""What is left out at either end: the interval covers at least 95 %."""

_FAR = 12
"""Standard deviations from the mean beyond which a binomial has nothing that a float could hold."""


class Ranks(NamedTuple):
    """Ranks, counted from 1, of the two values between which the true percentile lies."""

    low: int
    high: int


def fewest_values(percent: str | Fraction) -> int:
    """The fewest values that say anything about a percentile, above the median: n with p^n at most 2.5 %.

    With fewer, even the highest value may lie below the true percentile. 72 at p95, 368 at p99, 3,688 at p99.9.
    """
    share = Fraction(percent) / 100
    side = max(share, 1 - share)
    return math.ceil(math.log(TAIL) / math.log(side))


def interval_ranks(count: int, percent: str) -> Ranks | None:
    """Between which ranks of `count` values the true percentile lies, 95 of 100 times; None where they are too few.

    `percent` is exact text, such as "99.9", above 0 and below 100.
    """
    if count < fewest_values(percent):
        return None
    share = Fraction(percent) / 100
    below = _lower_tail(count, share)
    above = count - _lower_tail(count, 1 - share)
    return Ranks(below, above + 1)


def _lower_tail(count: int, share: Fraction) -> int:
    """The smallest k for which a binomial (count, share) is at most k with a probability above 2.5 %.

    As a rank: fewer than k of the values lie below the percentile with a probability of at most 2.5 %.
    """
    p = float(share)
    mean, deviation = count * p, math.sqrt(count * p * (1 - p))
    k = max(0, math.floor(mean - _FAR * deviation) - 1)
    probability = math.exp(
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(p)
        + (count - k) * math.log1p(-p)
    )
    odds = p / (1 - p)
    total = probability
    while total <= TAIL:
        probability *= (count - k) / (k + 1) * odds
        k += 1
        total += probability
    return k


def is_plausible(hits: int, count: int, share: Fraction) -> bool:
    """Whether `hits` or more of `count` have a probability above 2.5 % where each has the probability `share`."""
    return hits <= count - _lower_tail(count, 1 - share)
