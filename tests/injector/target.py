"""A small target: a journey with launch, cookies, csrf tokens and ids, which logs every request by its window.

Run as a program with a port. `POST /__mode` with JSON changes how it behaves; `GET /__log` tells what it was asked:
[[window, method, path, status, count], ...].
"""

from __future__ import annotations

import json
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import gevent
from gevent.pywsgi import WSGIServer

PAGE = '<form><input id="csrf_token" name="csrf_token" type="hidden" value="{}"></form>' + "x" * 2_000

LOG: Counter[tuple[str, str, str, int]] = Counter()
MODE: dict[str, Any] = {"delayMillis": 10}
SESSIONS: dict[str, str] = {}


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    body = environ["wsgi.input"].read()
    if path == "/__log":
        start_response("200 OK", [])
        return [json.dumps([[*key, count] for key, count in LOG.items()]).encode()]
    if path == "/__mode":
        MODE.clear()
        MODE.update({"delayMillis": 10}, **json.loads(body))
        start_response("200 OK", [])
        return []
    failing = MODE.get("failPath") == path and secrets.randbelow(100) < MODE.get("failPercent", 100)
    status, headers, content = (500, [], b"no") if failing else answer(method, path, environ, body)
    name = "/household/{id}/name/" if path.startswith("/household/") and path.endswith("/name/") else path
    LOG[environ.get("HTTP_X_LOADTEST_WINDOW", "none"), method, name, status] += 1
    gevent.sleep((MODE["delayMillis"] + (MODE.get("slowMillis", 0) if MODE.get("slowPath") == path else 0)) / 1000)
    start_response(f"{status} Status", [*headers, ("Content-Length", str(len(content)))])
    return [content]


def answer(method: str, path: str, environ: dict[str, Any], body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    if path == "/session":
        token = environ["QUERY_STRING"].removeprefix("token=")
        session = secrets.token_hex(8)
        SESSIONS[session] = secrets.token_hex(8)
        right = token.count(".") == 4
        return (302 if right else 401), [("Location", "/questionnaire"), ("Set-Cookie", f"session={session}")], b""
    if path.startswith("/open/"):
        return (404 if path.endswith("/missing/") else 200), [], b"open to all"
    cookie = environ.get("HTTP_COOKIE", "").removeprefix("session=")
    if cookie not in SESSIONS:
        return 401, [], b"no session"
    if path == "/questionnaire":
        return 302, [("Location", "/start/")], b""
    if method == "GET" and path == "/relationships/":
        return 302, [("Location", f"http://elsewhere/relationships/{secrets.token_hex(3)}/to/?other=a%20b")], b""
    if method == "GET":
        SESSIONS[cookie] = secrets.token_hex(8)
        return 200, [], PAGE.format(SESSIONS[cookie]).encode()
    form = parse_qs(body.decode())
    if form.get("csrf_token") != [SESSIONS[cookie]] or not environ.get("HTTP_REFERER", "").startswith("http"):
        return 403, [], b"no csrf"
    location = f"/household/{secrets.token_hex(4)}/name/" if path == "/start/" else "/thank-you/"
    return 302, [("Location", location)], b""


if __name__ == "__main__":
    WSGIServer(("127.0.0.1", int(sys.argv[1])), application, log=None).serve_forever()
