"""The operator's own health: /healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from loadtest.handlers.metrics import Metrics
from loadtest.reconcile.loop import Reconciler

STUCK_SECONDS = 300.0
"""A step makes a handful of requests of at most 15 s each; one that takes this long hangs."""

LAG_SECONDS = 1.0
"""How often the lag of the event loop is measured."""


class Health:
    """Whether the loop is alive, and the small server that says so.

    The loop is stuck when a step hangs, and when a step that is due is not begun: nothing drives that LoadTest any
    more. An event loop that is blocked does not answer at all, which is what the probe's timeout is for.
    """

    def __init__(self, reconciler: Reconciler, api_requests: Mapping[str, int] | None = None) -> None:
        """`api_requests` counts the requests to the API server by HTTP method, and is read at each scrape."""
        self._reconciler = reconciler
        self.ready = False
        ages = {
            "loadtest_longest_running_step_seconds": reconciler.longest_running,
            "loadtest_longest_overdue_step_seconds": reconciler.longest_overdue,
        }
        self.metrics = Metrics({} if api_requests is None else api_requests, ages)

    async def measure_lag(self) -> None:
        """Measure the lag of the event loop, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.metrics.lag.observe(max(0.0, loop.time() - due))

    def application(self) -> web.Application:
        """The web application."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        return app

    async def serve(self, port: int) -> web.AppRunner:
        """Start the server; the caller cleans the runner up."""
        runner = web.AppRunner(self.application(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, port=port).start()
        return runner

    async def _healthz(self, _: web.Request) -> web.Response:
        running, overdue = self._reconciler.longest_running(), self._reconciler.longest_overdue()
        if running > STUCK_SECONDS:
            return web.Response(status=503, text=f"a step of the loop has been running for {running:.0f} s\n")
        if overdue > STUCK_SECONDS:
            return web.Response(status=503, text=f"a step of the loop has been due for {overdue:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n") if self.ready else web.Response(status=503, text="starting\n")

    async def _metrics(self, _: web.Request) -> web.Response:
        content = generate_latest(self.metrics.registry)
        return web.Response(body=content, headers={"Content-Type": CONTENT_TYPE_LATEST})
