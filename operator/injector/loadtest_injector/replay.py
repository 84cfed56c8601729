"""One user's journeys: launches, walks the requests file, starts over; every request is recorded.

A request fails where its status, its content, its csrf_token or its redirect is not what the journey expects; it is
recorded as a failure of that kind, the journey ends there, and the user starts over after a pause.

What is done here is done for every request: what can be prepared is prepared, and nothing is looked for that no later
request needs.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from time import monotonic_ns
from typing import Protocol
from urllib.parse import quote_plus

import gevent

from loadtest_injector.arrivals import Arrivals
from loadtest_injector.client import WINDOW_HEADER
from loadtest_injector.exchange import Client, Response
from loadtest_injector.http.errors import HttpError
from loadtest_injector.recorder import NANOS_PER_MICRO, Failure, Mark, Recorder, Segment
from loadtest_injector.requests_file import Entry, RouteMismatchError
from loadtest_injector.scenario import Scenario

FOUND = 302
OK = 200
LEAST_PAUSE_SECONDS = 1
"""After a failure a user waits at least this long, whatever waitTime says: a refusing target is not hammered."""

_NANOS = 1_000_000_000
_TOKEN_NAME = b'name="csrf_token"'
_TOKEN_INPUT = re.compile(rb"""<input\b[^>]*\bname=["']csrf_token["'][^>]*>""")
_VALUE = re.compile(rb"""(?<![\w-])value=["']([^"']+)["']""")
_UNQUOTED = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch


class JourneyError(Exception):
    """A request of the journey failed; it is already recorded."""


class Tokens(Protocol):
    """Makes launch tokens."""

    def token(self) -> str:
        """A new token."""


class Replay:
    """The journeys of one user in one attempt. `tokens` is None where nothing is launched.

    In open load each request waits for one of the `arrivals`, and nothing else is waited for.
    """

    def __init__(
        self,
        scenario: Scenario,
        client: Client,
        recorder: Recorder,
        tokens: Tokens | None,
        arrivals: Arrivals | None = None,
        *,
        sleep: Callable[[float], None] = gevent.sleep,
    ) -> None:
        self._scenario = scenario
        self._client = client
        self._recorder = recorder
        self._tokens = tokens
        self._arrivals = arrivals
        self._sleep = sleep
        self._lines = [f"{WINDOW_HEADER}: {recorder.label(Mark(0, segment, 0))}\r\n" for segment in Segment]
        self._due = monotonic_ns()
        """When the next request is to begin: at the end of the answer before it and of the wait after that."""
        self._page: str | None = None
        self._token: str | None = None
        self._values: dict[str, str] = {}

    def journey(self) -> None:
        """Walk the journey once; after a failed request, pause and return."""
        try:
            self._walk()
        except JourneyError:
            if self._arrivals is None:
                self._wait(max(self._wait_seconds(), LEAST_PAUSE_SECONDS))

    def _walk(self) -> None:
        self._client.new_respondent()
        self._page = self._token = None
        self._values = {}
        if self._tokens is not None:
            launch = self._send(None, "GET", f"/session?token={self._tokens.token()}", "/session")
            self._recorder.launched(launch)
            self._send(None, "GET", "/questionnaire", "/questionnaire")
        mark: Mark | None = None
        waits = self._scenario.wait_max > 0 and self._arrivals is None
        for entry in self._scenario.journey.entries:
            if entry.method == "POST":
                mark = self._send(entry, "POST", entry.path(self._values), entry.name, self._form(entry))
                continue
            mark = self._send(entry, "GET", entry.path(self._values), entry.name)
            if waits and (seconds := self._wait_seconds()):
                self._wait(seconds)
        if mark is not None:
            self._recorder.submitted(mark)

    def _form(self, entry: Entry) -> bytes:
        token = self._token
        if token is None:
            return entry.form.encode("ascii")
        if not _UNQUOTED(token):
            token = quote_plus(token)
        return f"csrf_token={token}{'&' if entry.form else ''}{entry.form}".encode("ascii")

    def _send(self, entry: Entry | None, method: str, path: str, name: str, body: bytes | None = None) -> Mark:
        """Send and record one request, of the file or (without entry) of the launch; JourneyError where it failed."""
        recorder, arrivals = self._recorder, self._arrivals
        if arrivals is not None:
            arrival = arrivals.take()
            self._due = arrival.ready
        mark = recorder.begin(self._due)
        if arrivals is not None:
            arrivals.begun(arrival, mark)
        lines = self._lines[mark[1]]
        if body is not None and self._page is not None:
            lines = f"{lines}Referer: {self._scenario.host}{self._page}\r\n"
        content_bytes = 0
        try:
            response = self._client.send(method, path, lines, body)
            micros = recorder.elapsed_micros(mark)
            content_bytes = len(response.body)
            failure = self._judge(entry, path, response)
        except HttpError as error:
            micros = recorder.elapsed_micros(mark)
            failure = Failure(error.kind, error.message)
        except BaseException:
            recorder.abandon(mark)
            raise
        self._due = mark[0] + micros * NANOS_PER_MICRO
        recorder.end(mark, method, name, micros, content_bytes=content_bytes, failure=failure)
        if failure is not None:
            raise JourneyError
        if arrivals is not None:
            arrivals.succeeded(arrival, mark, micros)
        return mark

    def _judge(self, entry: Entry | None, path: str, response: Response) -> Failure | None:
        """What is wrong with an answer. From a right one is kept what later requests need of it."""
        if entry is not None and entry.is_page:
            return self._judge_page(entry, path, response)
        if response.status != FOUND:
            return Failure("status", f"expected {FOUND}, got {response.status}")
        if entry is not None and entry.route is not None:
            try:
                self._values.update(entry.route.harvest(response.location or ""))
            except RouteMismatchError as error:
                return Failure("assertion", str(error))
        return None

    def _judge_page(self, entry: Entry, path: str, response: Response) -> Failure | None:
        if response.status != OK:
            return Failure("status", f"expected {OK}, got {response.status}")
        if not response.body:
            return Failure("assertion", "the page has no content")
        self._page = path
        if entry.wants_token:
            self._token = csrf_token(response.body)
            if self._token is None:
                return Failure("assertion", "the page has no csrf_token for the POST that follows")
        return None

    def _wait(self, seconds: float) -> None:
        self._due += int(seconds * _NANOS)
        self._sleep(max(0.0, (self._due - monotonic_ns()) / _NANOS))

    def _wait_seconds(self) -> int:
        return random.randint(self._scenario.wait_min, self._scenario.wait_max)  # noqa: S311 - not for secrecy


def csrf_token(page: bytes) -> str | None:
    """The value of the hidden input csrf_token of a page."""
    at = page.find(_TOKEN_NAME)
    end = page.find(b">", at)
    if 0 <= at < end:  # as nearly all pages have it; an expression takes several times as long to find it
        tag = page[page.rfind(b"<", 0, at) : end]
        value = tag.partition(b' value="')[2].partition(b'"')[0]
        if value and tag.startswith(b"<input "):
            return html.unescape(value.decode("utf-8", "replace"))
    found = _TOKEN_INPUT.search(page)
    quoted = _VALUE.search(found[0]) if found else None
    return html.unescape(quoted[1].decode("utf-8", "replace")) if quoted else None
