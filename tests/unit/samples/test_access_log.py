"""The access log: one line for each finished request, with nothing secret in it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from sample_runner.access_log import AccessLog


class Body:
    def __init__(self) -> None:
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        return iter([b"a", b"b"])

    def close(self) -> None:
        self.closed = True


class Log:
    """A logged application that answers with a body that must be closed."""

    def __init__(self) -> None:
        self.body = Body()
        self.lines: list[bytes] = []
        self.application = AccessLog(self.answer, self.lines.append)

    def answer(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/fails/":
            raise ZeroDivisionError
        start_response("302 FOUND", [])
        return self.body

    def serve(self, path: str, **environ: str) -> Any:
        return self.application(
            {"REQUEST_METHOD": "GET", "PATH_INFO": path, **environ},
            lambda *_: lambda _: None,  # type: ignore[arg-type]
        )


def test_a_finished_request_has_one_line() -> None:
    log = Log()
    response = log.serve("/page/", HTTP_X_LOADTEST_WINDOW="run/1/0/1/window", QUERY_STRING="token=secret")
    assert list(response) == [b"a", b"b"]
    assert log.lines == []
    response.close()
    response.close()
    assert log.body.closed
    (line,) = log.lines
    record = json.loads(line)
    duration = record.pop("duration_us")
    assert record == {"method": "GET", "path": "/page/", "status": 302, "window": "run/1/0/1/window"}
    assert 0 <= duration < 1_000_000
    assert line.endswith(b"\n")


def test_a_request_without_a_window_says_so() -> None:
    log = Log()
    log.serve("/page/").close()
    assert json.loads(log.lines[0])["window"] is None


def test_a_failed_request_is_logged_as_500() -> None:
    log = Log()
    with pytest.raises(ZeroDivisionError):
        log.serve("/fails/")
    assert json.loads(log.lines[0])["status"] == 500


def test_the_longest_line_goes_through_a_pipe_in_one_piece() -> None:
    log = Log()
    log.serve("\n\x00" * 5000, HTTP_X_LOADTEST_WINDOW="é\r" * 5000).close()
    (line,) = log.lines
    assert len(line) < 4096
    assert line.count(b"\n") == 1
