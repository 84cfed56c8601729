from __future__ import annotations

import gzip
import hashlib
import io
import json
from http import HTTPStatus
from typing import Any

import pytest

from loadtest_injector.control import MAX_BODY_BYTES, ControlPort, Key, Refused
from loadtest_injector.order import StageOrder

TOKEN = "t0ken"  # noqa: S105
ORDER = {"injectors": 1, "users": 2, "spawnRate": 2, "expectedWorkers": ["a"], "durationSeconds": 1}


class FakeStages:
    repeat = 3

    def __init__(self) -> None:
        self.orders: dict[Key, StageOrder] = {}
        self.stopped: list[Key] = []

    def status(self) -> dict[str, Any]:
        return {"repeat": 3}

    def start(self, key: Key, order: StageOrder) -> dict[str, Any]:
        self.orders[key] = order
        return {"state": "joining"}

    def progress(self, key: Key) -> dict[str, Any]:
        if key not in self.orders:
            raise Refused(HTTPStatus.NOT_FOUND, "NotFound", "never started")
        return {"state": "window"}

    def record(self, key: Key) -> bytes:
        return gzip.compress(b'{"format": "x"}')

    def stop(self, key: Key) -> dict[str, Any]:
        self.stopped.append(key)
        return {"state": "stopped"}


@pytest.fixture
def stages():
    return FakeStages()


def call(
    stages: FakeStages,
    method: Any,
    path: Any,
    body: Any = None,
    *,
    token: Any = TOKEN,
    length: Any = None,
    **environ: Any,
):
    """One request; returns status, headers and body."""
    port = ControlPort(stages, hashlib.sha256(TOKEN.encode()).hexdigest().upper())
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    answer: list[Any] = []
    content = b"".join(
        port(
            {
                "REQUEST_METHOD": method,
                "PATH_INFO": path,
                "HTTP_AUTHORIZATION": f"Bearer {token}",
                "CONTENT_LENGTH": str(len(data)) if length is None else length,
                "wsgi.input": io.BytesIO(data),
            }
            | environ,
            lambda status, headers: answer.extend((int(status[:3]), dict(headers))),
        )
    )
    assert answer[1]["Content-Length"] == str(len(content))
    return answer[0], answer[1], content


def test_an_order_is_handed_on(stages: FakeStages):
    status, headers, content = call(stages, "PUT", "/v1/stages/3/0/2", ORDER)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(content) == {"state": "joining"}
    assert stages.orders[Key(0, 2)].users == 2


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason", "message"),
    [
        ("PUT", "/v1/stages/3/0/1", ORDER | {"users": 0}, 400, "BadRequest", "users: must be a whole number"),
        ("PUT", "/v1/stages/3/0/1", b"{", 400, "BadRequest", "not JSON"),
        ("PUT", "/v1/stages/3/0/1", b"[" * 100_000, 400, "BadRequest", "not JSON"),
        ("PUT", "/v1/stages/3/0/1", b"\xff", 400, "BadRequest", "not JSON"),
        ("PUT", "/v1/stages/3/0/1", b" " * (MAX_BODY_BYTES + 1), 400, "BadRequest", "at most"),
        ("PUT", "/v1/stages/4/0/1", ORDER, 404, "NotFound", "repeat 3 alone"),
        ("PUT", "/v1/stages/3/-1/1", ORDER, 404, "NotFound", "whole numbers"),
        ("PUT", "/v1/stages/3/0/0", ORDER, 404, "NotFound", "from 1"),
        ("PUT", "/v1/stages/3/0", ORDER, 404, "NotFound", "no such path"),
        ("PUT", "/v1/stages/3/0/1/record", ORDER, 405, "MethodNotAllowed", "GET"),
        ("POST", "/v1/stages/3/0/1", ORDER, 405, "MethodNotAllowed", "GET"),
        ("POST", "/v1/status", None, 405, "MethodNotAllowed", "GET"),
        ("GET", "/v1/stages/3/0/1", None, 404, "NotFound", "never started"),
        ("GET", "/v1/stages/3/0/1/records", None, 404, "NotFound", "no such path"),
        ("GET", "/", None, 404, "NotFound", "no such path"),
    ],
)
def test_what_cannot_be_done_is_answered_with_status_reason_and_message(
    stages: FakeStages, method: Any, path: Any, body: Any, status: Any, reason: Any, message: Any
):
    given, _, content = call(stages, method, path, body)
    error = json.loads(content)["error"]
    assert (given, error["reason"]) == (status, reason)
    assert message in error["message"]
    assert stages.orders == {}


def test_a_body_of_unknown_length_is_refused(stages: FakeStages):
    assert call(stages, "PUT", "/v1/stages/3/0/1", ORDER, length="")[0] == 400
    assert call(stages, "PUT", "/v1/stages/3/0/1", ORDER, length="-5")[0] == 400


@pytest.mark.parametrize("token", ["", "wrong", "t0ken ", "T0KEN", "tökén"])
@pytest.mark.parametrize("path", ["/v1/status", "/v1/stages/3/0/1", "/", "/v1/stages/3/0/1/record"])
def test_nothing_but_health_is_answered_without_the_token(stages: FakeStages, token: Any, path: Any):
    assert call(stages, "GET", path, token=token)[0] == 401
    assert call(stages, "GET", path, HTTP_AUTHORIZATION="Basic dDpr")[0] == 401
    assert call(stages, "GET", "/healthz", token=token)[0] == 200


def test_a_record_is_gzipped_where_that_is_accepted_and_plain_elsewhere(stages: FakeStages):
    _, headers, content = call(stages, "GET", "/v1/stages/3/0/1/record", HTTP_ACCEPT_ENCODING="gzip, br")
    assert headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(content)) == {"format": "x"}
    _, headers, content = call(stages, "GET", "/v1/stages/3/0/1/record")
    assert "Content-Encoding" not in headers
    assert json.loads(content) == {"format": "x"}


def test_delete_stops_the_stage(stages: FakeStages):
    assert call(stages, "DELETE", "/v1/stages/3/5/1")[0] == 200
    assert stages.stopped == [Key(5, 1)]


def test_a_bug_is_answered_without_its_details(stages: FakeStages):
    stages.status = None
    status, _, content = call(stages, "GET", "/v1/status")
    assert status == 500
    assert "NoneType" not in content.decode()
