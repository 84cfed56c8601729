"""Durations as the resource writes them: `20m`, `90s`, `1h30m`, `500ms`.

The grammar is a subset of Go's, so that the CEL function `duration()` of the API server reads the same text: whole
numbers with the units h, m, s, ms, each at most once and in that order. Fractions, signs, days and bare numbers are
not durations: a bare `20` leaves open whether minutes or seconds were meant.
"""

import re
from typing import Any, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

PATTERN = "^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?$"
"""Matches every duration, and the empty string, which is none. Written for both Python and CEL (RE2)."""

MAX_LENGTH = 32
"""Longest text that is looked at, in characters."""

FORMAT_HINT = "write it such as 20m, 90s or 1h30m (a number alone, such as 20, has no unit)"
"""The remedy, for messages about text that is no duration."""

_FIELDS = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?", re.ASCII)
_MILLIS = (3_600_000, 60_000, 1_000, 1)
_UNITS = ("h", "m", "s", "ms")


def parse_millis(text: str) -> int:
    """Milliseconds of a duration text.

    Raises:
        ValueError: the text is no duration; the message says how to write one.
    """
    found = _FIELDS.fullmatch(text)
    if found is None or not text:
        raise ValueError(f"{text[:MAX_LENGTH]!r} is not a duration: {FORMAT_HINT}")
    return sum(int(number) * unit for number, unit in zip(found.groups(default="0"), _MILLIS, strict=True))


def parse_duration(text: str) -> float:
    """Seconds of a duration text, exact to the millisecond.

    Raises:
        ValueError: the text is no duration.
    """
    return parse_millis(text) / 1000


def format_duration(seconds: float) -> str:
    """The shortest text of a duration given in seconds, rounded to whole milliseconds; `0s` for nothing.

    Raises:
        ValueError: the duration is negative.
    """
    rest = round(seconds * 1000)
    if rest < 0:
        raise ValueError(f"a duration cannot be negative: {seconds}")
    text = ""
    for unit, millis in zip(_UNITS, _MILLIS, strict=True):
        count, rest = divmod(rest, millis)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


class Duration(str):
    """A duration that keeps its text, so that the wire shows what the user wrote.

    Making one from text that is no duration raises ValueError.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Check the text and keep it."""
        parse_millis(text)
        return super().__new__(cls, text)

    @property
    def millis(self) -> int:
        """Length in milliseconds."""
        return parse_millis(self)

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return parse_duration(self)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A string on the wire, a Duration in Python."""
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(max_length=MAX_LENGTH, strict=True),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )
