"""Answers: what came over the wire, decoded when it is whole, its headers read when they are asked for."""

from __future__ import annotations

import json
import re
import zlib
from importlib import import_module
from typing import Any

from loadtest_injector.http.errors import PROTOCOL, STATUS, HttpError
from loadtest_injector.http.heads import Headers, tokens_of

try:
    brotli: Any = import_module("brotli")
except ImportError:  # an extra: without it `br` is not offered to targets
    brotli = None

ACCEPT_ENCODING = "gzip, deflate" if brotli is None else "gzip, deflate, br"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.ASCII | re.IGNORECASE)
_AUTO_GZIP = 32 + zlib.MAX_WBITS
_LEAST_ERROR = 400


class Response:
    """An answer. One that never came has the status 0, no content, and `error`, as with Locust's FastHttpUser."""

    __slots__ = ("_headers", "_site", "_target", "content", "encoding", "error", "head", "status_code")

    def __init__(self, status: int, head: bytes, content: bytes | None, site: str, target: str) -> None:
        self.status_code = status
        self.head = head
        self.content = content
        self._site = site
        self._target = target
        self.encoding: str | None = None
        self.error: Exception | None = None
        self._headers: Headers | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} [{self.status_code}]>"

    @property
    def url(self) -> str:
        """The url that gave this answer: after redirects, the last one."""
        return self._site + self._target

    @property
    def headers(self) -> Headers:
        """The headers, by name in any case."""
        if self._headers is None:
            self._headers = Headers(self.head)
        return self._headers

    @property
    def ok(self) -> bool:
        """Whether there is an answer with a status below 400."""
        return self.error is None and self.status_code < _LEAST_ERROR

    @property
    def text(self) -> str | None:
        """The content as text, by `encoding` where that is set, the charset of Content-Type, else UTF-8."""
        if self.content is None:
            return None
        encoding = self.encoding
        if encoding is None:
            found = _CHARSET.search(self.headers.get("content-type", ""))
            encoding = found[1] if found else "utf-8"
        try:
            return self.content.decode(encoding, "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    def json(self, **options: Any) -> Any:
        """The content read as JSON; ValueError where it is none."""
        return json.loads(self.content or b"", **options)

    def raise_for_status(self) -> None:
        """Raise the error of a request that failed; HttpError of kind status from 400 on."""
        if self.error is not None:
            raise self.error
        if self.status_code >= _LEAST_ERROR:
            raise HttpError(STATUS, f"status {self.status_code}")


def decoded(head: bytes, lower: bytes, body: bytes, limit: int) -> bytes:
    """The content of a body as its Content-Encoding says. HttpError where it is damaged, unknown or above `limit`."""
    if not body or b"\r\ncontent-encoding:" not in lower:
        return body
    codings = [coding for coding in tokens_of(head, lower, b"content-encoding") if coding != "identity"]
    for coding in reversed(codings):
        try:
            body = _decode(coding, body, limit)
        except zlib.error as error:
            raise HttpError(PROTOCOL, f"the content is not {coding}") from error
    return body


def _decode(coding: str, body: bytes, limit: int) -> bytes:
    if coding in {"gzip", "x-gzip"}:
        return _gunzip(body, limit)
    if coding == "deflate":
        # By the standard that is zlib's format; many a server sends the bare one. The first bytes tell them apart.
        bare = len(body) < 2 or body[0] & 0x0F != zlib.DEFLATED or (body[0] << 8 | body[1]) % 31  # noqa: PLR2004
        return _inflate(zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS), body, limit, coding)
    if coding == "br" and brotli is not None:
        return _unbrotli(body, limit)
    raise HttpError(PROTOCOL, f"the content has an encoding that was not asked for: {coding[:20]}")


def _gunzip(body: bytes, limit: int) -> bytes:
    decompressor = zlib.decompressobj(_AUTO_GZIP)
    content = _inflate(decompressor, body, limit, "gzip")
    while decompressor.unused_data.startswith(b"\x1f\x8b"):  # another member
        rest = decompressor.unused_data
        decompressor = zlib.decompressobj(_AUTO_GZIP)
        content += _inflate(decompressor, rest, limit - len(content), "gzip")
    return content


def _inflate(decompressor: Any, body: bytes, limit: int, coding: str) -> bytes:
    content: bytes = decompressor.decompress(body, limit + 1)
    if len(content) > limit:
        raise HttpError(PROTOCOL, f"the content is longer than {limit} bytes")
    if not decompressor.eof:
        raise HttpError(PROTOCOL, f"the content is not {coding}: it ends too early")
    return content


def _unbrotli(body: bytes, limit: int) -> bytes:
    decompressor = brotli.Decompressor()
    pieces, size = [], 0
    data = body
    try:
        while not decompressor.is_finished():
            piece = decompressor.process(data, output_buffer_limit=64 * 1024)
            data = b""
            if not piece and decompressor.can_accept_more_data():
                raise HttpError(PROTOCOL, "the content is not br: it ends too early")
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise HttpError(PROTOCOL, f"the content is longer than {limit} bytes")
    except brotli.error as error:
        raise HttpError(PROTOCOL, "the content is not br") from error
    return b"".join(pieces)
