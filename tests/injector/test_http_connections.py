"""The client against a server that misbehaves on purpose: connections, retries, time, limits."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import gevent.socket
import pytest

from loadtest_injector.http import connection
from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.connection import Limits
from loadtest_injector.http.errors import HttpError
from tests.injector.http_target import CLOSE, HANG, OK, RESET, Target, open_files, read_request, reset

CLOSING = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
Make = Callable[..., tuple[Target, HttpClient]]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes a target with its scripts and a client of it; afterwards no socket is left."""
    made: list[tuple[Target, HttpClient]] = []
    gc.collect()

    def pair(*scripts: Any, url: str | None = None, **options: Any) -> tuple[Target, HttpClient]:
        target = Target(*scripts)
        options = {"limits": Limits(connect=2, request=3)} | options
        made.append((target, HttpClient(url or target.url, **options)))
        return made[-1]

    yield pair
    for target, client in made:
        client.close()
        target.stop()


def failure(client: HttpClient, method: str = "GET", path: str = "/", body: bytes | None = None) -> HttpError:
    with pytest.raises(HttpError) as failed:
        client.send(method, path, None, body)
    return failed.value


def test_requests_share_a_connection_until_it_ends(make: Make):
    target, client = make([OK], [OK], [CLOSING], [OK], [b"HTTP/1.1 200 OK\r\n\r\nbye", CLOSE])
    bodies = [client.send("GET", f"/{n}").content for n in range(6)]
    assert bodies == [b"hi", b"hi", b"hi", b"hi", b"bye", b"hi"]
    assert (target.connections, len(target.requests), client.resent) == (3, 6, 0)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_connection_that_ended_while_idle_is_replaced_for_every_method(make: Make, method: str, end: str):
    target, client = make([OK, 0.02, end])
    client.send("GET", "/1")
    gevent.sleep(0.1)
    assert client.send(method, "/2", None, b"form").status_code == 200
    assert [request.split(b" ")[1] for request in target.requests] == [b"/1", b"/2"]
    assert (target.connections, client.resent) == (2, 0)


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(make: Make):
    target, client = make([OK, 0.02, b"HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n"])
    client.send("GET", "/1")
    gevent.sleep(0.1)
    assert client.send("GET", "/2").status_code == 200
    assert target.connections == 2


@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_an_idempotent_request_on_a_kept_connection_that_ends_unanswered_is_sent_again(
    make: Make, method: str, end: str
):
    target, client = make([OK], [end], [b"HTTP/1.1 204 No\r\n\r\n"])
    client.send("GET", "/1")
    assert client.send(method, "/2").status_code == 204
    assert (target.connections, len(target.requests), client.resent) == (2, 3, 1)


@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize(
    ("method", "scripts", "options"),
    [
        ("POST", [[OK]], {}),  # not idempotent
        ("PATCH", [[OK]], {}),
        ("GET", [], {}),  # a new connection
        ("GET", [[OK]], {"resend": False}),
    ],
)
def test_otherwise_it_is_a_reset_and_is_sent_once(make: Make, method: str, scripts: Any, options: Any, end: str):
    target, client = make(*scripts, [end], **options)
    for _ in scripts:
        client.send("GET", "/1")
    assert failure(client, method, "/2", b"x").kind == "reset"
    assert len(target.requests) == len(scripts) + 1
    assert client.resent == 0
    assert client.send("GET", "/3").status_code == 200


def test_it_is_sent_again_once_at_most(make: Make):
    target, client = make([OK], [CLOSE], [CLOSE])
    client.send("GET", "/1")
    assert failure(client).kind == "reset"
    assert len(target.requests) == 3


@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize("part", [b"H", b"HTTP/1.1 100 Continue\r\n\r\n", OK[:20], OK[:-1]])
def test_after_the_first_byte_of_an_answer_nothing_is_sent_again(make: Make, part: bytes, end: str):
    target, client = make([OK], [part, 0.05, end])
    client.send("GET", "/1")
    assert failure(client).kind == "reset"
    assert len(target.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ],
)
def test_a_truncated_answer_is_a_reset(make: Make, answer: bytes):
    _, client = make([answer, CLOSE])
    error = failure(client)
    assert (error.kind, error.message) == ("reset", "the connection was closed in the middle of the answer")


def test_an_answer_in_single_bytes_is_whole(make: Make):
    data = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    target, client = make([step for byte in data for step in (bytes([byte]), 0.0005)])
    assert client.send("GET", "/").content == b"hi"
    assert client.send("GET", "/").content == b"hi"
    assert target.connections == 1


def test_methods_and_statuses_without_a_body_keep_the_connection(make: Make):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    target, client = make(
        [head],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
        [b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n"],
        [b"HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n"],
    )
    for method, status in (("HEAD", 200), ("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 200)):
        answer = client.send(method, "/")
        assert (answer.status_code, answer.content) == (status, b"hi" if (method, status) == ("GET", 200) else b"")
    assert target.connections == 1


def test_the_read_timeout_bounds_each_wait_and_the_request_timeout_the_whole(make: Make):
    drip: list[Any] = [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"]
    for _ in range(100):
        drip += [0.1, b"x"]
    _, client = make([HANG], drip, [0.2, OK], limits=Limits(connect=2, read=0.3, request=0.7))
    started = time.monotonic()
    error = failure(client)
    assert (error.kind, error.message) == ("timeout", "nothing more of the answer within 0.3 s")
    assert 0.29 < time.monotonic() - started < 0.6
    started = time.monotonic()
    error = failure(client)
    assert (error.kind, error.message) == ("timeout", "no whole answer within 0.7 s")
    assert 0.69 < time.monotonic() - started < 1.0
    assert client.send("GET", "/").content == b"hi"


def test_the_time_of_a_request_before_does_not_shorten_that_of_the_next(make: Make):
    _, client = make(*[[0.1, OK]] * 10, limits=Limits(request=0.4))
    assert [client.send("GET", "/").content for _ in range(10)] == [b"hi"] * 10


def test_nobody_that_accepts_is_a_timeout_of_the_connection(make: Make):
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(full.getsockname())
        fillers.append(filler)
    _, client = make(url=f"http://127.0.0.1:{full.getsockname()[1]}", limits=Limits(connect=0.3, request=3))
    error = failure(client)
    assert (error.kind, error.message) == ("timeout", "no connection within 0.3 s")
    for sock in (*fillers, full):
        sock.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[::1]:1", "http://no-such-host.invalid"])
def test_nobody_there_is_refused(make: Make, url: str):
    assert failure(make(url=url)[1]).kind == "refused"


def test_ipv6_and_names_are_reached(make: Make):
    six = Target(address=("::1", 0))
    _, client = make(url=f"http://[::1]:{six.port}")
    assert client.send("GET", "/").content == b"hi"
    assert f"Host: [::1]:{six.port}".encode() in six.requests[0]
    six.stop()
    target, _ = make()
    _, client = make(url=f"http://localhost:{target.port}")
    assert client.send("GET", "/").content == b"hi"  # ::1 comes first there and refuses


def test_names_are_looked_up_for_each_new_connection_and_for_no_other(make: Make, monkeypatch: pytest.MonkeyPatch):
    old, _ = make([OK], [CLOSING])
    new, _ = make()
    where = [old.port]
    asked = []

    def lookup(host: str, port: int, *_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", where[0]))]

    monkeypatch.setattr(gevent.socket, "getaddrinfo", lookup)
    _, client = make(url="http://runner.example:80")
    client.send("GET", "/")
    where[0] = new.port
    client.send("GET", "/")
    client.send("GET", "/")
    assert (asked, len(old.requests), len(new.requests)) == (["runner.example"] * 2, 2, 1)


def test_limits_of_head_and_body_hold(make: Make):
    endless: list[Any] = [b"HTTP/1.1 200 OK\r\n", *[b"X-Header: something\r\n"] * 1_000, HANG]
    body: list[Any] = [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 1_000] * 100, HANG]
    _, client = make(endless, body, limits=Limits(request=3, max_head=5_000, max_body=50_000))
    for what in ("the head of the answer is longer than 5000 bytes", "the answer is longer than 50000 bytes"):
        error = failure(client)
        assert (error.kind, error.message) == ("protocol", what)
    assert client.send("GET", "/").content == b"hi"


def test_a_large_body_is_sent_whole_to_a_slow_reader(make: Make):
    body = os.urandom(8_000_000)
    target, client = make()
    assert client.send("POST", "/", None, body).status_code == 200
    assert target.requests[0].endswith(body)


class EarlyAnswer:
    """Answers as soon as the head is there, and reads none of the body."""

    def __init__(self, answer: bytes, *, then_reset: bool) -> None:
        self.answer, self.then_reset = answer, then_reset
        self.requests = 0
        self.listener = gevent.socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.serving = gevent.spawn(self.serve)

    def serve(self) -> None:
        while True:
            sock, _ = self.listener.accept()
            try:
                self.requests += 1
                sock.recv(1_000)
                sock.sendall(self.answer)
                gevent.sleep(0.1)
                if self.then_reset:
                    reset(sock)
                gevent.sleep(0.2)
            finally:
                sock.close()

    def stop(self) -> None:
        self.serving.kill()
        self.listener.close()


@pytest.mark.parametrize("then_reset", [False, True])
def test_an_answer_that_comes_before_the_body_is_sent_is_taken(make: Make, then_reset: Any):
    server = EarlyAnswer(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", then_reset=then_reset)
    _, client = make(url=f"http://127.0.0.1:{server.listener.getsockname()[1]}")
    answer = client.send("POST", "/", None, bytes(20_000_000))
    assert (answer.status_code, answer.content) == (413, b"no")
    assert not client._base.idle  # the rest of the body is owed on that connection
    server.stop()


def test_a_user_that_is_killed_in_a_request_leaves_no_connection(make: Make):
    target, client = make([HANG])
    user = gevent.spawn(client.send, "GET", "/")
    gevent.sleep(0.1)
    user.kill()
    assert not client._base.idle
    assert client.send("GET", "/").content == b"hi"
    assert target.connections == 2


def test_greenlets_that_share_a_client_get_their_own_answers(make: Make):
    target, client = make()
    answers = {}

    def serve(sock: Any, _address: Any) -> None:
        target.connections += 1
        with contextlib.suppress(OSError):
            while request := read_request(sock):
                path = request.split(b" ")[1]
                gevent.sleep(0.01)
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path))

    target.server.set_handle(serve)

    def ask(number: int) -> None:
        for turn in range(5):
            path = f"/{number}/{turn}"
            answers[path] = client.send("GET", path).content

    gevent.joinall([gevent.spawn(ask, n) for n in range(20)], raise_error=True)
    assert len(answers) == 100
    assert all(path.encode() == content for path, content in answers.items())
    assert target.connections == 20


def test_redirects_are_followed_as_browsers_do(make: Make):
    def to(status: int, where: str, *more: str) -> list[Any]:
        lines = "".join(f"{line}\r\n" for line in more)
        return [f"HTTP/1.1 {status} Go\r\nLocation: {where}\r\n{lines}Content-Length: 0\r\n\r\n".encode()]

    target, client = make(
        to(307, "/same", "Set-Cookie: a=b; Path=/"), to(302, "two?x#y"), to(301, "?z"), to(308, "/four"), [OK]
    )
    answer = client.follow("POST", "/one", {"Content-Type": "text/plain", "X-Mine": "1"}, b"body")
    assert (answer.content, answer.url) == (b"hi", f"{target.url}/four")
    lines = [request.split(b" HTTP/1.1")[0] for request in target.requests]
    assert lines == [b"POST /one", b"POST /same", b"GET /two?x", b"GET /two?z", b"GET /four"]
    assert [request.endswith(b"body") for request in target.requests] == [True, True, False, False, False]
    assert [b"Cookie: a=b" in request for request in target.requests] == [False, True, True, True, True]
    assert all(b"X-Mine: 1" in request for request in target.requests)
    assert b"Content-Type" not in target.requests[2]
    assert target.connections == 1


def test_a_redirect_to_another_port_loses_the_authorization(make: Make):
    other, _ = make()
    there = f"http://127.0.0.1:{other.port}/there".encode()
    target, client = make([b"HTTP/1.1 303 Go\r\nLocation: " + there + b"\r\nContent-Length: 0\r\n\r\n"])
    assert client.follow("PUT", "/", {"Authorization": "secret"}, b"x").content == b"hi"
    assert b"secret" in target.requests[0]
    assert other.requests[0].startswith(b"GET /there HTTP/1.1\r\n")
    assert b"secret" not in other.requests[0]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("/again", "more than 5 redirects"),
        ("ftp://h/", "the redirect leads to no http url"),
        ("http://other.invalid/", "the redirect leads to another host"),
        ("//169.254.169.254/latest", "the redirect leads to another host"),
    ],
)
def test_redirects_without_end_or_aim_are_errors_of_the_protocol(make: Make, where: str, message: str):
    answer = f"HTTP/1.1 302 Go\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode()
    _, client = make(*[[answer]] * 10, max_redirects=5)
    with pytest.raises(HttpError) as failed:
        client.follow("GET", "/")
    assert (failed.value.kind, failed.value.message) == ("protocol", message)


def test_a_forbidden_address_is_refused_though_a_name_led_there(make: Make, monkeypatch: pytest.MonkeyPatch):
    metadata = [(socket.AF_INET, ("169.254.169.254", 80))]
    monkeypatch.setattr(connection, "_addresses", lambda host, port: metadata)
    target, client = make()
    with pytest.raises(HttpError) as failed:
        client.send("GET", "/")
    assert failed.value.kind == "refused"
    assert "link-local" in failed.value.message
    assert target.connections == 0


def test_a_thousand_connections_leave_no_file_open(make: Make):
    _, client = make(*[[CLOSING]] * 200, *[[CLOSE]] * 200)
    client.send("GET", "/")
    before = open_files()
    for _ in range(199):
        client.send("GET", "/")
    for _ in range(200):
        failure(client)
    gevent.sleep(0.05)
    assert open_files() <= before + 4
