"""What `self.client` of a FastUser is: Locust's client API, with its request event, on an `HttpClient`."""

from __future__ import annotations

import json as json_module
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

from locust.exception import CatchResponseError, LocustError, ResponseError

from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.errors import HttpError
from loadtest_injector.http.response import Response

FORM_TYPE = "application/x-www-form-urlencoded"
_USE_WITH = "pass catch_response=True and use the request in a with-block to mark it as a success or a failure"

Params = Mapping[str, Any] | list[tuple[str, Any]] | str


class CaughtResponse(Response):
    """The answer to a request with catch_response=True: reported at the end of its with-block.

    There it is a success or a failure as `success()` or `failure(why)` said last; where neither was called, as its
    status says. An exception that leaves the block is not reported, but for Locust's ResponseError.
    """

    def __init__(self, response: Response, event: Any, meta: dict[str, Any]) -> None:
        super().__init__(
            response.status_code,
            response.head,
            response.content,
            *(response._site, response._target),  # noqa: SLF001
        )
        self.error = response.error
        self.request_meta = meta
        self._event = event
        self._entered = False
        self._result: bool | Exception | None = None

    def __enter__(self) -> Self:
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._result is not None:
            self._report(None if self._result is True else self._result)
            return kind is None
        if kind is None:
            try:
                super().raise_for_status()
            except Exception as problem:  # noqa: BLE001 - whatever it is, it is the result
                self._report(problem)
            else:
                self._report(None)
            return True
        if isinstance(error, ResponseError):
            self._report(error)
            return True
        return False

    def success(self) -> None:
        """Report it as a success, whatever its status is."""
        self._decide(result=True)

    def failure(self, error: object) -> None:
        """Report it as a failure: an exception, or a message."""
        self._decide(result=error if isinstance(error, Exception) else CatchResponseError(error))

    def raise_for_status(self) -> None:
        """Raise what `failure` was given, or else what the status says; nothing after `success`."""
        if isinstance(self._result, Exception):
            raise self._result
        if self._result is None:
            super().raise_for_status()

    def _decide(self, *, result: bool | Exception) -> None:
        if not self._entered:
            raise LocustError(_USE_WITH)
        self._result = result

    def _report(self, problem: object) -> None:
        self.request_meta["exception"] = problem
        self._event.fire(**self.request_meta)


class HttpSession:
    """The `client` of a user: each request fires Locust's request event once."""

    def __init__(self, base_url: str, request_event: Any, user: Any = None, **options: Any) -> None:
        """`options` are those of HttpClient. A user and password in the url become Basic authorization."""
        self.base_url, self._authorization = _without_credentials(base_url)
        self.http = HttpClient(self.base_url, **options)
        self.request_event = request_event
        self.request_name: str | None = None
        self.user = user

    @property
    def cookies(self) -> Any:
        """The cookies of this user."""
        return self.http.cookies

    cookiejar = cookies

    @contextmanager
    def rename_request(self, name: str) -> Iterator[None]:
        """Group the requests of a with-block under a name."""
        before, self.request_name = self.request_name, name
        try:
            yield
        finally:
            self.request_name = before

    def request(
        self,
        method: str,
        url: str,
        name: str | None = None,
        data: str | bytes | Mapping[str, Any] | list[tuple[str, Any]] | None = None,
        *,
        catch_response: bool = False,
        headers: Mapping[str, str] | None = None,
        auth: tuple[str | bytes, str | bytes] | None = None,
        json: Any = None,
        allow_redirects: bool = True,
        params: Params | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send a request to `url` (absolute, or appended to the host) and report it.

        Statistics group it under `name`, else `rename_request`'s, else the url. `data` is a form where it is a mapping
        or pairs; `json` is sent as JSON. Returns a Response also where none came: see its `error` and `status_code`.
        With catch_response a CaughtResponse, which is reported at the end of its with-block.
        """
        if params:
            query = params if isinstance(params, str) else urlencode(params, doseq=True)
            url = f"{url}{'&' if '?' in url else '?'}{query}"
        if auth is not None or self._authorization is not None:
            headers = _with_default(headers, "Authorization", _basic(*auth) if auth else str(self._authorization))
        body, headers = _body(data, json, headers)
        send = self.http.follow if allow_redirects else self.http.send
        error: Exception | None = None
        wall = time.time()
        start = time.perf_counter()
        try:
            response = send(method, url, headers, body)
        except HttpError as problem:
            error = problem
            response = Response(0, b"", None, "", url if "://" in url[:9] else self.base_url + url)
            response.error = error
        elapsed = time.perf_counter() - start
        if error is None and not response.ok:
            try:
                response.raise_for_status()
            except HttpError as problem:
                error = problem
        meta = {
            "request_type": method,
            "name": name or self.request_name or url,
            "context": self._context(context),
            "response": response,
            "exception": error,
            "start_time": wall,
            "url": response.url,
            "response_length": len(response.content or b""),
            "response_time": elapsed * 1000,
        }
        if catch_response:
            caught = CaughtResponse(response, self.request_event, meta)
            meta["response"] = caught
            return caught
        self.request_event.fire(**meta)
        return response

    def _context(self, context: Mapping[str, Any] | None) -> dict[str, Any]:
        own = self.user.context() if self.user is not None else {}
        return {**own, **context} if context else own

    def get(self, url: str, **options: Any) -> Any:
        """Send a GET; options are those of `request`."""
        return self.request("GET", url, **options)

    def head(self, url: str, **options: Any) -> Any:
        """Send a HEAD; options are those of `request`."""
        return self.request("HEAD", url, **options)

    def options(self, url: str, **options: Any) -> Any:
        """Send an OPTIONS; options are those of `request`."""
        return self.request("OPTIONS", url, **options)

    def delete(self, url: str, **options: Any) -> Any:
        """Send a DELETE; options are those of `request`."""
        return self.request("DELETE", url, **options)

    def post(self, url: str, data: Any = None, json: Any = None, **options: Any) -> Any:
        """Send a POST; options are those of `request`."""
        return self.request("POST", url, data=data, json=json, **options)

    def put(self, url: str, data: Any = None, **options: Any) -> Any:
        """Send a PUT; options are those of `request`."""
        return self.request("PUT", url, data=data, **options)

    def patch(self, url: str, data: Any = None, **options: Any) -> Any:
        """Send a PATCH; options are those of `request`."""
        return self.request("PATCH", url, data=data, **options)


def _body(data: Any, json: Any, headers: Mapping[str, str] | None) -> tuple[bytes | None, Mapping[str, str] | None]:
    """The bytes of a body, and the headers with its type."""
    if data is None or data in ("", b""):
        if json is None:
            return None, headers
        headers = _with_default(headers, "Content-Type", "application/json")
        return json_module.dumps(json).encode(), _with_default(headers, "Accept", "application/json")
    if isinstance(data, str):
        return data.encode(), headers
    if isinstance(data, bytes | bytearray):
        return bytes(data), headers
    return urlencode(data, doseq=True).encode(), _with_default(headers, "Content-Type", FORM_TYPE)


def _with_default(headers: Mapping[str, str] | None, name: str, value: str) -> Mapping[str, str]:
    given = headers or {}
    return given if name.lower() in map(str.lower, given) else {**given, name: value}


def _basic(user: str | bytes, password: str | bytes) -> str:
    pair = (part.encode() if isinstance(part, str) else part for part in (user, password))
    return f"Basic {b64encode(b':'.join(pair)).decode()}"


def _without_credentials(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
    if parts.username and parts.password:
        return bare, _basic(unquote(parts.username), unquote(parts.password))
    return bare, None
