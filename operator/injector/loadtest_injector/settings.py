"""The environment of a master or worker process, read in this one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_SCENARIO = "/etc/loadtest/scenario/scenario.json"
DEFAULT_SECRETS = "/etc/loadtest/secrets"
_MAX_PORT = 65_535
_SHA256_HEX_LENGTH = 64


class SettingsError(ValueError):
    """A variable of the environment is missing or wrong; the message names it."""


@dataclass(frozen=True)
class MasterSettings:
    """What the master is told. After load_deadline_seconds of its life all load stops for good.

    It ends by itself results_hold_seconds after its last stage. What a measurement's source is asked with lies below
    secrets, in a folder with the measurement's name.
    """

    run: str
    repeat: int
    token_sha256: str
    bind_host: str
    control_port: int
    bind_port: int
    load_deadline_seconds: float
    results_hold_seconds: float
    secrets: Path


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker is told. cpu_limit_millis is in thousandths of a core, 0 where there is no limit."""

    run: str
    repeat: int
    name: str
    master_host: str
    master_port: int
    cpu_limit_millis: int
    load_deadline_seconds: float
    scenario: Path


def master_settings(environ: Mapping[str, str]) -> MasterSettings:
    """Read the master's settings."""
    token = _text(environ, "LOADTEST_TOKEN_SHA256").lower()
    if len(token) != _SHA256_HEX_LENGTH or not set(token) <= set("0123456789abcdef"):
        raise SettingsError("LOADTEST_TOKEN_SHA256 must be 64 hex digits: the SHA-256 of the control port's token")
    return MasterSettings(
        run=_text(environ, "LOADTEST_RUN"),
        repeat=_integer(environ, "LOADTEST_REPEAT", lowest=1),
        token_sha256=token,
        bind_host=environ.get("LOADTEST_BIND_HOST", "*"),
        control_port=_integer(environ, "LOADTEST_CONTROL_PORT", 8090, lowest=1, highest=_MAX_PORT),
        bind_port=_integer(environ, "LOADTEST_BIND_PORT", 5557, lowest=1, highest=_MAX_PORT),
        load_deadline_seconds=_seconds(environ, "LOADTEST_LOAD_DEADLINE_SECONDS"),
        results_hold_seconds=_seconds(environ, "LOADTEST_RESULTS_HOLD_SECONDS", 86_400),
        secrets=Path(environ.get("LOADTEST_SECRETS") or DEFAULT_SECRETS),
    )


def worker_settings(environ: Mapping[str, str]) -> WorkerSettings:
    """Read a worker's settings."""
    return WorkerSettings(
        run=_text(environ, "LOADTEST_RUN"),
        repeat=_integer(environ, "LOADTEST_REPEAT", lowest=1),
        name=_text(environ, "LOADTEST_WORKER_NAME"),
        master_host=_text(environ, "LOADTEST_MASTER_HOST"),
        master_port=_integer(environ, "LOADTEST_MASTER_PORT", 5557, lowest=1, highest=_MAX_PORT),
        cpu_limit_millis=_integer(environ, "LOADTEST_CPU_LIMIT_MILLIS", 0, lowest=0),
        load_deadline_seconds=_seconds(environ, "LOADTEST_LOAD_DEADLINE_SECONDS"),
        scenario=Path(environ.get("LOADTEST_SCENARIO") or DEFAULT_SCENARIO),
    )


def _text(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise SettingsError(f"{name} is not set")
    return value


def _integer(
    environ: Mapping[str, str], name: str, default: int | None = None, *, lowest: int, highest: int = 10**9
) -> int:
    text = environ.get(name) or ("" if default is None else str(default))
    if not (text.isascii() and text.isdigit()) or not lowest <= int(text) <= highest:
        raise SettingsError(f"{name} must be a whole number from {lowest} to {highest}")
    return int(text)


def _seconds(environ: Mapping[str, str], name: str, default: float | None = None) -> float:
    text = environ.get(name) or ("" if default is None else str(default))
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= 10**9:
        raise SettingsError(f"{name} must be a number of seconds above 0")
    return value
