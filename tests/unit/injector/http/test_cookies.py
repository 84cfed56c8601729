from __future__ import annotations

from typing import Any

import pytest

from loadtest_injector.http.cookies import MAX_COOKIES, Cookies

NOW = 1_700_000_000.0


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def jar(*headers: str, host: str = "a.example.org", target: str = "/x/y?z", https: bool = False, **options: Any):
    cookies = Cookies(now=Clock(), **options)
    for header in headers:
        cookies.receive(header, host, target, https=https)
    return cookies


def sent(cookies: Cookies, host: str = "a.example.org", target: str = "/x/y", *, https: bool = False) -> str:
    return cookies.line(host, target, https=https).removeprefix("Cookie: ").removesuffix("\r\n")


@pytest.mark.parametrize(
    ("header", "host", "target", "line"),
    [
        ("a=b", "a.example.org", "/x/y", "a=b"),
        ("a=b", "A.example.org".lower(), "/x", "a=b"),
        ("a=b", "b.a.example.org", "/x/y", ""),
        ("a=b", "example.org", "/x/y", ""),
        ("a=b; Path=/", "a.example.org", "/", "a=b"),
        ("a=b", "a.example.org", "/other", ""),  # the default path is the directory of the request
        ("a=b", "a.example.org", "/xx", ""),
        ("a=b; Path=/x/", "a.example.org", "/x", ""),
        ("a=b; Path=/x", "a.example.org", "/x/deep?q", "a=b"),
        ("a=b; Path=/x", "a.example.org", "/x?q", "a=b"),
        ("a=b; Path=relative", "a.example.org", "/x/y", "a=b"),
        ("a=b; Domain=example.org", "b.example.org", "/x/y", "a=b"),
        ("a=b; Domain=.Example.ORG", "example.org", "/x/y", "a=b"),
        ("a=b; Domain=example.org", "notexample.org", "/x/y", ""),
        ("a=b; Domain=org", "a.example.org", "/x/y", ""),
        ("a=b; Domain=other.org", "a.example.org", "/x/y", ""),
        ("a=b; Domain=b.a.example.org", "b.a.example.org", "/x/y", ""),
        ("a=b; Domain=", "a.example.org", "/x/y", "a=b"),
        ('a="b c"', "a.example.org", "/x/y", 'a="b c"'),
        ("a=b=c==", "a.example.org", "/x/y", "a=b=c=="),
        (" a = b ; HttpOnly; SameSite=Lax", "a.example.org", "/x/y", "a=b"),
        ("bare", "a.example.org", "/x/y", "bare"),
        ("=", "a.example.org", "/x/y", ""),
        ("", "a.example.org", "/x/y", ""),
        ("a=b\x01c", "a.example.org", "/x/y", ""),
        (f"a={'b' * 5_000}", "a.example.org", "/x/y", ""),
        ("a=b; Max-Age=0", "a.example.org", "/x/y", ""),
        ("a=b; Max-Age=-5", "a.example.org", "/x/y", ""),
        ("a=b; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a.example.org", "/x/y", "a=b"),
        ("a=b; Max-Age=soon", "a.example.org", "/x/y", "a=b"),
        ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a.example.org", "/x/y", ""),
        ("a=b; Expires=Thu, 01-Jan-70 00:00:00 GMT", "a.example.org", "/x/y", ""),
        ("a=b; Expires=Fri, 31 Dec 2100 23:59:59 GMT", "a.example.org", "/x/y", "a=b"),
        ("a=b; Expires=when it is over", "a.example.org", "/x/y", "a=b"),
        ("a=b; Secure", "a.example.org", "/x/y", ""),
        ("__Secure-a=b; Secure", "a.example.org", "/x/y", ""),
        ("__Host-a=b; Secure; Path=/", "a.example.org", "/x/y", ""),
    ],
)
def test_a_cookie_goes_where_it_belongs(header: str, host: str, target: str, line: str):
    assert sent(jar(header), host, target) == line


def test_secure_cookies_go_over_tls_and_over_plain_http_where_that_is_asked_for():
    cookies = jar("a=b; Secure; Path=/", "c=d; Path=/")
    assert sent(cookies) == "c=d"
    assert sent(cookies, https=True) == "a=b; c=d"
    assert sent(jar("a=b; Secure; Path=/", secure_over_http=True)) == "a=b"


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("__Secure-a=b", ""),
        ("__Secure-a=b; Secure", "__Secure-a=b"),
        ("__Host-a=b; Secure; Path=/", "__Host-a=b"),
        ("__Host-a=b; Secure; Path=/x", ""),
        ("__Host-a=b; Secure; Path=/; Domain=example.org", ""),
    ],
)
def test_prefixes_of_names_keep_their_promise(header: str, line: str):
    assert sent(jar(header, https=True), https=True) == line


def test_a_cookie_is_replaced_deleted_and_expires():
    clock = Clock()
    cookies = Cookies(now=clock)
    for value in ("1", "2"):
        cookies.receive(f"a={value}; Path=/", "h", "/", https=False)
    assert sent(cookies, "h") == "a=2"
    assert (cookies.get("a"), cookies.get("b"), len(cookies)) == ("2", None, 1)
    cookies.receive("a=; Path=/; Max-Age=0", "h", "/", https=False)
    assert (sent(cookies, "h"), len(cookies)) == ("", 0)
    cookies.receive("a=3; Path=/; Max-Age=10", "h", "/", https=False)
    assert sent(cookies, "h") == "a=3"
    clock.now += 10
    assert (sent(cookies, "h"), len(cookies)) == ("", 0)


def test_longer_paths_come_first_and_then_the_order_of_arrival():
    cookies = jar("a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/")
    assert sent(cookies) == "b=2; c=3; a=1; d=4"


def test_the_header_of_one_host_is_not_that_of_another():
    cookies = jar("a=1; Path=/")
    assert [sent(cookies, host) for host in ("a.example.org", "b.org", "a.example.org")] == ["a=1", "", "a=1"]
    cookies.receive("a=2; Path=/", "b.org", "/", https=False)
    assert [sent(cookies, host) for host in ("a.example.org", "b.org")] == ["a=1", "a=2"]
    cookies.clear()
    assert sent(cookies) == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_has_no_subdomains(host: str):
    assert sent(jar(f"a=b; Domain={host}", host=host), host) == "a=b"
    assert sent(jar("a=b; Domain=0.0.1", host=host), host) == ""


def test_endless_cookies_do_not_fill_the_memory():
    cookies = jar(*(f"c{n}=v" for n in range(MAX_COOKIES + 5)))
    assert len(cookies) == MAX_COOKIES
    assert (cookies.get("c4"), cookies.get("c5")) == (None, "v")
