"""Sessions, in Redis or in Datastore."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Protocol

import redis
from google.api_core.exceptions import Conflict

from sample_runner.settings import Settings
from sample_runner.storage import Datastore

SESSION_KIND = "eq-session"
TOKEN_KIND = "used-jti-claim"  # noqa: S105 - the name of a kind


@dataclass
class Session:
    """One launched questionnaire. `expires_at` is in seconds since 1970 and moves on with every request."""

    id: str
    csrf_token: str
    journey: str
    tx_id: str
    expires_at: float = 0


class SessionBackend(Protocol):
    """Where sessions live. Each call is one or more round trips to that server."""

    def load(self, session_id: str) -> Session | None:
        """The session, or None where it never was or has expired."""

    def save(self, session: Session) -> None:
        """Store the session, good for the session timeout from now on."""

    def use_token(self, jti: str, seconds: int) -> bool:
        """Note that a launch token was used; False where it had been before. Kept for `seconds`."""


class RedisSessions:
    """Sessions in Redis, with one connection pool per worker process, made at its first request."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _redis(self) -> redis.Redis:
        pool = redis.ConnectionPool(host=self._settings.redis_host, port=self._settings.redis_port)
        return redis.Redis(connection_pool=pool)

    def load(self, session_id: str) -> Session | None:
        """See SessionBackend."""
        stored = self._redis.get(f"{SESSION_KIND}:{session_id}")
        return Session(**json.loads(stored)) if isinstance(stored, bytes) else None

    def save(self, session: Session) -> None:
        """See SessionBackend."""
        timeout = self._settings.session_timeout_seconds
        session.expires_at = time.time() + timeout
        self._redis.set(f"{SESSION_KIND}:{session.id}", json.dumps(asdict(session)), ex=timeout)

    def use_token(self, jti: str, seconds: int) -> bool:
        """See SessionBackend."""
        return bool(self._redis.set(f"{TOKEN_KIND}:{jti}", "1", ex=seconds, nx=True))


class DatastoreSessions:
    """Sessions in Datastore."""

    def __init__(self, settings: Settings, store: Datastore) -> None:
        self._timeout = settings.session_timeout_seconds
        self._store = store

    def load(self, session_id: str) -> Session | None:
        """See SessionBackend."""
        document = self._store.read(SESSION_KIND, session_id)
        session = Session(**document) if document is not None else None
        return session if session and session.expires_at > time.time() else None

    def save(self, session: Session) -> None:
        """See SessionBackend."""
        session.expires_at = time.time() + self._timeout
        self._store.write(SESSION_KIND, session.id, asdict(session))

    def use_token(self, jti: str, seconds: int) -> bool:
        """See SessionBackend. A transaction: of two launches with one token at the same time, one is refused."""
        client = self._store.client
        try:
            with client.transaction():
                if client.get(client.key(TOKEN_KIND, jti)) is not None:
                    return False
                client.put(self._store.entity(TOKEN_KIND, jti, {"expires_at": time.time() + seconds}))
        except Conflict:
            return False
        return True


def session_backend(settings: Settings, store: Datastore) -> SessionBackend:
    """The backend that EQ_SESSION_BACKEND names."""
    return DatastoreSessions(settings, store) if settings.session_backend == "storage" else RedisSessions(settings)
