"""The points of one measurement, each with its time, and why points are missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MAX_MESSAGE = 300
_MAX_PROBLEMS = 10
"""Different problems that are kept of one series; of more than these only the first are worth reading."""


class Missed(Exception):  # noqa: N818 - it is a point that is not there, not an error of the program
    """A point could not be taken: a reason in one word, and a sentence for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


SOURCE_UNAVAILABLE = "SourceUnavailable"
"""The source did not answer, or not in time."""

SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, no password
"""The Secret or ConfigMap that the source needs is not there."""

UNAUTHORIZED = "Unauthorized"
"""The source refused the credentials."""

QUOTA_EXCEEDED = "QuotaExceeded"
"""The source takes no more questions for now."""

BAD_ANSWER = "BadAnswer"
"""The source answered something else than what was asked for."""


@dataclass
class Series:
    """Points of `fields`, taken at microseconds after the window's start; `expected` is how many a whole window has."""

    name: str
    kind: str
    fields: tuple[str, ...]
    expected: int = 0
    points: list[tuple[int, ...]] = field(default_factory=list)
    problems: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, at_micros: int, *values: int) -> None:
        """Add a point: one value for each field."""
        self.points.append((at_micros, *values))

    def miss(self, missed: Missed) -> None:
        """Note why a point is missing."""
        key = (missed.reason, missed.message[:_MAX_MESSAGE])
        if key in self.problems or len(self.problems) < _MAX_PROBLEMS:
            self.problems[key] += 1

    def to_json(self) -> dict[str, Any]:
        """The form of the record: the time first in each point."""
        return {
            "name": self.name,
            "kind": self.kind,
            "fields": ["atMicros", *self.fields],
            "expected": self.expected,
            "points": [list(point) for point in self.points],
            "problems": [
                {"reason": reason, "message": message, "count": count}
                for (reason, message), count in self.problems.items()
            ],
        }


def read_secret(path: Path) -> str:
    """A file that is mounted for a measurement, without a line break at its end. Raises Missed."""
    try:
        return path.read_text().rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise Missed(SECRET_MISSING, f"{path} cannot be read: {type(error).__name__}: is it there?") from error
