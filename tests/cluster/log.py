"""Says what is being done, with the seconds since the start of the command."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

_STARTED = time.monotonic()
_PULSE_SECONDS = 15.0


class ClusterError(Exception):
    """The cluster could not be brought to the wanted state; the message says why and what helps."""


def say(text: str) -> None:
    """Prints one line with the elapsed seconds, to standard error so that standard output stays for results."""
    sys.stderr.write(f"[{time.monotonic() - _STARTED:6.1f} s] {text}\n")
    sys.stderr.flush()


@contextmanager
def doing(text: str) -> Iterator[None]:
    """Says that a long step goes on, again every 15 s, so that nobody takes the silence for a hang."""
    say(text)
    began = time.monotonic()
    ended = Event()

    def pulse() -> None:
        while not ended.wait(_PULSE_SECONDS):
            say(f"{text}: {time.monotonic() - began:.0f} s so far")

    Thread(target=pulse, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
