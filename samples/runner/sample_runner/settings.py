"""What the environment says. The names are those of eq-questionnaire-runner where it has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SessionBackendName = Literal["storage", "ephemeral_storage"]

_JOURNEYS = Path(__file__).parent.parent / "journeys"


class SettingsError(ValueError):
    """An environment variable has a value that means nothing; the message names it."""


@dataclass(frozen=True)
class Settings:
    """The application's settings; how it is served is in `start`."""

    journeys: Path
    """RUNNER_JOURNEY: a requests file, or a folder of them; the token's schema_name chooses among several."""

    keys: Path
    """EQ_KEYS_DIR: the folder with signing-public.pem and encryption-private.pem."""

    session_backend: SessionBackendName
    """EQ_SESSION_BACKEND: `storage` is Datastore, `ephemeral_storage` is Redis."""

    session_timeout_seconds: int
    """EQ_SESSION_TIMEOUT_SECONDS: how long a session lives after its last request."""

    secure_cookie: bool
    """EQ_ENABLE_SECURE_SESSION_COOKIE: whether the session cookie is for https only."""

    redis_host: str
    redis_port: int

    datastore_use_grpc: bool
    """DATASTORE_USE_GRPC: "True" is gRPC, "False" is HTTP."""

    datastore_http: str
    """DATASTORE_HTTP_ADDRESS: host:port where the emulator speaks HTTP."""

    datastore_grpc: str
    """DATASTORE_GRPC_ADDRESS: host:port where the emulator speaks gRPC."""

    datastore_project: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings; SettingsError names a variable that cannot be used."""
        return cls(
            journeys=Path(environment.get("RUNNER_JOURNEY") or _JOURNEYS),
            keys=Path(environment.get("EQ_KEYS_DIR") or "/keys"),
            session_backend=_session_backend(environment.get("EQ_SESSION_BACKEND") or "ephemeral_storage"),
            session_timeout_seconds=number(environment, "EQ_SESSION_TIMEOUT_SECONDS", 45 * 60),
            secure_cookie=_boolean(environment, "EQ_ENABLE_SECURE_SESSION_COOKIE", default=True),
            redis_host=environment.get("EQ_REDIS_HOST") or "redis",
            redis_port=number(environment, "EQ_REDIS_PORT", 6379),
            datastore_use_grpc=_boolean(environment, "DATASTORE_USE_GRPC", default=False),
            datastore_http=environment.get("DATASTORE_HTTP_ADDRESS") or "datastore.runner.svc:8081",
            datastore_grpc=environment.get("DATASTORE_GRPC_ADDRESS") or "datastore.runner.svc:8082",
            datastore_project=environment.get("DATASTORE_PROJECT") or "sample-runner",
        )


def number(environment: Mapping[str, str], name: str, default: int) -> int:
    """A positive whole number from the environment."""
    text = environment.get(name) or str(default)
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(f"{name} must be a whole number of at least 1, not {text!r}")
    return int(text)


def _boolean(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environment.get(name) or str(default)
    if text not in {"True", "False"}:
        raise SettingsError(f"{name} must be True or False, not {text!r}")
    return text == "True"


def _session_backend(text: str) -> SessionBackendName:
    if text == "storage":
        return "storage"
    if text == "ephemeral_storage":
        return "ephemeral_storage"
    raise SettingsError(f"EQ_SESSION_BACKEND must be storage or ephemeral_storage, not {text!r}")
