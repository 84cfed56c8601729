"""The live view: what happened, one line each, and how far the run is.

On a terminal the line of progress is written over; elsewhere each change of it is a line of its own.
"""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field

import click

from loadtest.api.conditions import ConditionType, find_condition
from loadtest.api.status import LoadTestStatus
from loadtest.core.events import events_between

CLEAR = "\x1b[K"
"""Clears a terminal's line from the cursor on."""


def line(status: LoadTestStatus) -> str:
    """One line of progress."""
    progress, summary = status.progress, status.summary
    parts = [f"{status.phase.value:<10}"]
    if progress and progress.percent is not None:
        parts.append(f"{progress.percent:>3} %")
    if summary and summary.stage:
        parts.append(f"stage {summary.stage}")
    if summary and summary.requests_per_second is not None:
        parts.append(f"{summary.requests_per_second} req/s")
    if summary and summary.p99_millis is not None:
        parts.append(f"p99 {summary.p99_millis} ms")
    if summary and summary.failures is not None:
        parts.append(f"{summary.failures} failures")
    ready = find_condition(status.conditions, ConditionType.READY)
    activity = progress.activity if progress and progress.activity else (ready.message if ready else "")
    return "  ".join([*parts, activity[:110]])


@dataclass
class LiveView:
    """Prints what changed from one status to the next. `live` overwrites the line of progress."""

    live: bool = field(default_factory=sys.stdout.isatty)
    _begun: float = field(default_factory=time.monotonic)
    _last: LoadTestStatus = field(default_factory=LoadTestStatus)
    _shown: str = ""

    def show(self, status: LoadTestStatus) -> None:
        """Print the events since the last status, and the line of progress where it differs."""
        for kind, reason, message in events_between(self._last, status):
            self.say(f"{'!' if kind == 'Warning' else '*'} {reason}: {message}")
        if (now := line(status)) != self._shown or self.live:
            self._write(f"  {now}", end="" if self.live else "\n")
        self._last, self._shown = status, now

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._write(text, end="\n")

    def close(self) -> None:
        """Leave the line of progress as it is: what follows begins on a line of its own."""
        if self.live:
            click.echo()

    def _write(self, text: str, *, end: str) -> None:
        """A line with the seconds since the beginning, over the line of progress where that is live."""
        seconds = f"{time.monotonic() - self._begun:6.0f} s  "
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r{CLEAR}{(seconds + text)[:width] if not end else seconds + text}{end}", nl=False)
        else:
            click.echo(f"{seconds}{text}")
