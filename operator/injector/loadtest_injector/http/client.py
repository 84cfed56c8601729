"""The client of one user: its cookies, its connections, redirects, and what is sent a second time."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from time import monotonic
from urllib.parse import urljoin

from loadtest_injector.http.connection import Connection, Limits
from loadtest_injector.http.cookies import Cookies
from loadtest_injector.http.errors import PROTOCOL, HttpError
from loadtest_injector.http.heads import values_of
from loadtest_injector.http.parser import ResponseParser
from loadtest_injector.http.request import Heads, Origin, clean_target, request, split_url
from loadtest_injector.http.response import ACCEPT_ENCODING, Response, decoded
from loadtest_injector.http.tls import client_context

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER = 303
_KEEP_METHOD = {307, 308}
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"})
_DEFAULTS = {"User-Agent": "loadtest-injector", "Accept-Encoding": ACCEPT_ENCODING}


class _Site:
    """An origin with what is prepared for it and its idle connections."""

    __slots__ = ("heads", "host", "https", "idle", "origin", "session", "url")

    def __init__(self, origin: Origin, defaults: Mapping[str, str]) -> None:
        self.origin = origin
        self.url = f"{origin.scheme}://{origin.netloc}"
        self.host = origin.host
        self.https = origin.https
        self.heads = Heads(origin, defaults)
        self.idle: list[Connection] = []
        self.session: ssl.SSLSession | None = None


class HttpClient:
    """Sends requests of one user, each over a connection that it kept or a new one.

    `base` is what urls that begin with a slash are appended to. `headers` go with every request. `tls` is a context, or
    what makes one when it is needed; without it certificates are verified by the public authorities. Several greenlets
    may share a client: each gets a connection.

    A request is sent a second time only where the target cannot have done it: on a kept connection that turned out to
    be closed before a byte was sent; and where `resend` is set and the method is idempotent, also where a kept
    connection ended without a byte of an answer (the target had closed it while the request was under way). `resent`
    counts those of the second kind, which the target may have seen twice.
    """

    def __init__(
        self,
        base: str,
        *,
        tls: ssl.SSLContext | Callable[[], ssl.SSLContext] = client_context,
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        secure_cookies_over_http: bool = False,
        resend: bool = True,
        max_redirects: int = 30,
    ) -> None:
        origin, path = split_url(base)
        self._defaults = {**_DEFAULTS, **(headers or {})}
        self._base = _Site(origin, self._defaults)
        self._prefix = path.rstrip("/")
        self._sites = {origin: self._base}
        self._tls = tls
        self._limits = limits or Limits()
        self._resend = resend
        self._max_redirects = max_redirects
        self.cookies = Cookies(secure_over_http=secure_cookies_over_http)
        self.resent = 0

    def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Response:
        """Send one request and read the answer to its end, whatever its status. HttpError where there is none."""
        return self._send(method, *self._resolve(url), headers, body, monotonic() + self._limits.request)

    def follow(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Response:
        """As `send`, and follow redirects on the same host as browsers do; all of it within one request's time."""
        due = monotonic() + self._limits.request
        site, target = self._resolve(url)
        for _ in range(self._max_redirects + 1):
            response = self._send(method, site, target, headers, body, due)
            location = response.headers.get("location") if response.status_code in REDIRECTS else None
            if location is None:
                return response
            if response.status_code not in _KEEP_METHOD and (method == "POST" or response.status_code == _SEE_OTHER):
                method, body = ("HEAD" if method == "HEAD" else "GET"), None
                headers = _without(headers, {"content-type", "content-length"})
            before = site
            try:
                site, target = self._resolve(urljoin(response.url, location))
            except ValueError:
                raise HttpError(PROTOCOL, "the redirect leads to no http url") from None
            if site.host != before.host:  # what was allowed is the load of one host
                raise HttpError(PROTOCOL, "the redirect leads to another host")
            if site is not before:
                headers = _without(headers, {"authorization", "cookie"})
        raise HttpError(PROTOCOL, f"more than {self._max_redirects} redirects")

    def head_without(self, *names: str) -> str:
        """The head of requests to the base without these headers: what `exchange` takes, more lines appended."""
        return self._base.heads.without(*names)

    def exchange(self, method: str, path: str, head: str, body: bytes | None) -> ResponseParser:
        """As `send` to a path of the base, for those who prepare their heads and read the answer where it was parsed.

        It stands there until the next request, its body decoded.
        """
        due = monotonic() + self._limits.request
        return self._exchange(self._base, method, clean_target(self._prefix + path), head, body, due)

    def close(self) -> None:
        """Close the connections that are not in use. The client stays usable."""
        for site in self._sites.values():
            while site.idle:
                self._drop(site, site.idle.pop())

    def _resolve(self, url: str) -> tuple[_Site, str]:
        if url[:1] == "/":
            return self._base, clean_target(self._prefix + url)
        if "://" not in url[:9]:
            return self._base, clean_target(
                f"{self._prefix}/{url}" if url[:1] != "?" else f"{self._prefix or '/'}{url}"
            )
        origin, target = split_url(url)
        site = self._sites.get(origin)
        if site is None:
            site = self._sites[origin] = _Site(origin, self._defaults)
        return site, clean_target(target)

    def _send(
        self, method: str, site: _Site, target: str, headers: Mapping[str, str] | None, body: bytes | None, due: float
    ) -> Response:
        answer = self._exchange(site, method, target, site.heads.head(headers), body, due)
        return Response(answer.status, answer.head, answer.body, site.url, target)

    def _exchange(
        self, site: _Site, method: str, target: str, head: str, body: bytes | None, due: float
    ) -> ResponseParser:
        cookies = self.cookies
        cookie = cookies.line(site.host, target, https=site.https)
        answer = self._carry(site, method, request(method, target, head, cookie, body), due)
        lower = answer.lower
        if b"\r\nset-cookie:" in lower:
            for value in values_of(answer.head, lower, b"set-cookie"):
                cookies.receive(value, site.host, target, https=site.https)
        if b"\r\ncontent-encoding:" in lower:
            answer.body = decoded(answer.head, lower, answer.body, self._limits.max_body)
        return answer

    def _carry(self, site: _Site, method: str, data: bytes, due: float) -> ResponseParser:
        """Send a request over an idle connection that still lives, else over a new one."""
        idle = site.idle
        while idle:
            connection = idle.pop()
            if not connection.alive:
                self._drop(site, connection)
                continue
            try:
                return self._use(site, connection, method, data, due)
            except HttpError as error:
                if error.unsent:
                    continue
                if not (error.unanswered and self._resend and method in _IDEMPOTENT):
                    raise
                self.resent += 1
                break
        connection = Connection(self._limits)
        origin = site.origin
        tls = self._context() if site.https else None
        connection.open(origin.host, origin.port, due, tls, site.session)
        return self._use(site, connection, method, data, due)

    def _use(self, site: _Site, connection: Connection, method: str, data: bytes, due: float) -> ResponseParser:
        try:
            return connection.exchange(data, due, head_only=method == "HEAD")
        finally:
            if connection.closed:
                self._drop(site, connection)
            else:
                site.idle.append(connection)

    def _drop(self, site: _Site, connection: Connection) -> None:
        connection.close()
        site.session = connection.session or site.session

    def _context(self) -> ssl.SSLContext:
        if not isinstance(self._tls, ssl.SSLContext):
            self._tls = self._tls()
        return self._tls


def _without(headers: Mapping[str, str] | None, names: set[str]) -> Mapping[str, str] | None:
    return {name: value for name, value in headers.items() if name.lower() not in names} if headers else headers
