"""Histograms of durations in integer microseconds, in the bucket layout of HdrHistogram.

Layout (HdrHistogram: lowest value 1 us, highest 3,600,000,000 us = 1 h, 3 significant digits): values below 2,048 have
a bucket each; above, every power of two is cut into 1,024 equal buckets. A bucket is at most 1/1024 of its lowest value
wide, so a value read back is at most 0.1 % above the one recorded. The index is HdrHistogram's index into its counts
array. Buckets are kept sparse: a journey has some 140 endpoints, and a dense array for each would be 188 kB.

Imports nothing but the standard library: the operator reads stored records with this module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

HIGHEST_MICROS = 3_600_000_000
"""Values above (1 h) are recorded as this value and counted in `Histogram.clamped`."""

_HALF_BITS = 10  # 1,024 buckets a power of two: the fewest that keep 3 significant digits
_HALF = 1 << _HALF_BITS
_LINEAR = 2 * _HALF  # below this value the buckets are one microsecond wide


def index_of(micros: int) -> int:
    """Index of the bucket that holds a value of `micros` microseconds (0 or more; not clamped)."""
    if micros < _LINEAR:
        if micros < 0:
            raise ValueError(f"a duration is not negative: {micros} us")
        return micros
    shift = micros.bit_length() - _HALF_BITS - 1
    return (shift << _HALF_BITS) + (micros >> shift)


def value_of(index: int) -> int:
    """The highest value, in microseconds, that falls into the bucket at `index`."""
    if not 0 <= index <= _HIGHEST_INDEX:
        raise ValueError(f"no bucket has the index {index}: they go from 0 to {_HIGHEST_INDEX}")
    shift = (index >> _HALF_BITS) - 1
    if shift <= 0:
        return index
    lowest = ((index & (_HALF - 1)) + _HALF) << shift
    return lowest + (1 << shift) - 1


_HIGHEST_INDEX = index_of(HIGHEST_MICROS)


class Histogram:
    """Counts of durations by bucket, with their exact count, sum, minimum and maximum."""

    __slots__ = ("buckets", "clamped", "count", "max_micros", "min_micros", "sum_micros")

    def __init__(self) -> None:
        self.buckets: dict[int, int] = {}
        self.count = 0
        self.sum_micros = 0
        self.min_micros: int | None = None
        self.max_micros: int | None = None
        self.clamped = 0

    def add(self, micros: int) -> None:
        """Record one duration; above one hour it counts as one hour and as clamped."""
        if micros > HIGHEST_MICROS:
            micros = HIGHEST_MICROS
            self.clamped += 1
        # As index_of, without the call: this is done for every request.
        if micros >= _LINEAR:
            shift = micros.bit_length() - _HALF_BITS - 1
            index = (shift << _HALF_BITS) + (micros >> shift)
        elif micros >= 0:
            index = micros
        else:
            raise ValueError(f"a duration is not negative: {micros} us")
        buckets = self.buckets
        buckets[index] = buckets.get(index, 0) + 1
        self.count += 1
        self.sum_micros += micros
        if self.max_micros is None or self.min_micros is None:
            self.min_micros = self.max_micros = micros
        elif micros > self.max_micros:
            self.max_micros = micros
        elif micros < self.min_micros:
            self.min_micros = micros

    def merge(self, other: Histogram) -> None:
        """Add everything that `other` holds. Merging loses nothing: buckets are the same everywhere."""
        if other.min_micros is None or other.max_micros is None:
            return
        for index, count in other.buckets.items():
            self.buckets[index] = self.buckets.get(index, 0) + count
        self.count += other.count
        self.sum_micros += other.sum_micros
        self.clamped += other.clamped
        self.min_micros = other.min_micros if self.min_micros is None else min(self.min_micros, other.min_micros)
        self.max_micros = other.max_micros if self.max_micros is None else max(self.max_micros, other.max_micros)

    def percentile(self, percent: str | int | Decimal | Fraction) -> int | None:
        """The smallest value, in microseconds, with at least ceil(percent/100 * count) values not above it.

        That is the nearest rank. `percent` is above 0 and at most 100, and exact ("99.9", not 99.9): a float's rank is
        off by one where the product is a whole number. The value is its bucket's highest, capped by the exact maximum:
        at most 0.1 % above the true one. None where nothing was recorded.
        """
        if isinstance(percent, float):
            raise TypeError("a percentile is given exactly, as text or a fraction: a float has no exact rank")
        share = Fraction(percent) / 100
        if not 0 < share <= 1:
            raise ValueError(f"a percentile is above 0 and at most 100: {percent}")
        if self.max_micros is None:
            return None
        rank = math.ceil(share * self.count)
        seen = 0
        for index in sorted(self.buckets):
            seen += self.buckets[index]
            if seen >= rank:
                return min(value_of(index), self.max_micros)
        raise AssertionError(f"{self.count} values were counted, but the buckets hold {seen}")

    def to_json(self) -> dict[str, Any]:
        """The form of the stage record: count, sumMicros, minMicros, maxMicros, buckets; clamped where it is not 0."""
        document: dict[str, Any] = {
            "count": self.count,
            "sumMicros": self.sum_micros,
            "minMicros": self.min_micros,
            "maxMicros": self.max_micros,
            "buckets": [[index, self.buckets[index]] for index in sorted(self.buckets)],
        }
        if self.clamped:
            document["clamped"] = self.clamped
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Histogram:
        """Read what `to_json` wrote; other keys of the mapping are left alone. ValueError where it contradicts itself.

        Where minMicros and maxMicros are missing, they are taken from the buckets.
        """
        histogram = cls()
        for index, count in document["buckets"]:
            if type(index) is not int or type(count) is not int or count <= 0 or index in histogram.buckets:
                raise ValueError(f"bucket {index} holds {count} values, or is named twice")
            histogram.buckets[index] = count
        histogram.count = _whole(document, "count")
        histogram.sum_micros = _whole(document, "sumMicros")
        histogram.clamped = _whole(document, "clamped", 0)
        if sum(histogram.buckets.values()) != histogram.count:
            raise ValueError(f"count is {histogram.count}, but the buckets hold {sum(histogram.buckets.values())}")
        if histogram.buckets:
            highest = value_of(max(histogram.buckets))
            lowest = value_of(min(histogram.buckets))
            histogram.max_micros = _whole(document, "maxMicros", min(highest, HIGHEST_MICROS))
            histogram.min_micros = _whole(document, "minMicros", min(lowest, HIGHEST_MICROS))
        return histogram


def _whole(document: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = document[key] if default is None else document.get(key, default)
    if type(value) is not int or value < 0:
        raise ValueError(f"{key} is {value!r} and no whole number")
    return value
