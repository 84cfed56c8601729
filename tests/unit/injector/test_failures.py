"""Exceptions as Locust's clients and clients of people's own report them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import requests
from geventhttpclient.useragent import BadStatusCode
from locust.contrib.fasthttp import FastHttpSession, LocustBadStatusCode
from locust.event import EventHook
from locust.exception import CatchResponseError
from requests import exceptions as of_requests

from loadtest_injector.failures import failure_of
from loadtest_injector.http.errors import HttpError

SECRET_URL = "http://shop/?token=secret"  # noqa: S105


def status_error(code: int) -> of_requests.HTTPError:
    response = requests.Response()
    response.status_code = code
    response.url = SECRET_URL
    return of_requests.HTTPError(f"{code} for url: {SECRET_URL}", response=response)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (HttpError("tls", "the certificate is not valid"), "tls", "the certificate is not valid"),
        (CatchResponseError("no token"), "assertion", "no token"),
        (AssertionError(), "assertion", "an assertion failed"),
        (status_error(503), "status", "status 503"),
        (LocustBadStatusCode(SECRET_URL, code=404), "status", "status 404"),
        (BadStatusCode(SECRET_URL, code=500), "status", "status 500"),
        (of_requests.ReadTimeout(SECRET_URL), "timeout", "no answer in time"),
        (of_requests.ConnectionError(of_requests.ReadTimeout()), "timeout", "no answer in time"),
        (of_requests.ChunkedEncodingError(SECRET_URL), "protocol", "the answer cannot be read: ChunkedEncodingError"),
        (of_requests.TooManyRedirects(SECRET_URL), "protocol", "too many redirects"),
        (of_requests.ConnectionError(SECRET_URL), "reset", "the connection was lost"),
        (of_requests.SSLError(SECRET_URL), "tls", "TLS failed"),
        (of_requests.InvalidURL(SECRET_URL), "other", "InvalidURL"),
        (ConnectionRefusedError(111, "no"), "refused", "Connection refused"),
        (BrokenPipeError(32, "no"), "reset", "the connection was reset"),
        (TimeoutError(), "timeout", "no answer in time"),
        (socket.gaierror(-2, "no"), "refused", "the target's host name was not resolved"),
        (ValueError("of my own"), "other", "ValueError: of my own"),
        ("a text", "other", "a text"),
    ],
)
def test_an_exception_is_sorted_into_its_kind_and_tells_no_url(error: Any, kind: str, message: str) -> None:
    failure = failure_of(error)
    assert (failure.kind, failure.message) == (kind, message)
    assert "secret" not in failure.message


@contextmanager
def server(answer: bytes | None) -> Iterator[str]:
    """A server that says this to whoever connects, and hangs up; None: nobody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        if answer is None:
            yield url
            return
        listening.listen()

        def serve() -> None:
            try:
                while True:
                    connection, _ = listening.accept()
                    with closing(connection):
                        connection.recv(10_000)
                        connection.sendall(answer)
            except OSError:
                pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield url
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=10)


def by_requests(url: str) -> object:
    try:
        requests.get(url, timeout=5)
    except of_requests.RequestException as error:
        return error
    return None


def by_fast_http(url: str) -> object:
    seen: list[object] = []
    event = EventHook()
    event.add_listener(lambda exception, **_more: seen.append(exception))
    FastHttpSession(url, event, None).get("/")
    return seen[0]


@pytest.mark.parametrize("client", [by_requests, by_fast_http])
@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (None, {"refused"}),
        (b"", {"reset"}),
        (b"garbage\r\n\r\n", {"protocol", "reset"}),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", {"reset", "protocol"}),
    ],
)
def test_what_the_clients_really_raise_is_sorted(
    client: Callable[[str], object], answer: bytes | None, kinds: set[str]
) -> None:
    with server(answer) as url:
        error = client(url)
    assert failure_of(error).kind in kinds, repr(error)
