"""How far a target scales: the knee, read from what was measured, and the Universal Scalability Law beside it.

The knee is the statement: the first load at which an injector gets clearly less through than at small loads. The law
(Gunther 2007), X(N) = g N / (1 + s (N - 1) + k N (N - 1)), is a curve through the points; a good fit is no proof of it,
and outside of what was measured it says nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

EFFICIENCY = 0.95
"""The knee is where throughput per injector falls below this share of that of the smallest loads."""

EXTRAPOLATION = 1.25
"""How far beyond the largest load a peak is still told."""

FEWEST_LOADS = 4
"""The law has three parameters: with three loads any three numbers would fit."""

DRAWS = 400
"""Resamplings for an interval."""

_PARAMETERS = 3
_SINGULAR = 1e-9


@dataclass(frozen=True)
class Point:
    """What one stage got through: requests per second of so many injectors."""

    injectors: int
    throughput: float


def efficiencies(points: Sequence[Point]) -> dict[int, float]:
    """Load -> throughput per injector, as a share of that of the two smallest loads (of three or fewer, the smallest).

    Points of one load, which are its repeats, count as one.
    """
    per_injector: dict[int, float] = {}
    loads = sorted({point.injectors for point in points})
    for load in loads:
        rates = [point.throughput for point in points if point.injectors == load]
        per_injector[load] = sum(rates) / len(rates) / load
    smallest = loads[: 2 if len(loads) >= FEWEST_LOADS else 1]
    reference = sum(per_injector[load] * load for load in smallest) / sum(smallest) if smallest else 0.0
    return {load: rate / reference for load, rate in per_injector.items()} if reference > 0 else {}


def knee(points: Sequence[Point]) -> int | None:
    """The smallest load that is less than 95 % efficient; None where none was measured."""
    return next((load for load, share in efficiencies(points).items() if share < EFFICIENCY), None)


@dataclass(frozen=True)
class Law:
    """The parameters of the law: throughput of one injector, contention, and the cost of keeping all in step."""

    single: float
    contention: float
    coherency: float

    def throughput(self, injectors: float) -> float:
        """Requests per second at a load."""
        more = injectors - 1
        return self.single * injectors / (1 + self.contention * more + self.coherency * injectors * more)

    @property
    def peak(self) -> float:
        """The load of the highest throughput; infinite where it only rises."""
        if self.coherency <= 0:
            return math.inf
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherency)


def fit(points: Sequence[Point]) -> Law | None:
    """The law with the least squared relative errors, contention and coherency not negative; None with too few loads.

    N/X = (1 + s (N - 1) + k N (N - 1)) / g is linear in 1/g, s/g and k/g. Each row is weighted with X/N, so that its
    residual is a relative error. Of three coefficients that may not be negative, the best is the best of those
    solutions in which some are zero and none is negative.
    """
    if len({point.injectors for point in points}) < FEWEST_LOADS or any(point.throughput <= 0 for point in points):
        return None
    largest = max(point.injectors for point in points)
    rows = []
    for point in points:
        weight, load = point.throughput / point.injectors, point.injectors
        # Columns of one size: their squares would lose digits otherwise.
        rows.append((weight, weight * (load - 1) / largest, weight * load * (load - 1) / largest**2))
    best = min(
        (
            (sum((1 - sum(c * x for c, x in zip(found, row, strict=True))) ** 2 for row in rows), found)
            for kept in ((0,), (0, 1), (0, 2), (0, 1, 2))
            if (found := _solved(rows, kept)) is not None and found[0] > 0 and min(found) >= 0
        ),
        default=None,
    )
    if best is None:
        return None
    first, second, third = best[1]
    return Law(1 / first, second / largest / first, third / largest**2 / first)


def resampled(points: Sequence[Point], law: Law, seed: int = 0) -> list[Law]:
    """The laws of points that might as well have been measured: the law's, each with another's relative error.

    A bootstrap of residuals, made larger for the parameters that were fitted to them. The same draws for the same
    points, so that a report can be computed again.
    """
    rng = random.Random(seed)  # noqa: S311 - a bootstrap wants no secrets
    errors = [point.throughput / law.throughput(point.injectors) - 1 for point in points]
    larger = math.sqrt(len(points) / max(1, len(points) - _PARAMETERS))
    laws = []
    for _ in range(DRAWS):
        drawn = [
            Point(point.injectors, law.throughput(point.injectors) * max(1e-3, 1 + larger * rng.choice(errors)))
            for point in points
        ]
        if (found := fit(drawn)) is not None:
            laws.append(found)
    return laws


def central(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the central 95 % of some values."""
    ordered = sorted(values)
    cut = len(ordered) // 40
    return ordered[cut], ordered[-1 - cut]


def _solved(rows: Sequence[tuple[float, float, float]], kept: tuple[int, ...]) -> tuple[float, float, float] | None:
    """Least squares of "each row is 1" with only these columns, by the normal equations; None where singular."""
    matrix = [[sum(row[i] * row[j] for row in rows) for j in kept] + [sum(row[i] for row in rows)] for i in kept]
    for column in range(len(kept)):
        pivot = max(range(column, len(kept)), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        if abs(matrix[column][column]) < _SINGULAR:
            return None
        for row in range(len(kept)):
            if row != column:
                factor = matrix[row][column] / matrix[column][column]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)]
    found = [0.0, 0.0, 0.0]
    for place, column in enumerate(kept):
        found[column] = matrix[place][-1] / matrix[place][place]
    return found[0], found[1], found[2]
