"""A WSGI application for the conformance tests, run by gunicorn: each path shows one thing of HTTP."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable
from typing import Any

PAGE = b"a page of words " * 2_000


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:  # noqa: C901 - a list
    path = environ["PATH_INFO"]
    body = environ["wsgi.input"].read()
    match path:
        case "/page":
            start_response("200 OK", [("Content-Length", str(len(PAGE)))])
            return [PAGE]
        case "/chunked":
            start_response("200 OK", [])
            return (PAGE[at : at + 1_000] for at in range(0, len(PAGE), 1_000))
        case "/gzip":
            packed = gzip.compress(PAGE)
            start_response("200 OK", [("Content-Encoding", "gzip"), ("Content-Length", str(len(packed)))])
            return [packed]
        case "/none":
            start_response("204 No Content", [])
            return []
        case "/same":
            start_response("304 Not Modified", [("ETag", '"x"')])
            return []
        case "/login":
            start_response("302 Found", [("Location", "/who"), ("Set-Cookie", "s=7; Path=/"), ("Content-Length", "0")])
            return []
        case "/who":
            content = environ.get("HTTP_COOKIE", "").encode()
        case "/pid":
            content = str(os.getpid()).encode()
        case "/close":
            start_response("200 OK", [("Connection", "close"), ("Content-Length", "3")])
            return [b"bye"]
        case "/broken":
            raise RuntimeError("broken on purpose")
        case "/short":
            start_response("200 OK", [("Content-Length", "1000")])
            return [b"x" * 100]
        case _:
            content = environ["REQUEST_METHOD"].encode() + b" " + body
    start_response("200 OK", [("Content-Length", str(len(content)))])
    return [content]
