"""TLS: who is believed, what is resumed, and how it ends."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import gevent
import gevent.ssl
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.connection import Limits
from loadtest_injector.http.errors import HttpError
from loadtest_injector.http.tls import client_context, insecure_context
from tests.injector.http_target import CLOSE, HANG, OK, Target

NAMES = [x509.IPAddress(IPv4Address("127.0.0.1")), x509.DNSName("localhost")]
CLOSING = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def certificate(file: Path, names: list[Any], *, hours: float = 1) -> Path:
    """A file with a key and a certificate that is its own authority; it ends in `hours`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "target")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=9))
        .not_valid_after(now + timedelta(hours=hours))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + built.public_bytes(Encoding.PEM)
    )
    return file


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls") / "target.pem", NAMES)


Make = Callable[..., Target]


@pytest.fixture
def make(pem: Path) -> Iterator[Make]:
    made = []

    def target(*scripts: Any, file: Path = pem, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Target:
        context = gevent.ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = version
        context.load_cert_chain(file)
        made.append(Target(*scripts, ssl_context=context))
        return made[-1]

    yield target
    for each in made:
        each.stop()


def client_of(url: str, ca: Path | None, **limits: Any) -> HttpClient:
    return HttpClient(url, tls=client_context(ca), limits=Limits(**{"connect": 2, "request": 2} | limits))


def kind_of(client: HttpClient) -> str:
    with pytest.raises(HttpError) as failed:
        client.send("GET", "/")
    return failed.value.kind


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_of_all_sizes_go_over_one_tls_connection(make: Make, pem: Path, version: ssl.TLSVersion):
    big = bytes(range(256)) * 4_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(big) + big
    target = make([OK], [answer], [answer[:100_000], 0.05, answer[100_000:]], version=version)
    client = client_of(target.url, pem)
    assert client.send("GET", "/").content == b"hi"
    assert client.send("POST", "/", None, big).content == big
    gevent.sleep(0.05)
    assert client.send("GET", "/").content == big
    assert target.requests[1].endswith(big)
    assert target.connections == 1
    client.close()


def test_a_certificate_is_believed_by_its_authority_its_name_and_its_time(make: Make, pem: Path, tmp_path: Path):
    target = make()
    old = make(file=certificate(tmp_path / "old.pem", NAMES, hours=-1))
    other = make(file=certificate(tmp_path / "other.pem", [x509.DNSName("other.example")]))
    by_name = target.url.replace("127.0.0.1", "localhost")
    for url in (target.url, by_name):
        client = client_of(url, pem)
        assert client.send("GET", "/").content == b"hi"
        client.close()
    assert kind_of(client_of(target.url, None)) == "tls"
    assert kind_of(client_of(old.url, tmp_path / "old.pem")) == "tls"
    assert kind_of(client_of(other.url, tmp_path / "other.pem")) == "tls"
    assert [len(each.requests) for each in (target, old, other)] == [2, 0, 0]
    careless = HttpClient(old.url, tls=insecure_context())
    assert careless.send("GET", "/").content == b"hi"
    careless.close()


def test_the_server_is_told_the_name_that_is_meant(pem: Path):
    names = []
    context = gevent.ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    target = Target(ssl_context=context)
    client = client_of(target.url.replace("127.0.0.1", "localhost"), pem)
    client.send("GET", "/")
    assert names == ["localhost"]
    client.close()
    target.stop()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_connection_resumes_the_session_of_the_last(make: Make, pem: Path, version: ssl.TLSVersion):
    resumed = []

    def note(sock: Any) -> None:
        resumed.append(sock.session_reused)

    target = make(*[[note, CLOSING, CLOSE]] * 3, [note, OK], [note, OK], version=version)
    client = client_of(target.url, pem)
    for _ in range(4):
        client.send("GET", "/")
    client.close()
    client.send("GET", "/")
    client.close()
    assert resumed == [False, True, True, True, True]


def test_a_session_is_not_shared_by_users(make: Make, pem: Path):
    resumed = []
    target = make(*[[lambda sock: resumed.append(sock.session_reused), CLOSING, CLOSE]] * 2)
    for _ in range(2):
        client_of(target.url, pem).send("GET", "/")
    assert resumed == [False, False]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_idle_connection_that_is_closed_is_replaced(make: Make, pem: Path, version: ssl.TLSVersion):
    target = make([OK, 0.02, CLOSE], version=version)
    client = client_of(target.url, pem)
    client.send("GET", "/")
    gevent.sleep(0.1)
    assert client.send("POST", "/", None, b"x").content == b"hi"
    assert (target.connections, len(target.requests), client.resent) == (2, 2, 0)
    client.close()


def test_an_unanswered_request_on_a_kept_connection_is_sent_again(make: Make, pem: Path):
    target = make([OK], [CLOSE])
    client = client_of(target.url, pem)
    client.send("GET", "/")
    assert client.send("GET", "/").content == b"hi"
    assert (len(target.requests), client.resent) == (3, 1)
    client.close()


def cut(sock: Any) -> None:
    """End the connection without the alert by which TLS says that nothing is missing."""
    socket.socket.shutdown(sock, socket.SHUT_RDWR)


def say_goodbye(sock: Any) -> None:
    sock.unwrap()


def test_an_answer_that_lasts_until_the_end_is_whole_only_if_tls_says_so(make: Make, pem: Path):
    page = b"HTTP/1.1 200 OK\r\n\r\npage"
    target = make([page, say_goodbye, CLOSE], [page, cut, CLOSE])
    client = client_of(target.url, pem)
    assert client.send("GET", "/").content == b"page"
    assert kind_of(client) == "reset"


def test_plain_http_is_a_failure_of_tls_and_silence_a_timeout(make: Make, pem: Path):
    plain = Target()
    plain.server.set_handle(lambda sock, _address: sock.sendall(b"HTTP/1.1 400 No\r\n\r\n"))
    assert kind_of(client_of(plain.url.replace("http:", "https:"), pem)) == "tls"
    plain.stop()
    silent = socket.create_server(("127.0.0.1", 0))
    client = client_of(f"https://127.0.0.1:{silent.getsockname()[1]}", pem, connect=0.2)
    assert kind_of(client) == "timeout"
    silent.close()
    assert kind_of(client_of(make([HANG]).url, pem, request=0.3)) == "timeout"
