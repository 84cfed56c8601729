"""Helm's errors without what they may quote: values of the release, passwords in URLs, query strings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "(hidden)"
_LIMIT = 600
_NOISE = ("WARNING", "W0", "W1", "I0", "I1")
"""Beginnings of helm's warnings and of client-go's log lines, which carry the month."""
_INVALID_VALUE = re.compile(r'(Invalid value|Unsupported value|Duplicate value): ("(?:\\.|[^"\\])*"|[^:\n]*)')
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_QUERY = re.compile(r"\?[^\s\"')]+")
_SHORT = 4
"""A shorter value is hidden only where it stands in quotes: the letters of "7" or "on" are everywhere."""


def redact(text: str, values: Iterable[str], keep: Iterable[str] = ()) -> str:
    """The errors in `text`, on one line of at most 600 characters, without any of `values`.

    Args:
        text: what helm wrote to standard error.
        values: scalars of the release's values.
        keep: words that may be shown although they are among the values, such as the release's own name.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(_NOISE)]
    errors = [index for index, line in enumerate(lines) if line.startswith("Error:")]
    message = " ".join(lines[errors[-1] :] if errors else lines[-3:])
    message = _CREDENTIALS.sub("", _QUERY.sub("", message))
    message = _INVALID_VALUE.sub(rf"\1: {HIDDEN}", message)
    shown = set(keep) | {HIDDEN}
    for value in sorted({each.strip() for each in values} - shown, key=len, reverse=True):
        if len(value) >= _SHORT:
            message = message.replace(" ".join(value.split()), HIDDEN).replace(value, HIDDEN)
        elif value:
            message = re.sub(rf"""(["'`]){re.escape(value)}\1""", HIDDEN, message)
    return message if len(message) <= _LIMIT else message[: _LIMIT - 3] + "..."
