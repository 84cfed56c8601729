"""The HTTP client of one replaying user: `loadtest_injector.http` behind the seam of `exchange`.

Redirects and statuses are left to the journey. A request is sent once: only on a kept connection that was found closed
before a byte of it went out it goes over a new one. What the target counts is what the record says.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from loadtest_injector.exchange import RequestError, Response
from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.connection import Limits
from loadtest_injector.http.errors import HttpError
from loadtest_injector.http.heads import values_of
from loadtest_injector.http.tls import client_context
from loadtest_injector.recorder import Failure
from loadtest_injector.scenario import Scenario

FORM_TYPE = "application/x-www-form-urlencoded"


class FastHttpClient:
    """A `Client`. It bounds the whole of a request by `request_timeout_seconds`."""

    def __init__(self, scenario: Scenario, tls: ssl.SSLContext, *, request_timeout_seconds: float) -> None:
        self._http = HttpClient(
            scenario.host,
            tls=tls,
            headers=scenario.headers,
            limits=Limits(connect=request_timeout_seconds, request=request_timeout_seconds),
            secure_cookies_over_http=scenario.send_secure_cookies_over_http,
            resend=False,
        )

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Response:
        """Send one request once and read the answer; RequestError where that fails."""
        if body is not None:
            headers["Content-Type"] = FORM_TYPE
        try:
            answer = self._http.send(method, path, headers, body)
        except HttpError as error:
            raise RequestError(Failure(error.kind, error.message)) from error
        head = answer.head
        found = values_of(head, head.lower(), b"location") if answer.status_code >= 300 else ()  # noqa: PLR2004
        return Response(answer.status_code, found[0] if found else None, answer.content or b"")

    def new_respondent(self) -> None:
        """Forget all cookies; the connection stays."""
        self._http.cookies.clear()

    def drop_connection(self) -> None:
        """Close the connection."""
        self._http.close()


def tls_context(ca: Path | None) -> ssl.SSLContext:
    """The context that all users share: it verifies the target's certificate by `ca`, or by the public authorities."""
    return client_context(ca)
