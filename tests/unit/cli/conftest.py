"""A cluster for the commands: they run their own event loop, so its server runs in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner, Result

from loadtest.cli.main import cli
from tests.unit.adapters.memory_api import MemoryApi


class Cluster:
    """An API server in memory, named by a kubeconfig."""

    def __init__(self, api: MemoryApi, kubeconfig: Path) -> None:
        self.api, self.kubeconfig = api, kubeconfig

    def run(self, *arguments: str) -> Result:
        """Run `loadtest ...` against it."""
        environment = {"KUBECONFIG": str(self.kubeconfig), "LOADTEST_WATCH_NAMESPACES": None}
        return CliRunner(env=environment).invoke(cli, arguments)

    def loadtest(self, name: str = "test", namespace: str = "performance", **body: Any) -> None:
        """Put a LoadTest there, with generation 1."""
        made = {"metadata": {"generation": 1}, "spec": {}} | body
        self.api.put("loadtests", namespace, name, **made)


def write_kubeconfig(path: Path, url: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "memory",
        "clusters": [{"name": "memory", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "memory", "context": {"cluster": "memory", "user": "me", "namespace": "performance"}}],
    }
    path.write_text(json.dumps(config))
    return path


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    # Both the operator's way (in a pod) and the person's way (by kubeconfig) are tried; here it is the person's.
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setattr("kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "kubeconfig"))
    api, loop, started = MemoryApi(), asyncio.new_event_loop(), threading.Event()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.answer)
    server = TestServer(app, loop=loop)

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(server.start_server())
        started.set()
        loop.run_forever()
        loop.run_until_complete(server.close())
        loop.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield Cluster(api, write_kubeconfig(tmp_path / "kubeconfig", str(server.make_url("")).rstrip("/")))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
