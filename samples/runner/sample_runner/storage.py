"""Datastore by its official client: the questionnaire state of each session, and a client that sessions share.

The client of a worker process is made at its first request: a gRPC channel does not survive the fork of a preloaded
application.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import datastore
from requests.adapters import HTTPAdapter

from sample_runner.settings import Settings

STATE_KIND = "questionnaire-state"
# More concurrent requests than this in one gevent worker open connections of their own.
_HTTP_CONNECTIONS = 128


class Datastore:
    """JSON documents in Datastore, over gRPC or HTTP."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def client(self) -> Any:
        """The datastore.Client of this process (which has no types)."""
        settings = self._settings
        address = settings.datastore_grpc if settings.datastore_use_grpc else settings.datastore_http
        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
        session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
        session.trust_env = False  # an http proxy of the environment is none for the emulator
        session.mount("http://", HTTPAdapter(pool_maxsize=_HTTP_CONNECTIONS))
        return datastore.Client(  # type: ignore[no-untyped-call]
            project=settings.datastore_project,
            credentials=credentials,
            client_options={"api_endpoint": f"http://{address}"},
            _http=session,
            _use_grpc=settings.datastore_use_grpc,
        )

    def read(self, kind: str, name: str) -> dict[str, Any] | None:
        """The document, or None where there is none (Lookup)."""
        entity = self.client.get(self.client.key(kind, name))
        return None if entity is None else dict(json.loads(entity["data"]))

    def write(self, kind: str, name: str, document: dict[str, Any]) -> None:
        """Store the document over any older one (Commit)."""
        self.client.put(self.entity(kind, name, document))

    def entity(self, kind: str, name: str, document: dict[str, Any]) -> Any:
        """The document as a datastore.Entity with one unindexed text property."""
        key = self.client.key(kind, name)
        entity = datastore.Entity(key, exclude_from_indexes=("data",))  # type: ignore[no-untyped-call]
        entity["data"] = json.dumps(document, separators=(",", ":"))
        return entity


@dataclass
class QuestionnaireState:
    """How far a respondent is, the ids made for the journey, and the answers by the address they were posted to."""

    position: int = -1
    ids: dict[str, str] = field(default_factory=dict)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)


class QuestionnaireStates:
    """The state of every session, always in Datastore, whichever backend sessions have."""

    def __init__(self, store: Datastore) -> None:
        self._store = store

    def load(self, session_id: str) -> QuestionnaireState:
        """The state of a session; a new one where nothing was stored yet."""
        document = self._store.read(STATE_KIND, session_id)
        return QuestionnaireState() if document is None else QuestionnaireState(**document)

    def save(self, session_id: str, state: QuestionnaireState) -> None:
        """Store the state."""
        self._store.write(
            STATE_KIND, session_id, {"position": state.position, "ids": state.ids, "answers": state.answers}
        )
