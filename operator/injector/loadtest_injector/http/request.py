"""Requests as bytes. What is the same for all requests to a site is prepared once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_CLEAN_TARGET = re.compile(r"[!\"$-~]*").fullmatch  # printable ASCII without the blank and the #
_CLEAN_VALUE = re.compile(r"[^\r\n\0]*").fullmatch
_CLEAN_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_TARGET_SAFE = "!#$%&'()*+,/:;=?@[]~\\^`{}|\"<>"
_PORTS = {"http": 80, "https": 443}
_BODY_METHODS = {"POST", "PUT", "PATCH"}


class Origin(NamedTuple):
    """Where a url leads: scheme (http or https), host name or address without brackets, port."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def https(self) -> bool:
        """Whether it is reached by TLS."""
        return self.scheme == "https"


def split_url(url: str) -> tuple[Origin, str]:
    """Origin and target (path and query, never empty) of an absolute url. ValueError where it is not http(s)."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"not an absolute http or https url: {url}")
    host = parts.hostname
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Origin(scheme, host, parts.port or _PORTS[scheme]), target


def clean_target(target: str) -> str:
    """The target of a request line: without fragment; what may not stand in one is percent-encoded."""
    if not _CLEAN_TARGET(target):
        target = target.partition("#")[0]
        target = quote(target, safe=_TARGET_SAFE, errors="surrogateescape")
    return target


class Heads:
    """The heads of requests to one origin. `defaults` are headers of every request; a request may replace them.

    A head is text: what stands between the target and the cookies, that is the version and header lines.
    """

    def __init__(self, origin: Origin, defaults: Mapping[str, str]) -> None:
        self._defaults = {"Host": origin.netloc}
        for name, value in defaults.items():
            _drop(self._defaults, name)
            self._defaults[name] = value
        self._lower = {name.lower() for name in self._defaults}
        self._prepared = self.without()

    def without(self, *names: str) -> str:
        """The head without the headers of these names."""
        kept = dict(self._defaults)
        for name in names:
            _drop(kept, name)
        return " HTTP/1.1\r\n" + _lines(kept)

    def head(self, headers: Mapping[str, str] | None) -> str:
        """The head of a request with these headers. ValueError where one would break out of its line."""
        if not headers:
            return self._prepared
        if self._lower.isdisjoint(map(str.lower, headers)):
            return self._prepared + _lines(headers)
        return self.without(*headers) + _lines(headers)


def request(method: str, target: str, head: str, cookie: str, body: bytes | None) -> bytes:
    """The bytes of a whole request. `head` is of `Heads`, `cookie` a line or empty."""
    if body is not None:
        text = f"{method} {target}{head}{cookie}Content-Length: {len(body)}\r\n\r\n"
        return text.encode("utf-8", "surrogateescape") + body
    length = "Content-Length: 0\r\n" if method in _BODY_METHODS else ""
    return f"{method} {target}{head}{cookie}{length}\r\n".encode("utf-8", "surrogateescape")


def _lines(headers: Mapping[str, str]) -> str:
    text = ""
    for name, value in headers.items():
        if not _CLEAN_VALUE(value) or not _CLEAN_NAME(name):
            raise ValueError(f"the header {name!r} has a name or a value that no header can have")
        text += f"{name}: {value}\r\n"
    return text


def _drop(headers: dict[str, str], name: str) -> None:
    for known in [known for known in headers if known.lower() == name.lower()]:
        del headers[known]
