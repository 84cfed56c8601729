from __future__ import annotations

import gzip
import zlib
from typing import Any

import brotli
import pytest

from loadtest_injector.http.errors import HttpError, kind_of
from loadtest_injector.http.heads import Headers, tokens_of, values_of
from loadtest_injector.http.request import Heads, Origin, clean_target, split_url
from loadtest_injector.http.request import request as request_bytes
from loadtest_injector.http.response import Response, decoded


@pytest.mark.parametrize(
    ("url", "origin", "target", "netloc"),
    [
        ("http://h", ("http", "h", 80), "/", "h"),
        ("https://h/a?b=c#d", ("https", "h", 443), "/a?b=c", "h"),
        ("HTTP://H:8080/a", ("http", "h", 8080), "/a", "h:8080"),
        ("https://h:443/", ("https", "h", 443), "/", "h"),
        ("http://h:443/", ("http", "h", 443), "/", "h:443"),
        ("http://[::1]:81/a", ("http", "::1", 81), "/a", "[::1]:81"),
        ("http://[::1]?a", ("http", "::1", 80), "/?a", "[::1]"),
        ("http://bücher.example/", ("http", "xn--bcher-kva.example", 80), "/", "xn--bcher-kva.example"),
    ],
)
def test_a_url_is_split_into_origin_and_target(url: str, origin: Any, target: str, netloc: str):
    found = split_url(url)
    assert (tuple(found[0]), found[1], found[0].netloc) == (origin, target, netloc)


@pytest.mark.parametrize("url", ["ftp://h/", "h/a", "http:///a", "", "//h/a"])
def test_what_is_no_http_url_is_refused(url: str):
    with pytest.raises(ValueError, match="not an absolute"):
        split_url(url)


@pytest.mark.parametrize(
    ("target", "clean"),
    [
        ("/a?b=c", "/a?b=c"),
        ("/a#b", "/a"),
        ("/a b\r\nX: y", "/a%20b%0D%0AX:%20y"),
        ("/é%C3%A9", "/%C3%A9%C3%A9"),
        ("/{a}|[b]", "/{a}|[b]"),
        ("/\udce9", "/%E9"),
    ],
)
def test_a_target_stays_within_its_line(target: str, clean: str):
    assert clean_target(target) == clean


def request(method: str = "GET", headers: Any = None, cookie: str = "", body: bytes | None = None) -> str:
    heads = Heads(Origin("http", "h", 80), {"User-Agent": "u", "X-All": "1"})
    return request_bytes(method, "/t", heads.head(headers), cookie, body).decode()


def test_requests_are_made_of_prepared_parts():
    common = "Host: h\r\nUser-Agent: u\r\nX-All: 1\r\n"
    assert request() == f"GET /t HTTP/1.1\r\n{common}\r\n"
    assert request(cookie="Cookie: a=b\r\n") == f"GET /t HTTP/1.1\r\n{common}Cookie: a=b\r\n\r\n"
    assert request("POST", {"A": "é"}, body=b"xy") == f"POST /t HTTP/1.1\r\n{common}A: é\r\nContent-Length: 2\r\n\r\nxy"
    assert request("POST").endswith("Content-Length: 0\r\n\r\n")
    assert request("DELETE") == f"DELETE /t HTTP/1.1\r\n{common}\r\n"


def test_a_header_of_a_request_replaces_the_one_of_all_requests_in_any_case():
    sent = request(headers={"user-agent": "mine", "HOST": "other"})
    assert sent == "GET /t HTTP/1.1\r\nX-All: 1\r\nuser-agent: mine\r\nHOST: other\r\n\r\n"
    assert "User-Agent: u" in request()
    assert Heads(Origin("http", "h", 80), {"A": "1", "B": "2"}).without("a", "X") == " HTTP/1.1\r\nHost: h\r\nB: 2\r\n"


@pytest.mark.parametrize("headers", [{"A": "b\r\nC: d"}, {"A": "b\nc"}, {"A\r\nB": "c"}, {"A:": "b"}, {"": "b"}])
def test_a_header_that_would_break_out_of_its_line_is_refused(headers: dict[str, str]):
    with pytest.raises(ValueError, match="no header can have"):
        request(headers=headers)


HEAD = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX:  y \r\nset-cookie: b=2, c\r\nL: \xc3\xa9\r\nM: \xe9\r\n\r\n"


def test_headers_are_found_in_any_case_and_decoded():
    headers = Headers(HEAD)
    assert (headers["x"], headers["L"], headers["m"]) == ("y", "é", "é")
    assert headers.get_all("SET-COOKIE") == ["a=1", "b=2, c"]
    assert headers["set-cookie"] == "a=1, b=2, c"
    assert (list(headers), len(headers), "l" in headers, headers.get("no")) == (
        ["Set-Cookie", "X", "L", "M"],
        4,
        True,
        None,
    )
    assert values_of(HEAD, HEAD.lower(), b"set-cookie") == ["a=1", "b=2, c"]
    assert tokens_of(HEAD, HEAD.lower(), b"set-cookie") == ["a=1", "b=2", "c"]


PAGE = b"a page of words and words " * 400


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def content(coding: str, body: bytes, limit: int = 100_000) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n".encode()
    return decoded(head, head.lower(), body, limit)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(PAGE)),
        ("X-GZIP", gzip.compress(PAGE)),
        ("gzip", gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:])),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", bare_deflate(PAGE)),
        ("br", brotli.compress(PAGE)),
        ("deflate, gzip", gzip.compress(zlib.compress(PAGE))),
        ("identity", PAGE),
    ],
)
def test_content_is_decoded(coding: str, body: bytes):
    assert content(coding, body) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_damaged_short_and_endless_content_is_an_error_of_the_protocol(coding: str):
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[coding]
    for body, limit in ((packed(PAGE)[:-5], 10**6), (b"\xffgarbage", 10**6), (packed(bytes(10**7)), 10**6)):
        with pytest.raises(HttpError) as failed:
            content(coding, body, limit)
        assert failed.value.kind == "protocol"
    assert content(coding, packed(PAGE), len(PAGE)) == PAGE
    assert content(coding, b"") == b""


def test_an_encoding_that_was_not_asked_for_is_an_error_of_the_protocol():
    with pytest.raises(HttpError, match="not asked for: zstd"):
        content("zstd", b"x")


def test_an_answer_tells_its_text_by_charset_and_its_json():
    def answer(kind: str, body: bytes | None) -> Response:
        return Response(200, f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode(), body, "http://h", "/")

    assert answer('text/html; charset="ISO-8859-1"', b"\xe9").text == "é"
    assert answer("text/html", "é".encode()).text == "é"
    assert answer("text/html; charset=no-such", "é".encode()).text == "é"
    assert answer("text/html", None).text is None
    assert answer("application/json", b'{"a": [1]}').json() == {"a": [1]}


def test_statuses_and_errors_of_answers_have_a_kind():
    answer = Response(404, b"HTTP/1.1 404 No\r\n\r\n", b"", "http://h", "/")
    assert not answer.ok
    with pytest.raises(HttpError, match="status 404") as failed:
        answer.raise_for_status()
    assert kind_of(failed.value) == "status"
    assert kind_of(ConnectionResetError(104, "x")) == "reset"
    assert kind_of(ValueError("x")) == "assertion"
