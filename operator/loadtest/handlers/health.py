"""The operator's own health: /healthz, /readyz and /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from loadtest.ports import Ref
from loadtest.reconcile.loop import Reconciler

STUCK_SECONDS = 300.0
"""A step makes a handful of requests of at most 15 s each; one that takes this long hangs."""


class _ApiRequests(Collector):
    """Requests to the API server, counted where they are sent."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily("loadtest_api_requests", "Requests to the API server.", labels=["method"])
        for method, count in self._counts.items():
            family.add_metric([method], count)
        yield family


class Health:
    """Metrics of the loop, and the small server that shows them."""

    def __init__(self, reconciler: Reconciler, api_requests: Mapping[str, int] | None = None) -> None:
        """`api_requests` counts the requests to the API server by HTTP method, and is read at each scrape."""
        self._reconciler = reconciler
        self.ready = False
        self.registry = CollectorRegistry()
        self.steps = Counter("loadtest_steps", "Steps of the loop.", registry=self.registry)
        self.failures = Counter(
            "loadtest_step_failures", "Steps that failed and were tried again.", registry=self.registry
        )
        self.seconds = Histogram("loadtest_step_seconds", "Duration of steps.", registry=self.registry)
        longest = Gauge(
            "loadtest_longest_running_step_seconds", "Age of the oldest running step.", registry=self.registry
        )
        longest.set_function(reconciler.longest_running)
        self.registry.register(_ApiRequests({} if api_requests is None else api_requests))

    def observe(self, _ref: Ref, seconds: float, *, failed: bool) -> None:
        """Count one step."""
        self.steps.inc()
        self.seconds.observe(seconds)
        if failed:
            self.failures.inc()

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
        age = self._reconciler.longest_running()
        if age > STUCK_SECONDS:
            return web.Response(status=503, text=f"a step of the loop has been running for {age:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n") if self.ready else web.Response(status=503, text="starting\n")

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
