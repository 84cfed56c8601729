"""The few calls that the Job makes to the API server by itself: JSON over HTTPS, with retries."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from loadtest.adapters.helm_job.access import Access

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Lists metadata alone: a release's history can hold many megabytes of Secrets."""

_REQUEST_SECONDS = 30.0


class ApiError(Exception):
    """The API server refused a request.

    Attributes:
        status: of HTTP; 0 where no answer came.
        reason: Kubernetes' word, such as AlreadyExists.
        causes: reasons of the details, such as NamespaceTerminating.
    """

    def __init__(self, status: int, reason: str, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes


class Api:
    """A client of one API server.

    Every call made here may be made twice (reads, creations under a fixed name, merge patches), so all are retried
    while the server is away, overloaded or failing.

    Args:
        access: where the server is and who we are.
        patience: seconds for which a failing call is tried again.
        sleep: waits that many seconds.
    """

    def __init__(self, access: Access, patience: float = 60.0, sleep: Callable[[float], None] = time.sleep) -> None:
        self._access = access
        self._patience = patience
        self._sleep = sleep

    def get(self, path: str, accept: str = JSON) -> Any:
        """The object at `path`, None if there is none."""
        try:
            return self._call("GET", path, accept=accept)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def create(self, collection: str, body: object) -> bool:
        """Creates an object; False if one of that name is there already, which is left as it is."""
        try:
            self._call("POST", collection, body)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT and error.reason == "AlreadyExists":
                return False
            raise
        return True

    def replace(self, path: str, body: object) -> bool:
        """Replaces an object in the version that `body` names; False if it has changed since."""
        try:
            self._call("PUT", path, body)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:
                return False
            raise
        return True

    def merge_patch(self, path: str, body: object) -> None:
        """Merges `body` into the object at `path`."""
        self._call("PATCH", path, body, content_type=MERGE_PATCH)

    def _call(self, method: str, path: str, body: object = None, content_type: str = JSON, accept: str = JSON) -> Any:
        text = None if body is None else json.dumps(body)
        headers = {"Accept": accept, "Content-Type": content_type}
        until = time.monotonic() + self._patience
        pause = 0.2
        while True:
            try:
                return self._once(method, path, text, headers)
            except ApiError as error:
                if not _passing(error.status) or time.monotonic() + pause > until:
                    raise
            self._sleep(pause)
            pause = min(pause * 2, 5.0)

    def _once(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Any:
        access = self._access
        connection = http.client.HTTPSConnection(access.host, access.port, timeout=_REQUEST_SECONDS, context=access.tls)
        try:
            connection.request(method, access.prefix + path, body=body, headers={**headers, **access.headers()})
            answer = connection.getresponse()
            status, data = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, "Unreachable", type(error).__name__) from error
        finally:
            connection.close()
        try:
            parsed = json.loads(data)
        except ValueError:
            parsed = {}
        if status >= HTTPStatus.BAD_REQUEST:
            causes = (parsed.get("details") or {}).get("causes") or []
            reasons = tuple(str(each.get("reason", "")) for each in causes)
            raise ApiError(status, str(parsed.get("reason", "")), str(parsed.get("message", ""))[:300], reasons)
        return parsed


def _passing(status: int) -> bool:
    """Whether a failure may go away by itself: no answer, overload, an error of the server."""
    return status in {0, HTTPStatus.TOO_MANY_REQUESTS} or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def core(namespace: str, kind: str, name: str = "") -> str:
    """The path of a core resource (`secrets`, `configmaps`) in a namespace, or of its collection."""
    return f"/api/v1/namespaces/{namespace}/{kind}" + (f"/{name}" if name else "")
