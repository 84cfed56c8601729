"""Requests as bytes. What is the same for all requests to a site is prepared once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_CLEAN_TARGET = re.compile(r"[!-~]*").fullmatch  # printable ASCII without the blank
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
    if "#" in target:
        target = target.partition("#")[0]
    if not _CLEAN_TARGET(target):
        target = quote(target, safe=_TARGET_SAFE)
    return target


class Heads:
    """The heads of requests to one origin. `defaults` are headers of every request; a request may replace them."""

    def __init__(self, origin: Origin, defaults: Mapping[str, str]) -> None:
        self._defaults = {"Host": origin.netloc}
        for name, value in defaults.items():
            _drop(self._defaults, name)
            self._defaults[name] = value
        self._lower = {name.lower() for name in self._defaults}
        self._prepared = " HTTP/1.1\r\n" + _lines(self._defaults)

    def request(
        self, method: str, target: str, headers: Mapping[str, str] | None, cookie: str, body: bytes | None
    ) -> bytes:
        """The whole request. `cookie` is a line or empty. ValueError where a header would break out of its line."""
        prepared = self._prepared
        extra = ""
        if headers:
            if not self._lower.isdisjoint(map(str.lower, headers)):
                merged = dict(self._defaults)
                for name in headers:
                    _drop(merged, name)
                prepared = " HTTP/1.1\r\n" + _lines(merged)
            extra = _lines(headers)
        if body is None:
            length = "Content-Length: 0\r\n" if method in _BODY_METHODS else ""
            return f"{method} {target}{prepared}{extra}{cookie}{length}\r\n".encode("utf-8", "surrogateescape")
        head = f"{method} {target}{prepared}{extra}{cookie}Content-Length: {len(body)}\r\n\r\n"
        return head.encode("utf-8", "surrogateescape") + body


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
