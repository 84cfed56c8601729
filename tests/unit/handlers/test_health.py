from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import generate_latest

from loadtest.handlers.health import STUCK_SECONDS, Health
from loadtest.ports import Ref
from loadtest.reconcile.loop import Reconciler
from tests.unit.reconcile.world import World

REF = Ref("ns", "test", "u")


class Ages:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Ages:
    return Ages()


@pytest.fixture
def reconciler(clock: Ages) -> Reconciler:
    return Reconciler(World().ports(), monotonic=clock)


@pytest.fixture
def health(reconciler: Reconciler) -> Health:
    return Health(reconciler, {"GET": 7, "PATCH": 2})


@pytest.fixture
async def client(health: Health) -> AsyncIterator[TestClient]:  # type: ignore[type-arg]
    async with TestClient(TestServer(health.application())) as made:
        yield made


async def get(client: TestClient, path: str) -> tuple[int, str]:  # type: ignore[type-arg]
    async with client.get(path) as response:
        return response.status, await response.text()


async def test_an_operator_is_ready_once_it_watches(client: TestClient, health: Health) -> None:  # type: ignore[type-arg]
    assert await get(client, "/readyz") == (503, "starting\n")
    assert (await get(client, "/healthz"))[0] == 200, "one that is starting is not to be killed for it"
    health.ready = True
    assert await get(client, "/readyz") == (200, "ok\n")


async def test_a_step_that_hangs_is_unhealthy(
    client: TestClient,  # type: ignore[type-arg]
    reconciler: Reconciler,
    clock: Ages,
) -> None:
    forever = asyncio.Event()

    async def read(_: Ref) -> None:
        await forever.wait()

    reconciler._ports.loadtests.read = read  # type: ignore[method-assign, assignment]
    step = asyncio.ensure_future(reconciler.step(REF))
    await asyncio.sleep(0)
    clock.seconds += STUCK_SECONDS
    assert (await get(client, "/healthz"))[0] == 200
    clock.seconds += 1
    assert await get(client, "/healthz") == (
        503,
        f"a step of the loop has been running for {STUCK_SECONDS + 1:.0f} s\n",
    )
    assert "loadtest_longest_running_step_seconds 301.0" in (await get(client, "/metrics"))[1]
    forever.set()
    assert await step is None
    assert (await get(client, "/healthz"))[0] == 200


async def test_a_step_that_is_due_and_not_begun_is_unhealthy(
    client: TestClient,  # type: ignore[type-arg]
    reconciler: Reconciler,
    clock: Ages,
) -> None:
    ref = World().ref()
    delay = await reconciler.step(ref)
    assert delay is not None
    clock.seconds += delay + STUCK_SECONDS
    assert (await get(client, "/healthz"))[0] == 200
    clock.seconds += 1
    assert await get(client, "/healthz") == (503, f"a step of the loop has been due for {STUCK_SECONDS + 1:.0f} s\n")
    assert "loadtest_longest_overdue_step_seconds 301.0" in (await get(client, "/metrics"))[1]
    reconciler.forget(ref.uid)
    assert (await get(client, "/healthz"))[0] == 200, "nobody drives what is at rest, or gone"


async def test_a_run_at_rest_is_never_overdue(reconciler: Reconciler, clock: Ages) -> None:
    assert await reconciler.step(REF) is None
    clock.seconds += 10 * STUCK_SECONDS
    assert reconciler.longest_overdue() == 0


async def test_a_blocked_event_loop_shows_as_lag(health: Health, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadtest.handlers.health.LAG_SECONDS", 0.01)
    measuring = asyncio.ensure_future(health.measure_lag())
    await asyncio.sleep(0)
    time.sleep(0.15)  # noqa: ASYNC251 - that is what is measured
    await asyncio.sleep(0.1)
    measuring.cancel()
    text = generate_latest(health.metrics.registry).decode()
    slow = float(re.search(r"lag_seconds_count ([0-9.]+)", text)[1])  # type: ignore[index]
    quick = float(re.search(r'lag_seconds_bucket{le="0.1"} ([0-9.]+)', text)[1])  # type: ignore[index]
    assert slow > quick


async def test_steps_failures_durations_and_requests_are_counted(client: TestClient, health: Health) -> None:  # type: ignore[type-arg]
    health.metrics.observe(REF, 0.5, failure=None)
    health.metrics.observe(REF, 1.5, failure="forbidden")
    status, text = await get(client, "/metrics")
    assert status == 200
    for line in (
        "loadtest_steps_total 2.0",
        'loadtest_step_failures_total{kind="forbidden"} 1.0',
        'loadtest_step_failures_total{kind="unexpected"} 0.0',
        "loadtest_step_seconds_sum 2.0",
        'loadtest_api_requests_total{method="GET"} 7.0',
        'loadtest_api_requests_total{method="PATCH"} 2.0',
        "loadtest_longest_running_step_seconds 0.0",
    ):
        assert line in text.splitlines()


async def test_the_server_listens_on_the_port_that_it_is_given(health: Health) -> None:
    runner = await health.serve(0)
    try:
        port = next(address[1] for address in runner.addresses if "." in address[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200 OK" in await reader.readline()
        writer.close()
        await writer.wait_closed()
    finally:
        await runner.cleanup()


async def test_requests_to_the_api_server_are_counted_though_none_was_sent_at_the_start() -> None:
    counts: Counter[str] = Counter()
    health = Health(Reconciler(World().ports()), counts)
    counts["PATCH"] += 3
    assert b'loadtest_api_requests_total{method="PATCH"} 3.0' in generate_latest(health.metrics.registry)
