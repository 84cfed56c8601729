"""The client against real servers: gunicorn with gevent and with threads, and nginx before them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.connection import Limits
from loadtest_injector.http.errors import HttpError
from tests.injector.http_app import PAGE
from tests.injector.rig import free_port

HERE = Path(__file__).parent
NGINX = """
user root; daemon off; pid {directory}/nginx.pid; error_log {directory}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  client_max_body_size 1m; keepalive_requests 50; keepalive_timeout 1s; gzip on; gzip_min_length 100; gzip_types *;
  upstream app {{ server 127.0.0.1:{app}; keepalive 4; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    location = /drop {{ return 444; }}
  }}
}}
"""


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="module", params=["gevent", "gthread", "nginx"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Kind and url of a running server."""
    directory = tmp_path_factory.mktemp("server")
    port = app = free_port()
    worker = "gthread" if request.param == "nginx" else request.param
    log = (directory / "log").open("wb")
    command = [sys.executable, "-m", "gunicorn", f"--bind=127.0.0.1:{app}", f"--worker-class={worker}", "--threads=4"]
    command += ["--workers=1", "--keep-alive=1", "--graceful-timeout=1", "http_app:application"]
    processes = [subprocess.Popen(command, cwd=HERE, stdout=log, stderr=log)]
    wait_for(app, processes[0])
    if request.param == "nginx":
        port = free_port()
        (directory / "nginx.conf").write_text(NGINX.format(directory=directory, port=port, app=app))
        nginx = ["nginx", "-e", str(directory / "error.log"), "-c", str(directory / "nginx.conf")]
        processes.append(subprocess.Popen(nginx, env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}))
        wait_for(port, processes[1])
    yield request.param, f"http://127.0.0.1:{port}"
    for process in reversed(processes):
        process.send_signal(signal.SIGTERM)
    for process in processes:
        assert process.wait(timeout=15) == 0
    log.close()


@pytest.fixture
def client(server: tuple[str, str]) -> Iterator[HttpClient]:
    client = HttpClient(server[1], limits=Limits(connect=5, request=10))
    yield client
    client.close()


def test_every_form_of_an_answer_is_read(client: HttpClient):
    for _ in range(3):
        for path in ("/page", "/chunked", "/gzip"):
            assert client.send("GET", path).content == PAGE
            head = client.send("HEAD", path)
            assert (head.status_code, head.content) == (200, b"")
        assert [client.send("GET", path).status_code for path in ("/none", "/same")] == [204, 304]
        assert client.send("GET", "/close").content == b"bye"
    assert client.resent == 0


def test_bodies_arrive_whole(client: HttpClient):
    assert client.send("POST", "/echo", None, b"a=b").content == b"POST a=b"
    big = b"0123456789" * 50_000
    assert client.send("PUT", "/echo", None, big).content == b"PUT " + big
    assert client.send("POST", "/echo").content == b"POST "
    assert client.send("DELETE", "/echo").content == b"DELETE "


def test_a_session_is_kept_over_a_redirect(client: HttpClient):
    answer = client.follow("POST", "/login", None, b"user=me")
    assert (answer.content, answer.url.rsplit("/", 1)[1]) == (b"s=7", "who")
    client.cookies.clear()
    assert client.send("GET", "/who").content == b""


def test_errors_are_answers_and_truncation_is_not(server: tuple[str, str], client: HttpClient):
    assert client.send("GET", "/broken").status_code == 500
    with pytest.raises(HttpError) as failed:
        client.send("GET", "/short")
    assert failed.value.kind == "reset"
    assert client.send("GET", "/page").content == PAGE
    if server[0] == "nginx":
        assert client.send("POST", "/echo", None, bytes(3_000_000)).status_code == 413
        client.close()
        with pytest.raises(HttpError) as failed:
            client.send("GET", "/drop")
        assert failed.value.kind == "reset"


def test_a_form_after_the_server_has_closed_the_idle_connection_is_sent_once_and_answered(client: HttpClient):
    client.send("GET", "/page")
    gevent.sleep(2.5)  # the servers' keep-alive is 1 s
    assert client.send("POST", "/echo", None, b"x").content == b"POST x"
    assert client.resent == 0


def test_many_users_at_once_get_their_own_answers_and_no_failure(server: tuple[str, str]):
    def journey(number: int) -> int:
        client = HttpClient(server[1], limits=Limits(connect=5, request=20))
        for turn in range(60):  # nginx ends a connection after 50 requests
            body = f"{number}/{turn}".encode()
            assert client.send("POST", "/echo", None, body).content == b"POST " + body
            assert client.send("GET", "/page").content == PAGE
        client.close()
        return client.resent

    users = [gevent.spawn(journey, number) for number in range(8)]
    gevent.joinall(users, raise_error=True)
    assert [user.value for user in users] == [0] * 8
