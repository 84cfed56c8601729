"""The HTTP client against a raw socket server that says exactly what the test wants."""

from __future__ import annotations

import gc
import gzip
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import gevent.ssl
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from gevent.server import StreamServer

from loadtest_injector.client import FastHttpClient, tls_context
from loadtest_injector.http.errors import HttpError
from loadtest_injector.requests_file import Journey
from loadtest_injector.scenario import Scenario

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

Clients = Callable[..., FastHttpClient]


class Target:
    """Answers each request with the next of `answers` (b"" closes the connection) and keeps what it was sent."""

    def __init__(self, **tls: Any) -> None:
        self.answers: list[bytes] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self.server = StreamServer(("127.0.0.1", 0), self.serve, **tls)
        self.server.start()

    def serve(self, sock: Any, _address: Any) -> None:
        self.connections += 1
        while request := self.received(sock):
            self.requests.append(request)
            answer = self.answers.pop(0) if self.answers else OK
            if answer == b"":
                return
            if answer == b"hang":
                gevent.sleep(5)
            sock.sendall(answer)
            if b"Connection: close" in answer:
                return

    @staticmethod
    def received(sock: Any) -> bytes:
        try:
            return sock.recv(65_536)  # type: ignore[no-any-return]
        except ConnectionResetError:
            return b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    yield target
    target.server.stop(timeout=0)


@pytest.fixture
def client_of() -> Iterator[Callable[..., FastHttpClient]]:
    """Makes clients of a url, and closes them."""
    clients = []

    def make(url: str, **changes: Any) -> FastHttpClient:
        scenario = Scenario(Journey(None, None, ()), url, 0, 0, request_timeout_seconds=1, **changes)
        clients.append(FastHttpClient(scenario, tls_context(None), request_timeout_seconds=1))
        return clients[-1]

    yield make
    for client in clients:
        client.drop_connection()


def kind_of(client: FastHttpClient, path: str = "/") -> str:
    with pytest.raises(HttpError) as failed:
        client.send("GET", path, "", None)
    return failed.value.kind


def test_requests_of_a_user_share_one_connection_and_carry_the_headers(target: Target, client_of: Clients):
    client = client_of(target.url, headers={"X-Run": "7"})
    for _ in range(3):
        assert client.send("GET", "/a/?b=c", "X-LoadTest-Window: w\r\n", None) == (200, None, b"hi")
    assert target.connections == 1
    head = target.requests[0].decode().lower()
    assert head.startswith("get /a/?b=c http/1.1\r\n")
    for line in ("x-run: 7", "x-loadtest-window: w", "user-agent: loadtest-injector", "accept-encoding: gzip"):
        assert f"\r\n{line}" in head


@pytest.mark.parametrize("path", ["/r/a%20b/%7B/?q=%C3%A9&e=&f", "/é/", "/a//b/../c/?x=/y"])
def test_a_path_is_sent_as_the_requests_file_has_it(target: Target, client_of: Clients, path: str):
    client_of(target.url).send("GET", path, "", None)
    sent = target.requests[0].split(b" ")[1].decode()
    assert sent == path.replace("é", "%C3%A9")


def test_headers_of_the_scenario_give_way_to_those_that_the_journey_sets(target: Target, client_of: Clients):
    client = client_of(
        target.url, headers={"referer": "r", "X-Loadtest-Window": "w", "content-type": "c", "X-Run": "7"}
    )
    client.send("GET", "/", "X-LoadTest-Window: own\r\n", None)
    client.send("POST", "/", "X-LoadTest-Window: own\r\nReferer: mine\r\n", b"a=b")
    page, form = (request.decode().lower() for request in target.requests)
    assert re.findall("\r\n(referer|x-loadtest-window|content-type|x-run): ([^\r]*)", page) == [
        ("referer", "r"),
        ("content-type", "c"),
        ("x-run", "7"),
        ("x-loadtest-window", "own"),
    ]
    assert re.findall("\r\n(referer|x-loadtest-window|content-type|x-run): ([^\r]*)", form) == [
        ("x-run", "7"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("x-loadtest-window", "own"),
        ("referer", "mine"),
    ]


def test_a_form_is_sent_as_it_is_with_its_type(target: Target, client_of: Clients):
    client_of(target.url).send("POST", "/f/", "", b"a=b&c=%C3%A9")
    head, body = target.requests[0].lower().split(b"\r\n\r\n")
    assert body == b"a=b&c=%c3%a9"
    assert b"content-type: application/x-www-form-urlencoded" in head
    assert b"content-length: 12" in head


def test_redirects_and_error_statuses_are_answers_and_are_not_followed(target: Target, client_of: Clients):
    target.answers = [
        b"HTTP/1.1 302 Found\r\nLocation: /next/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\n\xff\xfe\xfd",
        b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
    ]
    client = client_of(target.url)
    assert client.send("GET", "/", "", None) == (302, "/next/", b"")
    assert client.send("GET", "/", "", None) == (500, None, b"\xff\xfe\xfd")
    assert client.send("GET", "/", "", None) == (404, None, b"")
    assert len(target.requests) == 3


def test_a_compressed_body_is_decompressed(target: Target, client_of: Clients):
    body = gzip.compress(b"page" * 100)
    target.answers = [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body]
    assert client_of(target.url).send("GET", "/", "", None).body == b"page" * 100


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", "reset"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf", "reset"),
        (b"HTTP/1.1 200 OK\r\nConnection: close", "reset"),
        (b"nonsense\r\nConnection: close\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: odd\r\nContent-Length: 2\r\n\r\nhi", "protocol"),
    ],
)
def test_a_broken_answer_is_a_failure_of_its_kind_and_the_request_is_sent_once(
    target: Target, client_of: Clients, answer: Any, kind: Any
):
    target.answers = [answer]
    client = client_of(target.url)
    assert kind_of(client) == kind
    assert len(target.requests) == 1
    assert client.send("GET", "/", "", None).status == 200


CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize(
    "answer", [OK, CLOSING + b"hi", CLOSING + b"h", b"nonsense\r\nConnection: close\r\n\r\n", None]
)
def test_a_request_leaves_no_garbage_in_cycles_however_it_ends(
    target: Target, client_of: Clients, answer: bytes | None
):
    client = client_of(target.url if answer else "http://127.0.0.1:1")
    target.answers = [answer or b""] * 50

    def send(count: int) -> None:
        for _ in range(count):
            with suppress(HttpError):
                client.send("GET", "/", "", None)

    send(10)
    gc.collect()
    gc.disable()
    try:
        send(40)
        assert gc.collect() < 40
    finally:
        gc.enable()


def test_a_connection_closed_after_an_answer_is_replaced_without_a_failure(target: Target, client_of: Clients):
    target.answers = [OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")]
    client = client_of(target.url)
    assert client.send("GET", "/", "", None).status == 200
    assert client.send("GET", "/", "", None).status == 200
    assert (target.connections, len(target.requests)) == (2, 2)


def test_a_request_that_is_given_up_leaves_the_client_usable(target: Target, client_of: Clients):
    target.answers = [b"hang"]
    client = client_of(target.url)
    with pytest.raises(gevent.Timeout), gevent.Timeout(0.05):
        client.send("GET", "/slow/", "", None)
    client.drop_connection()
    with gevent.Timeout(2):
        assert client.send("GET", "/", "", None) == (200, None, b"hi")
    assert target.connections == 2


def test_nobody_listening_is_refused_and_an_unknown_host_too(target: Target, client_of: Clients):
    target.server.stop(timeout=0)
    assert kind_of(client_of(target.url)) == "refused"
    assert kind_of(client_of("http://no-such-host.invalid")) == "refused"


def test_plain_http_where_tls_is_spoken_is_a_failure_of_tls(target: Target, client_of: Clients):
    assert kind_of(client_of(target.url.replace("http:", "https:"))) == "tls"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "target")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "target.pem"
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + built.public_bytes(Encoding.PEM)
    )
    return file


def test_a_certificate_is_accepted_by_its_authority_and_refused_by_the_public_ones(certificate: Path):
    context = gevent.ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    target = Target(ssl_context=context)
    scenario = Scenario(Journey(None, None, ()), target.url.replace("http:", "https:"), 0, 0, request_timeout_seconds=1)
    trusting = FastHttpClient(scenario, tls_context(certificate), request_timeout_seconds=1)
    doubting = FastHttpClient(scenario, tls_context(None), request_timeout_seconds=1)
    assert trusting.send("GET", "/", "", None) == (200, None, b"hi")
    assert kind_of(doubting) == "tls"
    trusting.drop_connection()
    target.server.stop(timeout=0)


def cookies_of(target: Target) -> list[bytes]:
    return [
        line.split(b": ")[1]
        for request in target.requests
        for line in request.split(b"\r\n")
        if line.lower().startswith(b"cookie:")
    ]


def with_cookie(cookie: bytes) -> bytes:
    return OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: " + cookie + b"\r\n\r\n")


def test_cookies_come_back_until_the_next_respondent(target: Target, client_of: Clients):
    target.answers = [with_cookie(b"session=a; HttpOnly; Path=/")]
    client = client_of(target.url)
    for _ in range(3):
        client.send("GET", "/", "", None)
    client.new_respondent()
    client.send("GET", "/", "", None)
    assert cookies_of(target) == [b"session=a"] * 2
    assert target.connections == 1


@pytest.mark.parametrize(("allowed", "cookies"), [(False, []), (True, [b"session=a"])])
def test_secure_cookies_go_over_plain_http_only_where_that_is_asked_for(
    target: Target, client_of: Clients, allowed: Any, cookies: Any
):
    target.answers = [with_cookie(b"session=a; Secure; Path=/")]
    client = client_of(target.url, send_secure_cookies_over_http=allowed)
    client.send("GET", "/", "", None)
    client.send("GET", "/", "", None)
    assert cookies_of(target) == cookies


def test_users_do_not_share_cookies_or_connections(target: Target, client_of: Clients):
    target.answers = [with_cookie(b"session=a; Path=/")]
    one, other = client_of(target.url), client_of(target.url)
    one.send("GET", "/", "", None)
    other.send("GET", "/", "", None)
    assert (cookies_of(target), target.connections) == ([], 2)
