"""The glue around llhttp: framing, whatever the pieces are in which the bytes arrive."""

from __future__ import annotations

import random
from typing import Any

import pytest

from loadtest_injector.http.errors import HttpError
from loadtest_injector.http.parser import ResponseParser

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


def parse(pieces: list[bytes], *, head_only: bool = False, parser: ResponseParser | None = None) -> ResponseParser:
    """Feed the pieces until the answer is whole; where it is not by then, the stream ends."""
    parser = parser or ResponseParser()
    parser.begin(head_only=head_only)
    for piece in pieces:
        if parser.feed(piece):
            return parser
    parser.end_of_stream()
    return parser


# The bytes, whether HEAD was asked, and what comes of it: status, body, whether the connection may be used again.
ANSWERS = [
    (OK, False, (200, b"hi", True)),
    (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", False, (200, b"hi", True)),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", False, (200, b"", True)),
    (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", False, (200, b"hi", False)),
    (b"HTTP/1.1 200 OK\r\nCONNECTION: a, Close\r\nContent-Length: 2\r\n\r\nhi", False, (200, b"hi", False)),
    (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", False, (200, b"hi", True)),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", False, (200, b"hi", False)),
    (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", False, (200, b"hi", True)),
    (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", False, (200, b"until the end", False)),
    (b"HTTP/1.0 200 OK\r\n\r\n", False, (200, b"", False)),
    (CHUNKED + b"2\r\nhi\r\n0\r\n\r\n", False, (200, b"hi", True)),
    (CHUNKED + b"1;x=y\r\nh\r\n1\r\ni\r\n0\r\nX-Sum: 1\r\n\r\n", False, (200, b"hi", True)),
    (CHUNKED + b"0\r\n\r\n", False, (200, b"", True)),
    (EARLY + OK, False, (200, b"hi", True)),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + EARLY * 20 + OK, False, (200, b"hi", True)),
    (b"HTTP/1.1 204 No\r\nContent-Length: 7\r\n\r\n", False, (204, b"", True)),
    (b"HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n", False, (304, b"", True)),
    (b"HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", False, (304, b"", True)),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", True, (200, b"", True)),
    (CHUNKED, True, (200, b"", True)),
    (b"HTTP/1.1 200 OK\r\n\r\n", True, (200, b"", True)),
    (
        b"HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nhi",
        False,
        (200, b"hi", True),
    ),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_the_same_whole_in_bytes_and_in_random_pieces(answer: Any):
    data, head_only, expected = answer
    chance = random.Random(7)  # noqa: S311 - not for secrecy
    splits = [[data], [data[i : i + 1] for i in range(len(data))]]
    for _ in range(30):
        cuts = sorted(chance.sample(range(1, len(data)), min(chance.randint(1, 6), len(data) - 1)))
        splits.append([data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)])
    for pieces in splits:
        parser = parse(pieces, head_only=head_only)
        assert (parser.status, parser.body, parser.reusable) == expected
        assert parser.head.startswith(b"HTTP/1.")
        assert parser.head.endswith(b"\r\n\r\n")


def test_answers_follow_each_other_on_one_parser():
    parser = ResponseParser()
    for data, head_only, expected in ANSWERS:
        if expected[2]:
            parse([data], head_only=head_only, parser=parser)
            assert (parser.status, parser.body) == expected[:2]


@pytest.mark.parametrize("extra", [b"x", b"HTTP/1.1 200 OK\r\n", OK, b"\0\0\0"])
@pytest.mark.parametrize("answer", [OK, CHUNKED + b"2\r\nhi\r\n0\r\n\r\n"])
def test_what_follows_a_whole_answer_unasked_costs_the_connection_and_not_the_answer(answer: bytes, extra: bytes):
    parser = parse([answer + extra])
    assert (parser.status, parser.body, parser.reusable) == (200, b"hi", False)


def test_a_body_after_the_head_of_a_head_request_costs_the_connection():
    parser = parse([OK], head_only=True)
    assert (parser.status, parser.body, parser.reusable) == (200, b"", False)


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", "reset", "without an answer"),
        (b"HTTP/1.1 20", "reset", "in the middle"),
        (OK[:-1], "reset", "in the middle"),
        (CHUNKED, "reset", "in the middle"),
        (CHUNKED + b"2\r\nhi\r\n", "reset", "in the middle"),
        (CHUNKED + b"2\r\nhi\r\n0\r\n", "reset", "in the middle"),
        (EARLY, "reset", "in the middle"),
        (CHUNKED + b"x\r\nhi\r\n", "protocol", "not HTTP/1"),
        (CHUNKED + b"2\r\nhiX", "protocol", "not HTTP/1"),
        (CHUNKED + b"f" * 40 + b"\r\n", "protocol", "not HTTP/1"),
        (b"ICY 200 OK\r\n\r\n", "protocol", "not HTTP/1"),
        (b"RTSP/1.0 200 OK\r\n\r\n", "protocol", "not HTTP/1"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "protocol", "not HTTP/1"),
        (b"SSH-2.0-OpenSSH", "protocol", "not HTTP/1"),
        (b"\r\n" + OK, "protocol", "not HTTP/1"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "protocol", "not HTTP/1"),
        (b"HTTP/1.1 200 OK\n\n", "protocol", "not HTTP/1"),
        (b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "protocol", "not HTTP/1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "protocol", "not HTTP/1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "protocol", "not HTTP/1"),
        (CHUNKED[:-2] + b"Content-Length: 2\r\n\r\n", "protocol", "not HTTP/1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "protocol", "transfer coding"),
        (b"HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "protocol", "another protocol"),
    ],
)
def test_what_is_no_whole_answer_is_an_error_of_its_kind(data: bytes, kind: str, message: str):
    for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
        with pytest.raises(HttpError) as failed:
            parse(pieces if data else [])
        assert failed.value.kind == kind
        assert message in failed.value.message
        assert failed.value.unanswered is (data == b"")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2_000,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2_000 + b"\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500,
        EARLY * 100 + OK,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + b"x" * 9_000,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 9_000,
        CHUNKED + b"1\r\nx\r\n" * 2_000,
        CHUNKED + b"0\r\n" + b"X: y\r\n" * 2_000,
    ],
)
def test_heads_and_bodies_above_the_limit_are_not_kept(data: bytes):
    for size in (100, len(data)):
        parser = ResponseParser(max_head=1_000, max_body=3_000)
        with pytest.raises(HttpError) as failed:
            parse([data[i : i + size] for i in range(0, len(data), size)], parser=parser)
        assert failed.value.kind == "protocol"
        assert "longer than" in failed.value.message
