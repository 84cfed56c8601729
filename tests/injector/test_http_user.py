"""FastUser: Locust's client API and its request event; the same locustfile for FastHttpUser and for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from locust.contrib.fasthttp import FastHttpUser
from locust.env import Environment
from locust.exception import CatchResponseError, LocustError, StopTest

from loadtest_injector.http import FastUser
from loadtest_injector.http.errors import kind_of
from tests.injector.http_target import CLOSE, OK, Target

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")
NOT_FOUND = b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    yield target
    while OPEN:
        OPEN.pop().close()
    target.stop()


OPEN: list[Any] = []
"""Clients of this test."""


class Stand:
    """A user of a class, without a runner, and the events that its requests fire."""

    def __init__(self, base: type[Any], url: str, **attributes: Any) -> None:
        kind = type("ThisUser", (base,), {"host": url, **attributes})
        environment = Environment(user_classes=[kind])
        self.events: list[dict[str, Any]] = []
        environment.events.request.add_listener(lambda **facts: self.events.append(facts))
        self.user = kind(environment)
        self.client = self.user.client
        OPEN.append(self.client.http if base is FastUser else self.client.client)

    @property
    def told(self) -> list[tuple[str, str, str | None, int]]:
        return [
            (
                e["request_type"],
                e["name"],
                type(e["exception"]).__name__ if e["exception"] else None,
                e["response_length"],
            )
            for e in self.events
        ]


def drive(client: Any) -> None:
    """What a locustfile does."""
    client.get("/a")
    client.get("/a?b=1", name="/a?b=[b]")
    with client.get("/b", catch_response=True) as response:
        assert response.text == "hi"
        response.failure("not what was wanted")
    with client.get("/missing", catch_response=True) as response:
        assert response.status_code == 404
        response.success()
    with client.get("/c", catch_response=True):
        pass
    with client.rename_request("renamed"):
        client.put("/d", data="x")
    client.post("/form", data={"a": "b c"}, headers={"X-One": "1"})
    client.post("/json", json={"a": [1]})
    client.request("PATCH", "/p", data=b"bytes", auth=("me", "pw"))
    client.delete("/e")
    client.options("/f")
    client.head("/g")


def scripts() -> list[Any]:
    answers: list[Any] = [[OK] for _ in range(12)]
    answers[3] = [NOT_FOUND]
    answers[11] = [b"HTTP/1.1 200 OK\r\n\r\n", CLOSE]
    return answers


def test_a_locustfile_tells_the_same_on_fast_http_user_and_on_this(target: Target):
    told, sent = [], []
    for base in (FastHttpUser, FastUser):
        target.scripts[:] = scripts()
        target.requests.clear()
        stand = Stand(base, target.url)
        drive(stand.client)
        told.append(stand.told)
        sent.append([(request.split(b" HTTP")[0], request.split(b"\r\n\r\n")[1]) for request in target.requests])
        headers = b"".join(target.requests).lower()
        for line in (b"x-one: 1", b"content-type: application/json", b"authorization: basic bwu6chc="):
            assert line in headers
        assert b"content-type: application/x-www-form-urlencoded" in headers
    assert told[0] == told[1]
    assert [(a, b.replace(b" ", b"")) for a, b in sent[0]] == [(a, b.replace(b" ", b"")) for a, b in sent[1]]


def test_events_carry_what_locust_documents(target: Target):
    target.scripts[:] = [[0.05, OK]]
    stand = Stand(FastUser, target.url)
    answer = stand.client.get("/a", context={"k": "v"})
    event = stand.events[0]
    assert set(event) == {
        *("request_type", "name", "context", "response", "exception", "start_time", "url"),
        *("response_length", "response_time"),
    }
    assert (event["url"], event["context"], event["response"]) == (f"{target.url}/a", {"k": "v"}, answer)
    assert 50 <= event["response_time"] < 500


def test_failures_are_events_with_a_kind_and_an_empty_answer(target: Target):
    stand = Stand(FastUser, target.url, request_timeout=0.2)
    target.scripts[:] = [[CLOSE], [NOT_FOUND], [0.6], [b"nonsense"], [OK]]
    kinds = []
    for _ in range(4):
        answer = stand.client.get("/")
        kinds.append((kind_of(stand.events[-1]["exception"]), answer.status_code, answer.ok, answer.content))
    assert kinds == [
        ("reset", 0, False, None),
        ("status", 404, False, b"no"),
        ("timeout", 0, False, None),
        ("protocol", 0, False, None),
    ]
    with stand.client.get("/", catch_response=True) as caught:
        caught.failure("not mine")
    assert isinstance(stand.events[-1]["exception"], CatchResponseError)
    assert kind_of(stand.events[-1]["exception"]) == "assertion"


def test_an_exception_in_a_with_block_goes_on_and_is_not_reported(target: Target):
    stand = Stand(FastUser, target.url)

    class MineError(Exception):
        pass

    with pytest.raises(MineError), stand.client.get("/", catch_response=True):
        raise MineError
    assert stand.events == []
    caught = stand.client.get("/", catch_response=True)
    with pytest.raises(LocustError, match="with-block"):
        caught.success()


def test_rest_reads_json_and_reports_what_is_none(target: Target):
    json_answer = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    target.scripts[:] = [[json_answer], [OK]]
    stand = Stand(FastUser, target.url)
    with stand.user.rest("GET", "/json") as answer:
        assert answer.js == {"a": 1}
    with stand.user.rest("GET", "/text"):
        pass
    assert [event["exception"] is None for event in stand.events] == [True, False]


def test_redirects_are_followed_unless_told_otherwise_and_cookies_kept(target: Target):
    found = b"HTTP/1.1 302 Go\r\nLocation: /there\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"
    target.scripts[:] = [[found], [OK], [found]]
    stand = Stand(FastUser, f"{target.url}/base", default_headers={"X-Run": "7"})
    assert stand.client.get("/go", params={"q": "a b"}).content == b"hi"
    assert stand.client.get("/go", allow_redirects=False).headers["location"] == "/there"
    assert [request.split(b" ")[1] for request in target.requests] == [b"/base/go?q=a+b", b"/there", b"/base/go"]
    assert all(b"X-Run: 7\r\n" in request for request in target.requests)
    assert stand.client.cookies.get("a") == "b"
    assert len(stand.events) == 2


def test_credentials_of_the_host_are_authorization_and_a_missing_host_stops_the_test(target: Target):
    stand = Stand(FastUser, target.url.replace("http://", "http://me:p%40ss@"))
    stand.client.get("/")
    assert b"Authorization: Basic bWU6cEBzcw==\r\n" in target.requests[0]
    with pytest.raises(StopTest):
        Stand(FastUser, target.url, host=None)


LOCUSTFILE = """
import gevent
from locust import constant, task
from loadtest_injector.http import FastUser

class Visitor(FastUser):
    wait_time = constant(0)
    visits = 0

    @task
    def visit(self):
        with self.client.get("/page", catch_response=True) as answer:
            if answer.text != "hi":
                answer.failure("another page")
        self.client.post("/form", data={"a": "b"}, name="the form")
        Visitor.visits += 1
        if Visitor.visits == 200:
            gevent.spawn(self.environment.runner.quit)
"""


class TestLocust:
    server: ClassVar[str] = (
        "import gevent; from tests.injector.http_target import Target; target = Target(); "
        "print(target.port, flush=True); gevent.sleep(120)"
    )

    def test_locust_itself_runs_a_locustfile_with_this_base_class(self, tmp_path: Path):
        (tmp_path / "locustfile.py").write_text(LOCUSTFILE)
        root = Path(__file__).parents[2]
        environment = {**os.environ, "PYTHONPATH": f"{root}:{root}/operator/injector"}
        server = subprocess.Popen(
            [sys.executable, "-c", self.server], env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            command = [sys.executable, "-m", "locust", "--headless", "-u", "5", "-r", "5", "-t", "90", "--json"]
            command += ["--host", f"http://127.0.0.1:{port}", "-f", "locustfile.py"]
            run = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
            )
        finally:
            server.kill()
            server.communicate()
        assert run.returncode == 0, run.stderr
        rows = {(row["method"], row["name"]): row for row in json.loads(run.stdout)}
        assert set(rows) == {("GET", "/page"), ("POST", "the form")}
        assert all(row["num_requests"] >= 200 and row["num_failures"] == 0 for row in rows.values()), rows
