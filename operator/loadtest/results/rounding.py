"""How figures are rounded to whole numbers."""

from __future__ import annotations

from fractions import Fraction


def rounded(value: Fraction) -> int:
    """The nearest whole number, halves up (Python's round takes halves to even)."""
    return int(value + Fraction(1, 2))
