"""How a worker tells why it cannot do its work: in its log, and to Kubernetes, whose pod shows it to the operator."""

from __future__ import annotations

import logging
import os
from pathlib import Path

EXIT_SCENARIO = 4
"""The scenario cannot be used; the operator ends the run with the message."""

MESSAGE_FILE = Path("/dev/termination-log")
"""Where Kubernetes reads a container's last words from; there is no such file elsewhere."""

_MAX_MESSAGE = 1_000
log = logging.getLogger(__name__)


def tell_scenario(message: str) -> int:
    """Tell that the scenario cannot be used; the exit code to end with."""
    log.error("%s", message)
    if MESSAGE_FILE.exists():
        MESSAGE_FILE.write_text(message[:_MAX_MESSAGE])
    return EXIT_SCENARIO


def end_for_scenario(message: str) -> None:
    """Tell it and end the process now, whatever its other threads do."""
    os._exit(tell_scenario(message))
