"""The HTTP side: protobuf over POST /v1/projects/PROJECT:CALL, and JSON counters at GET /requests.

A server of its own over asyncio: the messages are small and few kinds of them come, and it has to cost little beside
the application that is measured.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from google.rpc import code_pb2, status_pb2  # type: ignore[import-untyped]

from sample_runner.datastore_emulator import store
from sample_runner.datastore_emulator.service import Call, Service

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 10 * 1024 * 1024
"""Datastore's own bound of one request."""

_PROTOBUF = "application/x-protobuf"
_REFUSALS: dict[type[store.StoreError], tuple[HTTPStatus, int]] = {
    store.InvalidArgumentError: (HTTPStatus.BAD_REQUEST, code_pb2.INVALID_ARGUMENT),
    store.NotFoundError: (HTTPStatus.NOT_FOUND, code_pb2.NOT_FOUND),
    store.AlreadyExistsError: (HTTPStatus.CONFLICT, code_pb2.ALREADY_EXISTS),
    store.AbortedError: (HTTPStatus.CONFLICT, code_pb2.ABORTED),
}


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    body: bytes
    keep_alive: bool


@dataclass(frozen=True)
class _Answer:
    status: HTTPStatus
    content_type: str
    body: bytes


class _BadRequestError(Exception):
    """The connection does not speak the HTTP that is understood here."""


async def start(service: Service, host: str, port: int) -> asyncio.Server:
    """Serve HTTP at host and port."""
    return await asyncio.start_server(_connection(service), host, port, limit=MAX_HEAD_BYTES)


def _connection(service: Service) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    calls = {call.http_name: call for call in service.calls}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read(reader):
                answer = _answer(service, calls, request)
                writer.write(_serialize(answer))
                await writer.drain()
                if not request.keep_alive:
                    break
        except (_BadRequestError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # nobody is left to answer, or the peer speaks something else
        finally:
            writer.close()

    return serve


async def _read(reader: asyncio.StreamReader) -> _Request | None:
    """The next request of a connection, None where the peer closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = headers.get("content-length", "0")
    if len(first.split(" ")) != 3 or not length.isdecimal() or "transfer-encoding" in headers:  # noqa: PLR2004
        raise _BadRequestError
    if int(length) > MAX_BODY_BYTES:
        raise _BadRequestError
    method, path, version = first.split(" ")
    body = await reader.readexactly(int(length)) if length != "0" else b""
    keep_alive = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return _Request(method, path.partition("?")[0], body, keep_alive)


def _answer(service: Service, calls: dict[str, Call], request: _Request) -> _Answer:
    if request.method == "GET" and request.path == "/requests":
        return _Answer(HTTPStatus.OK, "application/json", json.dumps(service.counters()).encode())
    if request.method == "GET" and request.path == "/":
        return _Answer(HTTPStatus.OK, "text/plain", b"Ok\n")
    call = calls.get(request.path.rpartition(":")[2]) if request.path.startswith("/v1/projects/") else None
    if call is None or request.method != "POST":
        return _refusal(HTTPStatus.NOT_IMPLEMENTED, code_pb2.UNIMPLEMENTED, "the emulator does not have this call")
    try:
        response = service.answer(call, call.request.FromString(request.body), "http")
    except store.StoreError as error:
        return _refusal(*_REFUSALS[type(error)], str(error))
    except DecodeError as error:
        return _refusal(HTTPStatus.BAD_REQUEST, code_pb2.INVALID_ARGUMENT, str(error))
    return _Answer(HTTPStatus.OK, _PROTOBUF, response.SerializeToString())


def _refusal(status: HTTPStatus, code: int, message: str) -> _Answer:
    return _Answer(status, _PROTOBUF, status_pb2.Status(code=code, message=message).SerializeToString())


def _serialize(answer: _Answer) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
        f"Content-Type: {answer.content_type}\r\nContent-Length: {len(answer.body)}\r\n\r\n"
    )
    return head.encode() + answer.body
