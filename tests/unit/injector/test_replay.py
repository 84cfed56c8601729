from __future__ import annotations

import json
import math
from typing import Any

import gevent
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest_injector.exchange import Response
from loadtest_injector.http.errors import HttpError
from loadtest_injector.recorder import Identity, Recorder, Schedule
from loadtest_injector.replay import _TOKEN_INPUT, _VALUE, Replay, csrf_token
from loadtest_injector.requests_file import parse
from loadtest_injector.scenario import Scenario

PAGE = b'<form><input id="csrf_token" name="csrf_token" type="hidden" value="t&amp;1"></form>'
REQUESTS = [
    {"method": "GET", "url": "/one/"},
    {"method": "POST", "url": "/one/", "data": {"a": "b"}, "redirect_route": "/p/{id}/"},
    {"method": "GET", "url": "/p/{id}/"},
    {"method": "POST", "url": "/p/{id}/", "data": {}},
    {"method": "GET", "url": "/go/", "redirect_route": "/x/"},
    {"method": "GET", "url": "/bye/"},
]
FOUND = Response(302, "/next/", b"")


class FakeClient:
    """Answers as a right target would, but where the test says otherwise."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong = wrong
        self.sent: list[tuple[str, str, dict[str, str], bytes | None]] = []
        self.calls: list[str] = []

    def send(self, method: str, path: str, lines: str, body: bytes | None) -> Response:
        headers = dict(line.split(": ", 1) for line in lines.split("\r\n")[:-1])
        self.sent.append((method, path, headers, body))
        answer = self.wrong.get(f"{method} {path}", None)
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            gevent.sleep(5)
        if isinstance(answer, Response):
            return answer
        if path == "/one/" and method == "POST":
            return Response(302, "http://host/p/Q7/", b"")
        if path == "/go/":
            return Response(302, "/x/", b"")
        if method == "POST" or path.startswith(("/session", "/questionnaire")):
            return FOUND
        return Response(200, None, PAGE)

    def new_respondent(self) -> None:
        self.calls.append("new respondent")

    def drop_connection(self) -> None:
        self.calls.append("drop connection")


class OneToken:
    def token(self) -> str:
        return "a.b.c.d.e"


class Walk:
    """One journey, with what it sent, recorded and waited."""

    def __init__(self, *, launch: bool = True, wait: tuple[int, int] = (1, 2), **wrong: Any) -> None:
        journey = parse(json.dumps({"schema_name": "s", "requests": REQUESTS}))
        self.client = FakeClient(**wrong)
        self.recorder = Recorder(Identity("run", 3, 0, 1))
        now = self.recorder._clock()
        self.recorder.announce(Schedule(now, now, now + 10**12))
        self.waits: list[float] = []
        scenario = Scenario(journey, "http://host", *wait, request_timeout_seconds=60)
        self.replay = Replay(
            scenario,
            self.client,
            self.recorder,
            OneToken() if launch else None,
            sleep=self.waits.append,
        )
        self.replay.journey()
        self.part: Any = self.recorder.take_part()

    @property
    def recorded(self) -> list[tuple[str, str, str]]:
        return [(method, name, outcome) for _, method, name, outcome, _, _ in self.part["cells"]]

    @property
    def failures(self) -> list[list[Any]]:
        return self.part["failures"]  # type: ignore[no-any-return]


def test_a_journey_launches_walks_the_file_and_submits():
    walk = Walk()
    assert [(method, path) for method, path, _, _ in walk.client.sent] == [
        ("GET", "/session?token=a.b.c.d.e"),
        ("GET", "/questionnaire"),
        ("GET", "/one/"),
        ("POST", "/one/"),
        ("GET", "/p/Q7/"),
        ("POST", "/p/Q7/"),
        ("GET", "/go/"),
        ("GET", "/bye/"),
    ]
    assert walk.recorded == [
        ("GET", "/session", "success"),
        ("GET", "/questionnaire", "success"),
        ("GET", "/one/", "success"),
        ("POST", "/one/", "success"),
        ("GET", "/p/{id}/", "success"),
        ("POST", "/p/{id}/", "success"),
        ("GET", "/go/", "success"),
        ("GET", "/bye/", "success"),
    ]
    assert (walk.part["launches"], walk.part["submissions"]) == (1, 1)
    assert walk.client.calls == ["new respondent"]
    assert {headers["X-LoadTest-Window"] for _, _, headers, _ in walk.client.sent} == {"run/3/0/1/window"}


def test_posts_carry_the_last_pages_token_and_referer_and_gets_do_not():
    posts = [(headers.get("Referer"), body) for method, _, headers, body in Walk().client.sent if method == "POST"]
    assert posts == [
        ("http://host/one/", b"csrf_token=t%261&a=b"),
        ("http://host/p/Q7/", b"csrf_token=t%261"),
    ]
    assert all(
        "Referer" not in headers and body is None for method, _, headers, body in Walk().client.sent if method == "GET"
    )


def test_users_wait_whole_seconds_after_every_get_of_the_file_and_at_no_other_time():
    walks = [Walk() for _ in range(10)]
    assert {len(walk.waits) for walk in walks} == {4}
    # The wait begins with the end of the answer: what the user did since is no part of it.
    assert {math.ceil(seconds) for walk in walks for seconds in walk.waits} == {1, 2}
    assert all(math.ceil(seconds) - seconds < 0.5 for walk in walks for seconds in walk.waits)


def test_without_waits_no_user_sleeps_between_its_requests():
    assert Walk(wait=(0, 0)).waits == []


def test_a_request_that_begins_later_than_its_wait_allows_has_a_delay():
    walk = Walk(wait=(0, 0))
    walk.replay._due -= 3_000_000_000
    walk.replay.journey()
    walk.recorder.schedule = Schedule(0, 0, 1)
    delays = walk.recorder.take_part(final=True)["delays"]
    assert delays["count"] == 16
    assert 3_000_000 <= delays["maxMicros"] < 3_500_000 <= delays["sumMicros"] + 500_000


def test_without_a_launch_the_file_is_all_there_is():
    walk = Walk(launch=False)
    assert walk.client.sent[0][1] == "/one/"
    assert (walk.part["launches"], walk.part["submissions"]) == (0, 1)


@pytest.mark.parametrize(
    ("where", "answer", "name", "kind", "message"),
    [
        ("GET /session?token=a.b.c.d.e", Response(401, None, b"no"), "/session", "status", "expected 302, got 401"),
        ("GET /questionnaire", Response(200, None, b"page"), "/questionnaire", "status", "expected 302, got 200"),
        ("GET /one/", Response(500, None, b"oh"), "/one/", "status", "expected 200, got 500"),
        ("GET /one/", Response(302, "/", b""), "/one/", "status", "expected 200, got 302"),
        ("GET /one/", Response(200, None, b""), "/one/", "assertion", "the page has no content"),
        (
            "GET /one/",
            Response(200, None, b"<html>"),
            "/one/",
            "assertion",
            "the page has no csrf_token for the POST that follows",
        ),
        ("POST /one/", Response(200, None, PAGE), "/one/", "status", "expected 302, got 200"),
        (
            "POST /one/",
            Response(302, "/elsewhere/", b""),
            "/one/",
            "assertion",
            "the redirect goes to another path than redirect_route",
        ),
        (
            "GET /go/",
            Response(302, None, b""),
            "/go/",
            "assertion",
            "the redirect goes to another path than redirect_route",
        ),
        ("GET /p/Q7/", HttpError("reset", "gone"), "/p/{id}/", "reset", "gone"),
    ],
)
def test_a_failure_is_recorded_and_ends_the_journey_after_a_pause(
    where: Any, answer: Any, name: Any, kind: Any, message: Any
):
    walk = Walk(wait=(0, 0), **{where: answer})
    method = where.split()[0]
    assert walk.failures == [[method, name, kind, message, 1]]
    assert walk.recorded[-1] == (method, name, "failure")
    assert f"{method} {walk.client.sent[-1][1]}" == where
    assert walk.part["submissions"] == 0
    assert walk.waits[-1] == pytest.approx(1, abs=0.5)  # though waitTime is 0: the target is not hammered


def test_a_page_without_a_token_is_fine_where_no_post_follows():
    walk = Walk(**{"GET /bye/": Response(200, None, b"thank you")})
    assert walk.failures == []
    assert walk.part["submissions"] == 1


def test_a_failed_launch_is_no_launch():
    walk = Walk(**{"GET /session?token=a.b.c.d.e": Response(500, None, b"")})
    assert walk.part["launches"] == 0


def test_a_user_that_is_stopped_in_a_request_leaves_the_window_drained():
    recorder = Recorder(Identity("run", 3, 0, 1))
    now = recorder._clock()
    recorder.announce(Schedule(now, now, now + 10**8))
    journey = parse(json.dumps({"requests": REQUESTS}))
    scenario = Scenario(journey, "http://host", 0, 0, request_timeout_seconds=60)
    client = FakeClient(**{"GET /one/": "hang"})
    user = gevent.spawn(Replay(scenario, client, recorder, None).journey)
    gevent.sleep(0.02)
    assert len(client.sent) == 1
    user.kill()
    gevent.sleep(0.1)
    assert recorder.drained
    assert recorder.take_part() is None


@pytest.mark.parametrize(
    ("page", "token"),
    [
        (PAGE, "t&1"),
        (b"<input type='hidden' value='v' name='csrf_token'/>", "v"),
        (b'<input name="other" value="x"><input name="csrf_token" value="y">', "y"),
        (b'<meta name="csrf_token" content="m"><input name="csrf_token" value="y">', "y"),
        (b'<input data-value="d" name="csrf_token" value="y">', "y"),
        (b"<input data-value='d' name='csrf_token' value='y'>", "y"),
        (b'<input\n  name="csrf_token"\n  value="y"\n>', "y"),
        (b'<input value="t" name="csrf_token"', None),
        (b'<input name="csrf_token">', None),
        (b'<input name="csrf_token" value="">', None),
        (b"csrf_token", None),
        (b"", None),
    ],
)
def test_the_token_is_the_value_of_the_hidden_input(page: Any, token: Any):
    assert csrf_token(page) == token


TAGS = ["<input ", "<input", "<meta ", "<", ">", " ", "\n", "'", '"', "csrf_token", "name=", "value=", "x"]
QUOTED = ['name="csrf_token"', "name='csrf_token'", ' value="v1"', " value='v2'"]


@given(st.lists(st.sampled_from(TAGS + QUOTED), max_size=12).map("".join))
def test_the_fast_way_to_the_token_finds_what_the_expression_finds(text: str):
    page = text.encode()
    found = _TOKEN_INPUT.search(page)
    value = _VALUE.search(found[0]) if found else None
    slow = value[1].decode() if value else None
    # Of two such inputs the fast way prefers the one in double quotes.
    assert csrf_token(page) == slow or page.count(b"csrf_token") > 1
