"""The HTTP client of one replaying user: `loadtest_injector.http` behind the seam of `exchange`.

Redirects and statuses are left to the journey. A request is sent once: only on a kept connection that was found closed
before a byte of it went out it goes over a new one. What the target counts is what the record says.
"""

from __future__ import annotations

import ssl
from functools import partial
from pathlib import Path

from loadtest_injector.exchange import Response
from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.connection import Limits
from loadtest_injector.http.heads import values_of
from loadtest_injector.http.tls import client_context
from loadtest_injector.scenario import Scenario

FORM_TYPE = "application/x-www-form-urlencoded"
WINDOW_HEADER = "X-LoadTest-Window"
_LEAST_REDIRECT = 300
_response = partial(tuple.__new__, Response)  # as Response(...), at a third of its time


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
        # The headers of the scenario, but for those that the journey sets itself.
        self._plain = self._http.head_without(WINDOW_HEADER)
        form = self._http.head_without(WINDOW_HEADER, "Referer", "Content-Type")
        self._form = f"{form}Content-Type: {FORM_TYPE}\r\n"

    def send(self, method: str, path: str, lines: str, body: bytes | None) -> Response:
        """Send one request once and read the answer; HttpError where that fails."""
        answer = self._http.exchange(method, path, (self._plain if body is None else self._form) + lines, body)
        location = None
        if answer.status >= _LEAST_REDIRECT:
            found = values_of(answer.head, answer.lower, b"location")
            location = found[0] if found else None
        return _response((answer.status, location, answer.body))

    def new_respondent(self) -> None:
        """Forget all cookies; the connection stays."""
        self._http.cookies.clear()

    def drop_connection(self) -> None:
        """Close the connection."""
        self._http.close()


def tls_context(ca: Path | None) -> ssl.SSLContext:
    """The context that all users share: it verifies the target's certificate by `ca`, or by the public authorities."""
    return client_context(ca)
