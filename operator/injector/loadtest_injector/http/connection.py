"""One connection to a site: opened, used for one request after the other, closed."""

from __future__ import annotations

import _socket
import errno
import socket
import ssl
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

import gevent.socket
from gevent import get_hub
from gevent.monkey import get_original

from loadtest_injector.http.addresses import forbidden
from loadtest_injector.http.deadline import Deadline
from loadtest_injector.http.errors import REFUSED, RESET, HttpError, of_socket
from loadtest_injector.http.parser import MAX_BODY_BYTES, MAX_HEAD_BYTES, ResponseParser
from loadtest_injector.http.tls import TlsStream

_RECEIVE = 64 * 1024
_READ, _WRITE = 1, 2
_IN_PROGRESS = {errno.EINPROGRESS, errno.EWOULDBLOCK}
_poll = get_original("select", "poll")
_POLLIN = get_original("select", "POLLIN")


class Limits(NamedTuple):
    """Times are seconds. `request` bounds the whole of a request, redirects and a new connection included.

    `read` bounds each wait for more of an answer (None: only the whole is bounded).
    """

    connect: float = 60.0
    read: float | None = None
    request: float = 60.0
    max_head: int = MAX_HEAD_BYTES
    max_body: int = MAX_BODY_BYTES


class Connection:
    """A socket of the operating system with the hub's watchers: `open`, then `exchange` as often as `alive` says.

    gevent's own socket objects are not used: each of their calls costs more than the system's. After any exception of
    `open` and `exchange` the connection is closed.
    """

    __slots__ = (
        "_deadline",
        "_hub",
        "_limits",
        "_poller",
        "_readable",
        "_socket",
        "_stream",
        "_too_slow",
        "parser",
        "session",
        "used",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._too_slow = f"no whole answer within {limits.request:g} s"
        self._hub: Any = get_hub()
        self._deadline = Deadline(self._hub)
        self._socket: Any = None
        self._readable: Any = None
        self._poller: Any = None
        self._stream: TlsStream | None = None
        self.parser = ResponseParser(limits.max_head, limits.max_body)
        self.session: ssl.SSLSession | None = None
        self.used = False

    def open(
        self, host: str, port: int, due: float, tls: ssl.SSLContext | None = None, session: ssl.SSLSession | None = None
    ) -> None:
        """Look the host up, connect to the first of its addresses that answers, and shake hands where `tls` is given.

        `due` is the end of the whole request by time.monotonic(). HttpError where there is no connection.
        """
        limits = self._limits
        connect_due = monotonic() + limits.connect
        if connect_due < due:
            self._deadline.start(connect_due, f"no connection within {limits.connect:g} s")
        else:
            self._deadline.start(due, self._too_slow)
        try:
            self._connect(host, port)
            if tls is not None:
                self._stream = TlsStream(tls, host, session, self._send, self._receive)
                self._stream.handshake()
        except OSError as error:
            self.close()
            raise of_socket(error) from error
        except BaseException:
            self.close()
            raise
        self._deadline.stop()

    def exchange(self, request: bytes, due: float, *, head_only: bool) -> ResponseParser:
        """Send a request and read the answer to its end: the parser then holds it, until the next exchange."""
        parser, stream = self.parser, self._stream
        parser.begin(head_only=head_only)
        read = self._limits.read
        if read is None:
            self._deadline.start(due, self._too_slow)
        else:
            self._start_read(due, read)
        try:
            if stream is None:
                sent_all = self._send(request)
                self._read(self._receive, due, read)
            else:
                sent_all = stream.send(request)
                self._read(stream.receive, due, read)
        except OSError as error:
            self.close()
            raise of_socket(error, unanswered=not parser.started) from error
        except HttpError as error:
            self.close()
            error.unanswered = error.kind == RESET and not parser.started
            raise
        except BaseException:
            self.close()
            raise
        self._deadline.stop()
        self.used = True
        if not (parser.reusable and sent_all):
            self.close()
        return parser

    def _read(self, receive: Callable[[], bytes], due: float, read: float | None) -> None:
        feed = self.parser.feed
        while data := receive():
            if feed(data):
                return
            if read is not None:
                self._start_read(due, read)
        self.parser.end_of_stream()

    @property
    def alive(self) -> bool:
        """Whether a request can be sent: the other side has neither closed it nor sent what nobody asked for."""
        if self._socket is None:
            return False
        if not self._poller.poll(0):
            return True
        if self._stream is None:
            return False
        try:
            return self._stream.quiet_after(self._socket.recv(_RECEIVE))
        except OSError:
            return False

    @property
    def closed(self) -> bool:
        """Whether it is closed on this side."""
        return self._socket is None

    @property
    def resumed(self) -> bool:
        """Whether TLS went on with a session of before."""
        return self._stream is not None and self._stream.resumed

    def close(self) -> None:
        """Close it, and keep the TLS session for the next one; nothing happens where it is closed."""
        self._deadline.close()
        if self._stream is not None and self.used and self._socket is not None:
            self.session = self._stream.session
        if self._readable is not None:
            self._readable.close()
            self._readable = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _start_read(self, due: float, read: float) -> None:
        read_due = monotonic() + read
        if read_due < due:
            self._deadline.start(read_due, f"nothing more of the answer within {read:g} s")
        else:
            self._deadline.start(due, self._too_slow)

    def _connect(self, host: str, port: int) -> None:
        problem: OSError | None = None
        for family, address in _addresses(host, port):
            if why := forbidden(address[0]):
                raise HttpError(REFUSED, f"the target's address may not be loaded: it {why}")
            sock = _socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                self._finish_connect(sock, sock.connect_ex(address))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                sock.close()
                problem = error
            except BaseException:
                sock.close()
                raise
            else:
                self._socket = sock
                self._readable = self._hub.loop.io(sock.fileno(), _READ)
                self._poller = _poll()
                self._poller.register(sock.fileno(), _POLLIN)
                return
        try:
            if problem is not None and problem.errno in {errno.ECONNRESET, errno.ECONNABORTED}:
                raise HttpError(RESET, "the connection was reset while it was made")
            raise problem or HttpError(REFUSED, "the target's host name has no address")
        finally:
            problem = None  # an error that knows this frame, which knows the error, is garbage in a cycle

    def _finish_connect(self, sock: Any, code: int) -> None:
        if code in _IN_PROGRESS:
            self._wait(sock, _WRITE)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code == errno.ETIMEDOUT:
            raise TimeoutError(code, "no connection")
        if code:
            raise OSError(code, "no connection")

    def _wait(self, sock: Any, events: int) -> None:
        watcher = self._hub.loop.io(sock.fileno(), events)
        try:
            self._hub.wait(watcher)
        finally:
            watcher.close()

    def _receive(self) -> bytes:
        while True:
            self._hub.wait(self._readable)
            try:
                return self._socket.recv(_RECEIVE)  # type: ignore[no-any-return]
            except BlockingIOError:
                continue  # epoll may say so for nothing

    def _send(self, data: bytes) -> bool:
        """Send; whether all went out. Not where the answer begins before: the rest is then of no use to anybody."""
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except (BrokenPipeError, ConnectionResetError) as error:
            raise HttpError(RESET, "the connection was closed before the request", unsent=True) from error
        return sent == len(data) or self._send_rest(data, sent)

    def _send_rest(self, data: bytes, sent: int) -> bool:
        view = memoryview(data)
        while sent < len(data):
            self._wait(self._socket, _READ | _WRITE)
            try:
                sent += self._socket.send(view[sent:])
            except BlockingIOError:
                return False  # not writable, so readable
            except (BrokenPipeError, ConnectionResetError):
                return False  # what it answered before that may still be there
        return True


def _addresses(host: str, port: int) -> list[tuple[int, Any]]:
    """Families and addresses of a host, looked up each time: a rolling update moves them."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return [(family, (host, port))]
    try:
        found = gevent.socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
    except UnicodeError:
        raise HttpError(REFUSED, "the target's host name was not resolved") from None
    return [(entry[0], entry[4]) for entry in found]
