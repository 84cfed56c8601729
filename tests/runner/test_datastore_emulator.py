"""The emulator spoken to by the official client, over both transports."""

import http.client
import uuid

import pytest
from google.api_core.exceptions import Conflict, GoogleAPICallError
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore

from tests.runner.stack import Stack


@pytest.fixture(params=["grpc", "http"])
def client(request: pytest.FixtureRequest, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> datastore.Client:
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    grpc = request.param == "grpc"
    address = f"http://127.0.0.1:{stack.grpc_port if grpc else stack.http_port}"
    return datastore.Client(
        project="test",
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": address},
        _use_grpc=grpc,
    )


@pytest.fixture
def key(client: datastore.Client) -> datastore.Key:
    return client.key("thing", uuid.uuid4().hex)


def entity(key: datastore.Key, text: str) -> datastore.Entity:
    made = datastore.Entity(key, exclude_from_indexes=("text",))
    made["text"] = text
    return made


def test_what_was_put_is_got_until_it_is_deleted(client: datastore.Client, key: datastore.Key) -> None:
    assert client.get(key) is None
    client.put(entity(key, "é" * 5000))
    assert client.get(key)["text"] == "é" * 5000
    client.delete(key)
    assert client.get(key) is None


def test_several_are_got_at_once(client: datastore.Client, key: datastore.Key) -> None:
    client.put(entity(key, "there"))
    missing: list[datastore.Entity] = []
    found = client.get_multi([key, client.key("thing", "nowhere")], missing=missing)
    assert ([each["text"] for each in found], len(missing)) == (["there"], 1)


def test_an_incomplete_key_gets_an_id(client: datastore.Client) -> None:
    made = entity(client.key("thing"), "new")
    client.put(made)
    assert made.key.id is not None
    assert client.get(made.key)["text"] == "new"


def test_of_two_transactions_on_one_entity_the_later_is_refused(client: datastore.Client, key: datastore.Key) -> None:
    transaction = client.transaction()
    transaction.begin()
    assert client.get(key, transaction=transaction) is None
    with client.transaction():
        assert client.get(key) is None
        client.put(entity(key, "first"))
    transaction.put(entity(key, "second"))
    with pytest.raises(Conflict):
        transaction.commit()
    assert client.get(key)["text"] == "first"


def test_a_transaction_that_fails_leaves_nothing(client: datastore.Client, key: datastore.Key) -> None:
    def fail() -> None:
        with client.transaction():
            client.put(entity(key, "never"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert client.get(key) is None


def test_a_call_that_the_emulator_has_not_is_an_error(client: datastore.Client) -> None:
    with pytest.raises(GoogleAPICallError) as caught:
        list(client.query(kind="thing").fetch(timeout=5, retry=None))
    assert caught.value.code in (501, 12)


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/", b"", 200),
        ("GET", "/nowhere", b"", 501),
        ("POST", "/v1/projects/test:lookup", b"\xff\xff", 400),
        ("POST", "/v1/projects/test:rollback", b"", 400),
        ("GET", "/v1/projects/test:lookup", b"", 501),
    ],
)
def test_the_http_side_answers_whatever_is_asked(
    stack: Stack, method: str, path: str, body: bytes, expected: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stack.http_port, timeout=10)
    try:
        for _ in range(2):  # the connection stays usable
            connection.request(method, path, body)
            response = connection.getresponse()
            response.read()
            assert response.status == expected
    finally:
        connection.close()


def test_what_is_no_http_is_hung_up_on_and_others_are_still_served(stack: Stack) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stack.http_port, timeout=10)
    connection.connect()
    connection.sock.sendall(b"nonsense\r\n\r\n")
    assert connection.sock.recv(1) == b""
    connection.close()
    assert stack.calls().keys() == {"http", "grpc"}
