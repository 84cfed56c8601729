"""`loadtest calibrate`: how much load a core of this machine makes, kept in a file that `loadtest plan` reads."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import click

from loadtest.core.needs import BUILT_IN, Calibration

FAILED = 1


class BadCalibration(ValueError):  # noqa: N818 - named for the fact
    """The kept calibration cannot be read; the message names file and remedy."""


def kept_file() -> Path:
    """Where the calibration is kept: of the user, by the XDG Base Directory Specification."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "loadtest" / "calibration.json"


def kept() -> Calibration:
    """The calibration of this machine, or the built-in one where none was made."""
    file = kept_file()
    try:
        return Calibration.from_json(json.loads(file.read_text()))
    except FileNotFoundError:
        return BUILT_IN
    except (OSError, ValueError) as error:
        raise BadCalibration(f"{file}: {error}: delete it, or run `loadtest calibrate` again") from error


def calibrate(seconds: int) -> int:
    """Measure, print and keep it. 0, or 1 where it was not possible."""
    try:
        from loadtest_injector.calibration import measure
    except ImportError as error:
        remedy = "use .venv/bin/loadtest of a clone after `make venv`"
        click.echo(f"calibrate needs Locust beside this command ({error}): {remedy}", err=True)
        return FAILED
    measured = measure(seconds)
    if measured.failures or not measured.requests:
        click.echo(f"{measured.failures} of {measured.requests} requests on loopback failed: try again", err=True)
        return FAILED
    rate = measured.requests * 1_000_000_000 // measured.cpu_nanos
    today = datetime.now(UTC).date().isoformat()
    calibration = Calibration(rate, f"measured on {platform.node()}, {today}")
    file = kept_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(calibration.to_json(), indent=2) + "\n")
    click.echo(
        f"{rate:,} requests per second of CPU ({measured.requests:,} in {seconds} s, with "
        f"{measured.cpu_nanos / 1_000_000_000:.2f} s of CPU); kept in {file}"
    )
    return 0
