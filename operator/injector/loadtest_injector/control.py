"""The master's control port: the HTTP/1.1 JSON interface that the operator drives stages with, as a WSGI application.

    GET    /healthz                                      200, without a token
    GET    /v1/status                                    the workers and all stages
    PUT    /v1/stages/{repeat}/{stage}/{attempt}         start a stage; the same order again changes nothing
    GET    /v1/stages/{repeat}/{stage}/{attempt}         its progress
    GET    /v1/stages/{repeat}/{stage}/{attempt}/record  its record, once it has ended (gzip where accepted)
    DELETE /v1/stages/{repeat}/{stage}/{attempt}         stop its load now

All but /healthz want `Authorization: Bearer <token>`. Errors are {"error": {"reason", "message"}} with 400 (the order
is wrong: the message names the field), 401, 404, 405 or 409 (OrderDiffers, StageActive, NotFinished, DeadlineExceeded).
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

from loadtest_injector.order import OrderError, StageOrder, parse_order

MAX_BODY_BYTES = 256 * 1024
"""An order with 1,000 worker names of 253 characters fits; nothing larger is read."""

_BEARER = "Bearer "
_STAGE_PARTS = 5  # v1/stages/{repeat}/{stage}/{attempt}
_MAX_NUMBER_DIGITS = 6
log = logging.getLogger(__name__)

StartResponse = Callable[..., Any]


class Key(NamedTuple):
    """Which attempt of which stage (0-based) is meant."""

    stage: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.stage}/{self.attempt}"


class Refused(Exception):  # noqa: N818 - it is an answer, not an error of the program
    """The request is answered with an error."""

    def __init__(self, status: HTTPStatus, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Stages(Protocol):
    """What the control port drives. Methods raise Refused where the state does not allow what is asked."""

    repeat: int

    def status(self) -> dict[str, Any]:
        """The body of GET /v1/status."""

    def start(self, key: Key, order: StageOrder) -> dict[str, Any]:
        """Start the stage, or find it started by the same order; returns its progress."""

    def progress(self, key: Key) -> dict[str, Any]:
        """The progress of the stage."""

    def record(self, key: Key) -> bytes:
        """The record of the stage, as gzipped JSON."""

    def stop(self, key: Key) -> dict[str, Any]:
        """Stop the load of the stage; returns its progress."""


class ControlPort:
    """The WSGI application. `token_sha256` is the SHA-256, in hex, of the token that requests must bear."""

    def __init__(self, stages: Stages, token_sha256: str) -> None:
        self._stages = stages
        self._token_sha256 = token_sha256.lower()

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        status = HTTPStatus.OK
        try:
            body = self._answer(environ)
            if isinstance(body, bytes):
                if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "").lower():
                    headers.append(("Content-Encoding", "gzip"))
                else:
                    body = gzip.decompress(body)
            else:
                body = json.dumps(body).encode()
        except Refused as refused:
            status = refused.status
            body = json.dumps({"error": {"reason": refused.reason, "message": str(refused)}}).encode()
        except Exception:
            log.exception("the control port failed")
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            body = json.dumps({"error": {"reason": "InternalError", "message": "see the log of the master"}}).encode()
        headers.append(("Content-Length", str(len(body))))
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    def _answer(self, environ: Mapping[str, Any]) -> dict[str, Any] | bytes:
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        if path == "/healthz":
            return {"status": "ok"}
        self._authorize(environ.get("HTTP_AUTHORIZATION", ""))
        if path == "/v1/status":
            _only(method, "GET")
            return self._stages.status()
        parts = path.strip("/").split("/")
        if parts[:2] != ["v1", "stages"] or not _STAGE_PARTS <= len(parts) <= _STAGE_PARTS + 1:
            raise Refused(HTTPStatus.NOT_FOUND, "NotFound", "there is no such path")
        key = self._key(parts[2:_STAGE_PARTS])
        if len(parts) > _STAGE_PARTS:
            if parts[_STAGE_PARTS] != "record":
                raise Refused(HTTPStatus.NOT_FOUND, "NotFound", "there is no such path")
            _only(method, "GET")
            return self._stages.record(key)
        if method == "PUT":
            return self._stages.start(key, _read_order(environ))
        if method == "DELETE":
            return self._stages.stop(key)
        _only(method, "GET")
        return self._stages.progress(key)

    def _authorize(self, header: str) -> None:
        token = header[len(_BEARER) :] if header.startswith(_BEARER) else ""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        # Hashes are compared, in constant time: the answer's delay says nothing of the token.
        if not hmac.compare_digest(digest, self._token_sha256):
            raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", "the bearer token is missing or wrong")

    def _key(self, parts: list[str]) -> Key:
        if not all(part.isascii() and part.isdigit() and len(part) <= _MAX_NUMBER_DIGITS for part in parts):
            raise Refused(HTTPStatus.NOT_FOUND, "NotFound", "repeat, stage and attempt are whole numbers")
        repeat, stage, attempt = map(int, parts)
        if repeat != self._stages.repeat:
            raise Refused(HTTPStatus.NOT_FOUND, "NotFound", f"this master serves repeat {self._stages.repeat} alone")
        if attempt < 1:
            raise Refused(HTTPStatus.NOT_FOUND, "NotFound", "attempts are counted from 1")
        return Key(stage, attempt)


def _only(method: str, allowed: str) -> None:
    if method != allowed:
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", f"only {allowed} is served here")


def _read_order(environ: Mapping[str, Any]) -> StageOrder:
    length = environ.get("CONTENT_LENGTH") or ""
    if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY_BYTES:
        remedy = f"the body must have a Content-Length of at most {MAX_BODY_BYTES} bytes"
        raise Refused(HTTPStatus.BAD_REQUEST, "BadRequest", remedy)
    try:
        return parse_order(json.loads(environ["wsgi.input"].read(int(length))))
    except OrderError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "BadRequest", str(error)) from error
    except (ValueError, RecursionError) as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "BadRequest", "the body is not JSON") from error
