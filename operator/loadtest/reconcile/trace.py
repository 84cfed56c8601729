"""Which LoadTest and run a log line is about: fields that every record of a step carries, in JSON logs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar

_fields: ContextVar[Mapping[str, str]] = ContextVar("loadtest_fields", default={})  # noqa: B039 - it is never changed


def begin(loadtest: str) -> None:
    """From here on, in this task, log lines are about that LoadTest (`namespace/name`), and about no run yet."""
    _fields.set({"loadtest": loadtest})


def mark(**fields: str) -> None:
    """Add fields to the log lines of this task."""
    _fields.set({**_fields.get(), **fields})


class Fields(logging.Filter):
    """Puts the fields into each record; a JSON formatter writes what it finds there."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let everything pass, with its fields."""
        for name, value in _fields.get().items():
            setattr(record, name, value)
        return True
