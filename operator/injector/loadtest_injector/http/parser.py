"""Where an answer begins and ends: the glue around llhttp, the parser of Node.js, in the form of `httptools`.

No sockets in it. llhttp checks every byte and frames the answer. Its callbacks are functions of C (`list.append`), so
an answer costs no call back into Python; headers are looked for in the bytes of the head, and only those that matter.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from loadtest_injector.http.errors import PROTOCOL, RESET, HttpError
from loadtest_injector.http.heads import tokens_of

MAX_HEAD_BYTES = 256 * 1024
"""Head of an answer, with interim answers before it and trailers after it."""

MAX_BODY_BYTES = 256 * 1024 * 1024
"""Body of an answer, before and after decompression."""

_BEGIN: Any = object()
_END: Any = object()
"""Marks of a message's begin and end among the pieces of its body."""

_EVENTS_OF_ONE = 3
"""Begin, body and end: an answer whose body came in one piece."""

_HEAD_END = b"\r\n\r\n"
_VERSION = b"HTTP/1."
_INTERIM = b"1"
_CONNECTION = b"\r\nconnection:"
_TRANSFER_ENCODING = b"\r\ntransfer-encoding:"
_KEEP_ALIVE = b"\r\nconnection: keep-alive\r\n"


class _Callbacks:
    """What httptools asks its protocol object for."""

    def __init__(self, events: list[bytes]) -> None:
        self.on_message_begin = partial(events.append, _BEGIN)
        self.on_body = events.append
        self.on_message_complete = partial(events.append, _END)


class ResponseParser:
    """Parses the answers of one connection, one after the other.

    `begin`, then `feed` until it says that the answer is whole, or `end_of_stream`. Then its are `status`, `head` (from
    the status line to the empty line), `lower` (the head in lower case) and `body` (chunks joined, not decompressed);
    `reusable` tells whether the connection may carry another request.
    """

    __slots__ = (
        "_events",
        "_head_only",
        "_interim",
        "_left",
        "_max_head",
        "_most",
        "_parser",
        "_partial",
        "_until_close",
        "body",
        "head",
        "lower",
        "reusable",
        "started",
        "status",
    )

    def __init__(self, max_head: int = MAX_HEAD_BYTES, max_body: int = MAX_BODY_BYTES) -> None:
        self._max_head = max_head
        self._most = max_head + max_body
        self._events: list[bytes] = []
        self._parser = HttpResponseParser(_Callbacks(self._events))
        self.begin()

    def begin(self, *, head_only: bool = False) -> None:
        """Expect a new answer; of a request by HEAD it has no body, whatever its headers say."""
        self._events.clear()
        self._head_only = head_only
        self._left = self._most
        self._partial = self.head = self.lower = self.body = b""
        self._interim = 0
        self._until_close = False
        self.reusable = False
        self.started = False
        self.status = 0

    def feed(self, data: bytes) -> bool:
        """Take what arrived; whether the answer is whole. HttpError where it is not HTTP/1 or above a limit."""
        self.started = True
        self._left -= len(data)
        if self.head:
            return self._feed_body(data)
        while True:
            head = self._partial + data if self._partial else data
            end = head.find(_HEAD_END) + 4
            if end < 4:  # noqa: PLR2004 - not found
                self._partial = head
                self._check_start(head, len(head))
                self._parse(data)
                return False
            self._check_start(head, end)
            behind = len(head) - end
            if head[9:10] != _INTERIM:
                self._parse(data[: len(data) - behind] if self._head_only else data)
                return self._head_read(head[:end], behind)
            # An answer with a status of 1xx is left out; what follows it is the next one.
            rest = head[end:]
            self._parse(data[: len(data) - behind])
            self._events.clear()
            self._partial = b""
            self._interim += end
            if not rest:
                return False
            data = rest

    def end_of_stream(self) -> None:
        """The other side sends no more. HttpError where the answer is not whole."""
        if not self.started:
            raise HttpError(RESET, "the connection was closed without an answer", unanswered=True)
        if not self._until_close:
            raise HttpError(RESET, "the connection was closed in the middle of the answer")
        self.body = b"".join(self._events[1:])

    def _check_start(self, head: bytes, size: int) -> None:
        if size + self._interim > self._max_head:
            raise HttpError(PROTOCOL, f"the head of the answer is longer than {self._max_head} bytes")
        if not _VERSION.startswith(head[:7]):
            raise HttpError(PROTOCOL, "the answer is not HTTP/1")

    def _head_read(self, head: bytes, behind: int) -> bool:
        self.head = head
        self.lower = lower = head.lower()
        self.status = int(head[9:12])  # llhttp has seen the digits; its own number may be that of a message behind this
        self.reusable = lower[7:8] == b"1"
        at = lower.find(_CONNECTION)
        if at >= 0:
            self._read_connection(head, lower, at)
        coded = _TRANSFER_ENCODING in lower
        if coded and tokens_of(head, lower, b"transfer-encoding") != ["chunked"]:
            raise HttpError(PROTOCOL, "the answer has a transfer coding other than chunked")
        if self._head_only:
            return self._whole_without_body(behind)
        events = self._events
        if events[-1] is _END or _END in events:
            return self._whole()
        if not coded and b"\r\ncontent-length:" not in lower:
            self._until_close = True
            self.reusable = False
        return self._more()

    def _read_connection(self, head: bytes, lower: bytes, at: int) -> None:
        # What nearly all servers say need not be taken apart.
        if lower.startswith(_KEEP_ALIVE, at) and lower.find(_CONNECTION, at + 9) < 0:
            self.reusable = True
        else:
            tokens = tokens_of(head, lower, b"connection")
            self.reusable = "close" not in tokens and (self.reusable or "keep-alive" in tokens)

    def _feed_body(self, data: bytes) -> bool:
        seen = len(self._events)
        self._parse(data)
        return self._whole() if _END in self._events[seen:] else self._more()

    def _more(self) -> bool:
        if self._left < 0:
            raise HttpError(PROTOCOL, f"the answer is longer than {self._most - self._max_head} bytes")
        return False

    def _whole(self) -> bool:
        if self._left < 0:
            return self._more()
        events = self._events
        if len(events) == _EVENTS_OF_ONE and events[-1] is _END:
            self.body = events[1]
            return True
        if events[-1] is not _END or events.count(_BEGIN) > 1:
            # More than was asked for: it is left, and the connection with it.
            del events[events.index(_END) + 1 :]
            self.reusable = False
        self.body = b"".join(events[1:-1])
        return True

    def _whole_without_body(self, behind: int) -> bool:
        if behind:
            self.reusable = False
        if _END not in self._events:
            # llhttp cannot be told of HEAD: it waits for a body. A new one takes its place.
            self._parser = HttpResponseParser(_Callbacks(self._events))
        return True

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as error:
            if self._events.count(_BEGIN) == 1:
                raise HttpError(PROTOCOL, "the answer switches to another protocol") from error
        except HttpParserError as error:
            if _END not in self._events:
                raise HttpError(PROTOCOL, f"the answer is not HTTP/1: {error.args[0] if error.args else ''}") from error
            self._events.append(b"")  # garbage after a whole answer: see _whole
