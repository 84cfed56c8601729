"""One user's journeys: launches, walks the requests file, starts over; every request is recorded.

A request fails where its status, its content, its csrf_token or its redirect is not what the journey expects; it is
recorded as a failure of that kind, the journey ends there, and the user starts over after a pause.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from time import monotonic, monotonic_ns
from typing import Protocol
from urllib.parse import urlencode

import gevent

from loadtest_injector.exchange import Client, RequestError, Response
from loadtest_injector.http.deadline import Deadline
from loadtest_injector.http.errors import HttpError
from loadtest_injector.recorder import NANOS_PER_MICRO, Failure, Mark, Recorder
from loadtest_injector.requests_file import Entry, RouteMismatchError
from loadtest_injector.scenario import Scenario

WINDOW_HEADER = "X-LoadTest-Window"
FOUND = 302
OK = 200
LEAST_PAUSE_SECONDS = 1
"""After a failure a user waits at least this long, whatever waitTime says: a refusing target is not hammered."""

_NANOS = 1_000_000_000
_TOKEN_INPUT = re.compile(rb"""<input\b[^>]*\bname=["']csrf_token["'][^>]*>""")
_VALUE = re.compile(rb"""\bvalue=["']([^"']+)["']""")

Check = Callable[[Response], Failure | None]


class JourneyError(Exception):
    """A request of the journey failed; it is already recorded."""


class Tokens(Protocol):
    """Makes launch tokens."""

    def token(self) -> str:
        """A new token."""


class Replay:
    """The journeys of one user in one attempt. `tokens` is None where nothing is launched."""

    def __init__(
        self,
        scenario: Scenario,
        client: Client,
        recorder: Recorder,
        tokens: Tokens | None,
        *,
        request_timeout_seconds: float,
        sleep: Callable[[float], None] = gevent.sleep,
    ) -> None:
        self._scenario = scenario
        self._client = client
        self._recorder = recorder
        self._tokens = tokens
        self._timeout = request_timeout_seconds
        self._too_slow = f"no whole answer within {request_timeout_seconds:g} s"
        self._deadline = Deadline(gevent.get_hub())
        self._sleep = sleep
        self._due = monotonic_ns()
        """When the next request is to begin: at the end of the answer before it and of the wait after that."""
        self._page: str | None = None
        self._token: str | None = None

    def settle_in(self) -> None:
        """Before the first journey: wait a random part of a second where users wait at all.

        Users are started many at a time and wait whole seconds: they would go on asking all at once.
        """
        self._due = monotonic_ns()
        if self._scenario.wait_max:
            self._wait(random.random())  # noqa: S311 - not for secrecy

    def journey(self) -> None:
        """Walk the journey once; after a failed request, pause and return."""
        try:
            self._walk()
        except JourneyError:
            self._wait(max(self._wait_seconds(), LEAST_PAUSE_SECONDS))

    def _walk(self) -> None:
        self._client.new_respondent()
        self._page = self._token = None
        if self._tokens is not None:
            path = f"/session?token={self._tokens.token()}"
            launch, _ = self._send("GET", path, "/session", _expect_redirect)
            self._recorder.launched(launch)
            self._send("GET", "/questionnaire", "/questionnaire", _expect_redirect)
        values: dict[str, str] = {}
        mark: Mark | None = None
        for entry in self._scenario.journey.entries:
            mark = self._step(entry, values)
            if entry.method == "GET" and (seconds := self._wait_seconds()):
                self._wait(seconds)
        if mark is not None:
            self._recorder.submitted(mark)

    def _step(self, entry: Entry, values: dict[str, str]) -> Mark:
        path = entry.path(values)
        if entry.is_page:
            return self._get_page(entry, path)

        def check(response: Response) -> Failure | None:
            failure = _expect_redirect(response)
            if failure is None and entry.route is not None:
                try:
                    values.update(entry.route.harvest(response.location or ""))
                except RouteMismatchError as error:
                    return Failure("assertion", str(error))
            return failure

        body = self._form(entry) if entry.method == "POST" else None
        return self._send(entry.method, path, entry.name, check, body)[0]

    def _get_page(self, entry: Entry, path: str) -> Mark:
        token: str | None = None

        def check(response: Response) -> Failure | None:
            nonlocal token
            failure = _expect_page(response)
            if failure is None:
                token = csrf_token(response.body)
                if token is None and entry.wants_token:
                    return Failure("assertion", "the page has no csrf_token for the POST that follows")
            return failure

        mark, _ = self._send("GET", path, entry.name, check)
        self._page, self._token = path, token
        return mark

    def _form(self, entry: Entry) -> bytes:
        token = urlencode({"csrf_token": self._token}) if self._token is not None else ""
        return "&".join(filter(None, (token, entry.form))).encode("ascii")

    def _send(
        self, method: str, path: str, name: str, check: Check, body: bytes | None = None
    ) -> tuple[Mark, Response]:
        """Send and record one request; JourneyError where it failed."""
        recorder = self._recorder
        response = None
        mark = recorder.begin(self._due)
        headers = {WINDOW_HEADER: recorder.label(mark)}
        if body is not None and self._page is not None:
            headers["Referer"] = self._scenario.host + self._page
        try:
            self._deadline.start(monotonic() + self._timeout, self._too_slow)
            try:
                response = self._client.send(method, path, headers, body)
            finally:
                self._deadline.stop()
            micros = recorder.elapsed_micros(mark)
            failure = check(response)
        except HttpError as error:
            micros = recorder.elapsed_micros(mark)
            failure = Failure(error.kind, error.message)
            self._client.drop_connection()
        except RequestError as error:
            micros = recorder.elapsed_micros(mark)
            failure = error.failure
        except BaseException:
            recorder.abandon(mark)
            raise
        self._due = mark.start + micros * NANOS_PER_MICRO
        content_bytes = len(response.body) if response is not None else 0
        recorder.end(mark, method, name, micros, content_bytes=content_bytes, failure=failure)
        if failure is not None or response is None:
            raise JourneyError
        return mark, response

    def _wait(self, seconds: float) -> None:
        self._due += int(seconds * _NANOS)
        self._sleep(max(0.0, (self._due - monotonic_ns()) / _NANOS))

    def _wait_seconds(self) -> int:
        return random.randint(self._scenario.wait_min, self._scenario.wait_max)  # noqa: S311 - not for secrecy


def csrf_token(page: bytes) -> str | None:
    """The value of the hidden input csrf_token of a page."""
    found = _TOKEN_INPUT.search(page)
    value = _VALUE.search(found[0]) if found else None
    return html.unescape(value[1].decode("utf-8", "replace")) if value else None


def _expect_status(response: Response, status: int) -> Failure | None:
    if response.status == status:
        return None
    return Failure("status", f"expected {status}, got {response.status}")


def _expect_redirect(response: Response) -> Failure | None:
    return _expect_status(response, FOUND)


def _expect_page(response: Response) -> Failure | None:
    failure = _expect_status(response, OK)
    if failure is None and not response.body:
        return Failure("assertion", "the page has no content")
    return failure
