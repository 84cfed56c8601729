"""One JSON line on standard output for each finished request, the same under every web server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_STANDARD_OUTPUT = 1
# With every character escaped to six, a line stays under the 4,096 bytes that a pipe takes in one piece.
_MAX_PATH = 400
_MAX_WINDOW = 128


class AccessLog:
    """WSGI middleware that logs method, path, status, duration and X-LoadTest-Window when a response has been sent.

    The query string is left out: that of /session is a secret. A line goes out in a single write, so that the lines
    of several processes do not mix and can be counted.
    """

    def __init__(self, application: WSGIApplication, write: Callable[[bytes], object] | None = None) -> None:
        self._application = application
        self._write = write or _write_to_standard_output

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request; its line is written when the web server closes the response."""
        started = time.perf_counter_ns()
        status = "500"

        def note_status(line: str, *arguments: Any) -> Any:
            nonlocal status
            status = line
            return start_response(line, *arguments)

        def log() -> None:
            micros = (time.perf_counter_ns() - started) // 1000
            self._write(_line(environ, int(status[:3]), micros))

        try:
            body = self._application(environ, note_status)
        except BaseException:
            log()
            raise
        return _Response(body, log)


class _Response:
    """A response body that tells when it is closed, once."""

    def __init__(self, body: Iterable[bytes], closed: Callable[[], None]) -> None:
        self._body = body
        self._closed: Callable[[], None] | None = closed

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        closed, self._closed = self._closed, None
        try:
            if close := getattr(self._body, "close", None):
                close()
        finally:
            if closed:
                closed()


def _line(environ: WSGIEnvironment, status: int, micros: int) -> bytes:
    window = environ.get("HTTP_X_LOADTEST_WINDOW")
    record = {
        "method": environ["REQUEST_METHOD"][:16],
        "path": environ.get("PATH_INFO", "")[:_MAX_PATH],
        "status": status,
        "duration_us": micros,
        "window": window[:_MAX_WINDOW] if window is not None else None,
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _write_to_standard_output(line: bytes) -> None:
    os.write(_STANDARD_OUTPUT, line)
