"""What may be said of one metric of two variants, over the stages that belong together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from loadtest.results.statistics import FEWEST_REPEATS, LEVEL, Difference, difference, dominance, holm

Word = Literal["Better", "Worse", "Equivalent", "Inconclusive", "Indicative"]

Pair = tuple[Sequence[float], Sequence[float]]
"""A metric's values at one stage: of the baseline's repeats, and of the variant's. Positive, one or more."""


@dataclass(frozen=True)
class Claim:
    """What is known of one metric at one stage.

    Attributes:
        ratio: variant by baseline; of several repeats the ratio of their geometric means.
        base: the baseline's value; of several repeats their geometric mean.
        tested: what the claim rests on; None with too few repeats, and then so is all that follows from it.
        effect: Cliff's delta, from -1 (every repeat of the variant is lower) to 1.
        family: how many comparisons belong together.
    """

    word: Word
    ratio: float
    base: float
    tested: Difference | None = None
    effect: float | None = None
    family: int = 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the ratio, of this comparison alone."""
        if self.tested is None:
            return None
        low, high = self.tested.interval()
        return math.exp(low), math.exp(high)

    @property
    def detectable(self) -> float | None:
        """The smallest relative difference that would have been found with a chance of 80 %."""
        return math.expm1(self.tested.detectable(self.family)) if self.tested is not None else None


def claims(
    pairs: Sequence[Pair], *, lower_is_better: bool, margin: float | None, may_claim: bool = True
) -> list[Claim]:
    """One claim per pair, all pairs being one family: the chance that any is falsely better or worse is at most 5 %.

    Args:
        pairs: the metric at each stage.
        lower_is_better: of response times it is, of throughput it is not.
        margin: differences up to this share do not matter; None: none was declared, so nothing is ever equivalent.
        may_claim: False where the run was not brought to its end as planned; then everything is indicative.
    """
    tested = [
        index for index, (base, other) in enumerate(pairs) if may_claim and min(len(base), len(other)) >= FEWEST_REPEATS
    ]
    differences = [difference(*pairs[index]) for index in tested]
    different = holm([one.p_different() for one in differences])
    # A ratio from 1/(1+margin) to 1+margin: in logarithms as far on either side.
    alike = holm([one.p_apart(math.log1p(margin)) for one in differences]) if margin else [1.0] * len(tested)
    found = [Claim("Indicative", _geometric(other) / _geometric(base), _geometric(base)) for base, other in pairs]
    for index, one, p_different, p_apart in zip(tested, differences, different, alike, strict=True):
        word: Word = "Inconclusive"
        if p_apart <= LEVEL:
            word = "Equivalent"
        elif p_different <= LEVEL:
            word = "Better" if (one.estimate < 0) == lower_is_better else "Worse"
        effect = dominance(*pairs[index])
        found[index] = replace(found[index], word=word, tested=one, effect=effect, family=len(tested))
    return found


def _geometric(values: Sequence[float]) -> float:
    return math.exp(fmean(math.log(value) for value in values)) if len(values) > 1 else values[0]
