"""Garbage, damage and random pieces: never a crash, a hang or a leak, and never another error than HttpError.

`LOADTEST_FUZZ_SECONDS` makes it longer; `LOADTEST_FUZZ_SEED` repeats one.
"""

from __future__ import annotations

import gc
import gzip
import os
import random
import resource
import time
from typing import Any

import gevent
import pytest

from loadtest_injector.http import connection
from loadtest_injector.http.client import HttpClient
from loadtest_injector.http.connection import Limits
from loadtest_injector.http.cookies import Cookies
from loadtest_injector.http.errors import HttpError
from loadtest_injector.http.parser import ResponseParser
from loadtest_injector.http.response import decoded
from tests.injector.http_target import CLOSE, RESET, Target, open_files

SECONDS = float(os.environ.get("LOADTEST_FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("LOADTEST_FUZZ_SEED", str(time.time_ns())))

PAGE = gzip.compress(b"page " * 300)
SEEDS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\npage\r\n10\r\n0123456789abcdef\r\n0\r\nX:y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
    b"HTTP/1.0 302 Found\r\nLocation: /x\r\nSet-Cookie: a=b; Max-Age=5; Path=/; Domain=.1\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE,
    b"HTTP/1.1 200 OK\r\nSet-Cookie: s=1; Expires=Fri, 31 Dec 2100 23:59\r\nConnection: keep-alive\r\n\r\nto the end",
    b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
]
WORDS = [
    b"\r\n",
    b"\r\n\r\n",
    b"HTTP/1.1 ",
    b"0\r\n\r\n",
    b"Content-Length: ",
    b"chunked",
    b"\0",
    b"\xff",
    b":",
    b" ",
    b"\n",
]


def damaged(chance: random.Random) -> bytes:
    """A right answer or two with up to 8 changes; one in ten is nothing but garbage."""
    if chance.random() < 0.1:
        return chance.randbytes(chance.randint(0, 300))
    data = bytearray(b"".join(chance.choices(SEEDS, k=chance.randint(1, 2))))
    for _ in range(chance.choice([0, 1, 1, 2, 8])):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                data[at : at + chance.randint(1, 9)] = b""
            case 1:
                data[at:at] = chance.choice(WORDS)
            case 2:
                data[at : at + 1] = chance.randbytes(1)
            case _:
                data[at:at] = data[: chance.randint(1, 30)]
    return bytes(data)


def pieces_of(chance: random.Random, data: bytes) -> list[bytes]:
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randint(0, 8)))
    return [piece for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if (piece := data[a:b])]


def outcome(pieces: list[bytes], head_only: bool) -> Any:
    parser = ResponseParser(max_head=4_000, max_body=20_000)
    parser.begin(head_only=head_only)
    try:
        if not any(parser.feed(piece) for piece in pieces):
            parser.end_of_stream()
        content = decoded(parser.head, parser.lower, parser.body, 20_000)
    except HttpError as error:
        return error.kind
    return parser.status, parser.head, content


def memory_kib() -> int:
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_any_bytes_in_any_pieces_are_an_answer_or_an_http_error():
    chance = random.Random(SEED)  # noqa: S311 - not for secrecy
    until = time.monotonic() + SECONDS / 2
    rounds, whole, before = 0, 0, 0
    while time.monotonic() < until:
        data, head_only = damaged(chance), chance.random() < 0.1
        found = outcome([data] if data else [], head_only)
        again = outcome(pieces_of(chance, data), head_only)
        # Where the answer is whole before the garbage, pieces may end before it is seen. The rest must agree.
        assert found == again, f"seed {SEED}: {data!r} in one piece {found!r}, in several {again!r}"
        whole += isinstance(found, tuple)
        rounds += 1
        if rounds == 5_000:
            before = memory_kib()
    assert rounds > 5_000
    assert 0.1 < whole / rounds < 0.9
    assert memory_kib() - before < 20_000


@pytest.mark.parametrize("seed", range(3))
def test_any_cookie_header_leaves_a_line_that_can_be_sent(seed: int):
    chance = random.Random(f"{SEED}/{seed}")  # noqa: S311 - not for secrecy
    words = [
        "a",
        "=",
        ";",
        " ",
        "Path",
        "Domain",
        "Max-Age",
        "Expires",
        "99999999999999",
        "é",
        "/",
        ".",
        "\t",
        "-",
        "\x01",
    ]
    for _ in range(3_000):
        cookies = Cookies()
        cookies.receive("".join(chance.choices(words, k=chance.randint(0, 12))), "h.example", "/x", https=True)
        line = cookies.line("h.example", "/x", https=True)
        assert line == "" or (line.startswith("Cookie: ") and line.endswith("\r\n") and line.count("\n") == 1)


def test_any_bytes_over_a_connection_leave_the_client_usable(monkeypatch: pytest.MonkeyPatch):
    # Damage makes redirects to other hosts (`Location: //x`): none of them is looked up, no byte leaves loopback.
    look_up = connection._addresses
    monkeypatch.setattr(connection, "_addresses", lambda host, port: look_up(host, port) if host == "127.0.0.1" else [])
    chance = random.Random(SEED + 1)  # noqa: S311 - not for secrecy
    target = Target()
    client = HttpClient(target.url, limits=Limits(connect=2, request=1, max_head=4_000, max_body=20_000))
    until = time.monotonic() + SECONDS / 2
    rounds, files = 0, 0
    with gevent.Timeout(SECONDS + 30):
        while time.monotonic() < until:
            target.requests.clear()
            script: list[Any] = list(pieces_of(chance, damaged(chance)))
            target.scripts[:] = [[*script, chance.choice([CLOSE, CLOSE, RESET])] for _ in range(2)]
            try:
                client.follow(chance.choice(["GET", "HEAD", "POST"]), "/", None, None)
            except HttpError as error:
                assert error.kind in {"reset", "protocol", "timeout", "refused"}, f"seed {SEED}: {error}"  # noqa: PT017
            target.scripts.clear()
            rounds += 1
            if rounds == 200:
                files = open_files()
    client.cookies.clear()
    assert client.send("GET", "/").content == b"hi"
    assert rounds > 200
    gevent.sleep(0.05)
    assert open_files() <= files + 10
    client.close()
    target.stop()
