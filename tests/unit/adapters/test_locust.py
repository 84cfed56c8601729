from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from loadtest.adapters import locust
from loadtest.adapters.locust import LocustMasters, token, token_sha256
from loadtest.core.observed import Problem, StageProgress
from loadtest.ports import Refused, Unavailable

KEY, RUN, IP = b"a key of sixteen bytes or more", "0123456789abcdef", "127.0.0.1"
ORDER = {"users": 400, "expectedWorkers": ["w0", "w1"]}
PROGRESS = {"stage": 0, "attempt": 1, "state": "window", "users": 400, "elapsedSeconds": 4.0, "durationSeconds": 10.0,
            "requests": 100, "failures": 1, "requestsPerSecond": 24.6, "p99Micros": 1000, "problems": []}  # fmt: skip


class FakeMaster:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.status, self.body = 200, "{}"
        self.asked: list[tuple[str, str, Any]] = []

    def says(self, body: Any, status: int = 200) -> None:
        self.status, self.body = status, body if isinstance(body, str) else json.dumps(body)

    async def answer(self, request: web.Request) -> web.Response:
        hashed = hashlib.sha256(request.headers["Authorization"].removeprefix("Bearer ").encode()).hexdigest()
        if hashed != token_sha256(KEY, RUN):
            return web.json_response({"error": {"reason": "Unauthorized"}}, status=401)
        self.asked.append((request.method, request.path, await request.json() if request.can_read_body else None))
        return web.Response(status=self.status, text=self.body, content_type="application/json")


@pytest.fixture
async def master(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeMaster]:
    fake = FakeMaster()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fake.answer)
    async with TestServer(app, host=IP) as server:
        monkeypatch.setattr(locust, "CONTROL_PORT", server.port)
        yield fake


@pytest.fixture
async def masters() -> AsyncIterator[LocustMasters]:
    made = LocustMasters(KEY)
    yield made
    await made.close()


async def test_the_status_tells_who_is_connected_and_how_far_the_stages_are(
    master: FakeMaster, masters: LocustMasters
) -> None:
    done = PROGRESS | {"attempt": 2, "state": "invalid", "problems": [{"reason": "WorkerLost", "message": "w0"}]}
    master.says({"workers": [{"name": "w0"}, {"name": "w1"}], "stages": {"0/1": PROGRESS, "0/2": done}})
    status = await masters.status(IP, RUN)
    assert status.workers == ("w0", "w1")
    assert status.stages[0, 1] == StageProgress(
        0, 1, "window", users=400, elapsed_seconds=4.0, duration_seconds=10.0, requests=100, failures=1,
        requests_per_second=25, p99_micros=1000,
    )  # fmt: skip
    assert status.stages[0, 2].problems == (Problem("WorkerLost", "w0"),)
    assert not status.stages[0, 1].over
    assert status.stages[0, 2].over


async def test_a_stage_that_has_just_begun_knows_little_of_itself(master: FakeMaster, masters: LocustMasters) -> None:
    master.says({"workers": [], "stages": {"0/1": {"stage": 0, "attempt": 1, "state": "joining", "p99Micros": None}}})
    assert (await masters.status(IP, RUN)).stages[0, 1] == StageProgress(0, 1, "joining")


async def test_orders_and_records_go_by_repeat_stage_and_attempt(master: FakeMaster, masters: LocustMasters) -> None:
    await masters.start(IP, RUN, 3, 0, 2, ORDER)
    master.says({"format": "x"})
    assert await masters.record(IP, RUN, 3, 0, 2) == {"format": "x"}
    assert master.asked == [("PUT", "/v1/stages/3/0/2", ORDER), ("GET", "/v1/stages/3/0/2/record", None)]


async def test_the_token_of_another_run_or_another_operator_is_refused(
    master: FakeMaster, masters: LocustMasters
) -> None:
    with pytest.raises(Refused, match="Unauthorized") as refusal:
        await masters.status(IP, "f" * 16)
    assert refusal.value.reason == "OperatorError"
    stranger = LocustMasters(b"another key of sixteen bytes")
    try:
        with pytest.raises(Refused):
            await stranger.status(IP, RUN)
    finally:
        await stranger.close()
    assert master.asked == []


def test_tokens_differ_by_run_and_by_key_and_only_their_hash_is_told() -> None:
    assert len({token(key, run) for key in (KEY, b"other") for run in (RUN, "f" * 16)}) == 4
    assert token(KEY, RUN) == token(KEY, RUN)
    assert token_sha256(KEY, RUN) != token(KEY, RUN)


@pytest.mark.parametrize(
    ("status", "body", "error", "says"),
    [
        (400, {"error": {"reason": "BadOrder", "message": "users: must be"}}, Refused, "users: must be"),
        (409, {"error": {"reason": "StageActive", "message": "another"}}, Unavailable, "answers 409 .*StageActive"),
        (404, {"error": {"reason": "NotFound", "message": "no"}}, Unavailable, "answers 404"),
        (500, {"error": {"reason": "Oops", "message": "no"}}, Unavailable, "answers 500"),
        (200, "no JSON", Unavailable, "127.0.0.1"),
        (502, "<html>", Unavailable, "127.0.0.1"),
        (200, [], Unavailable, "127.0.0.1"),
    ],
)
async def test_what_a_master_may_answer_to_an_order(
    master: FakeMaster, masters: LocustMasters, status: int, body: Any, error: type[Exception], says: str
) -> None:
    master.says(body, status)
    with pytest.raises(error, match=says):
        await masters.start(IP, RUN, 1, 0, 1, ORDER)


async def test_a_status_that_lacks_what_it_should_tell_is_no_answer(master: FakeMaster, masters: LocustMasters) -> None:
    master.says({"workers": [{}], "stages": {}})
    with pytest.raises(Unavailable, match="KeyError"):
        await masters.status(IP, RUN)


async def test_a_master_that_is_not_there_is_unavailable(
    masters: LocustMasters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locust, "CONTROL_PORT", 1)
    with pytest.raises(Unavailable, match="the Locust master at"):
        await masters.status(IP, RUN)


async def test_an_address_of_version_6_is_written_in_brackets(
    masters: LocustMasters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locust, "CONTROL_PORT", 1)
    with pytest.raises(Unavailable, match=r"::1"):
        await masters.status("::1", RUN)
