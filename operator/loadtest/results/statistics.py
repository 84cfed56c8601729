"""Whether two variants differ: Welch's test on logarithms of repeat-level values; whether they are equivalent: TOST.

The unit is the repeat, never the request: requests of one run depend on each other, and would make everything
significant. Logarithms make a ratio of a difference, and the spread of response times alike at all loads.

No numerical library: what is needed of Student's distribution is one continued fraction, and the operator stays small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

FEWEST_REPEATS = 5
"""With fewer repeats of either, nothing is claimed."""

LEVEL = 0.05
"""Family-wise: the chance of any false claim among the comparisons that belong together."""

POWER = 0.8
"""The chance with which the smallest detectable difference is found."""

RESOLUTION = 0.001
"""How far a value may be off by itself, as a share: a bucket of the histograms is so wide."""

_FLOOR = RESOLUTION**2 / 12
"""Variance of an error spread evenly over a bucket: repeats that fall into one bucket are not known to be equal."""

_MOST_TERMS, _PRECISION, _TINY = 300, 1e-15, 1e-300


@dataclass(frozen=True)
class Difference:
    """The difference of two means of logarithms, other minus base, with its standard error and degrees of freedom."""

    estimate: float
    error: float
    freedom: float

    def p_different(self) -> float:
        """Two-sided p-value of "no difference but what the histograms' buckets may make"."""
        t = max(0.0, abs(self.estimate) - RESOLUTION) / self.error
        return 2 * student_tail(t, self.freedom)

    def p_apart(self, margin: float) -> float:
        """P-value of "at least `margin` apart" (in logarithms): the larger of two one-sided tests (Schuirmann 1987)."""
        t = (margin - abs(self.estimate) - RESOLUTION) / self.error
        return student_tail(t, self.freedom)

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference, widened by the resolution."""
        width = student_quantile(1 - LEVEL / 2, self.freedom) * self.error + RESOLUTION
        return self.estimate - width, self.estimate + width

    def detectable(self, comparisons: int) -> float:
        """The difference that would be found four times of five, as one of so many comparisons."""
        t = student_quantile(1 - LEVEL / (2 * comparisons), self.freedom) + student_quantile(POWER, self.freedom)
        return t * self.error + RESOLUTION


def difference(base: Sequence[float], other: Sequence[float]) -> Difference:
    """Welch's comparison of two samples of at least two positive values each."""
    left, right = ([math.log(value) for value in values] for values in (base, other))
    parts = [max(_variance(logs), _FLOOR) / len(logs) for logs in (left, right)]
    total = sum(parts)
    freedom = total**2 / sum(part**2 / (len(logs) - 1) for part, logs in zip(parts, (left, right), strict=True))
    return Difference(fmean(right) - fmean(left), math.sqrt(total), freedom)


def _variance(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that a family of claims at a level is wrong anywhere at most so often (Holm 1979)."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - place)))
        adjusted[index] = highest
    return adjusted


def dominance(base: Sequence[float], other: Sequence[float]) -> float:
    """Cliff's delta: over all pairs, the share in which `other` is higher minus that in which it is lower."""
    above = sum((right > left) - (right < left) for left in base for right in other)
    return above / (len(base) * len(other))


def student_tail(t: float, freedom: float) -> float:
    """P(T > t) of Student's distribution."""
    half = _beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return half if t >= 0 else 1 - half


def student_quantile(probability: float, freedom: float) -> float:
    """The t with P(T <= t) = probability, for probabilities of a half and more; by bisection."""
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > 1 - probability:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, freedom) > 1 - probability else (low, middle)
    return high


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction (DLMF 8.17.22)."""
    if x in {0.0, 1.0}:
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _continued(a, b, x) / a


def _continued(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
