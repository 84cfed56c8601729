"""How the web servers end, and what they say of settings that cannot be."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.runner.stack import JOURNEYS, SAMPLE, STOP_SECONDS, Stack
from tests.runner.walker import WINDOW, Walker

KINDS = ["gunicorn-threads", "gunicorn-async", "uwsgi", "uwsgi-threads", "uwsgi-async"]
FORM = b"csrf_token=" + b"x" * 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_that_was_begun_before_sigterm_is_answered(stack: Stack, kind: str) -> None:
    with stack.serve(kind, "ephemeral_storage", "False") as served:
        walker = Walker(served.port, stack.keys, JOURNEYS / "test_checkbox.json")
        walker.launch()
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
            head = [
                f"POST {walker.requests[1]['url']} HTTP/1.1",
                "Host: test",
                f"Cookie: {walker.cookie}",
                f"X-LoadTest-Window: {WINDOW}",
                "Content-Type: application/x-www-form-urlencoded",
                f"Content-Length: {len(FORM)}",
            ]
            connection.sendall("\r\n".join([*head, "", ""]).encode() + FORM[:50])
            wait_until_begun(connection)
            os.kill(served.process.pid, signal.SIGTERM)
            wait_until_begun(connection)
            connection.sendall(FORM[50:])
            answer = connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 401 "), answer  # whole, and so with a csrf_token that is wrong
        assert served.process.wait(STOP_SECONDS) == 0
        assert [line["status"] for line in served.lines(2)] == [302, 401]


def wait_until_begun(connection: socket.socket) -> None:
    """Give the server half a second to get on; it has nothing to answer yet."""
    connection.settimeout(0.5)
    with pytest.raises(TimeoutError):
        connection.recv(1)
    connection.settimeout(20)


@pytest.mark.parametrize(
    ("name", "value"), [("WEB_SERVER_TYPE", "apache"), ("WEB_SERVER_WORKERS", "many"), ("WEB_SERVER_THREADS", "0")]
)
def test_a_setting_that_cannot_be_ends_the_start_with_its_name(name: str, value: str) -> None:
    environment = {"PYTHONPATH": str(SAMPLE), "WEB_SERVER_TYPE": "gunicorn-threads", name: value}
    ended = subprocess.run(
        [sys.executable, "-m", "sample_runner"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 1
    assert name in ended.stderr
    assert "Traceback" not in ended.stderr
