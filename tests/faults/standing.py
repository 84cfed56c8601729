"""A private API server with all that the runs on it share."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from kubernetes.aio import client

from loadtest.adapters.kube import Kube
from tests.cluster.apiserver import PrivateApiServer, private_api_server
from tests.cluster.binaries import kubectl
from tests.cluster.paths import TREE
from tests.faults.proxy import Proxy, serving, session_to
from tests.faults.server import JOURNEY, NAMESPACE, Stand
from tests.faults.stagehands import Stagehands

CRD = TREE / "crds" / "loadtests.loadtest.eqrunner.dev.yaml"
SERVED_SECONDS = 60


@asynccontextmanager
async def standing() -> AsyncIterator[Stand]:
    """The server, the CRD, a namespace, a requests file, and the stagehands at work."""
    with private_api_server() as server:
        await asyncio.to_thread(_furnish, server)
        pair = server.authority.pair("admin")
        async with session_to(str(server.authority.ca), pair) as session:
            honest = Proxy(server.url, session, "", "", "")
            async with serving(honest) as url:
                kube = Kube(client.ApiClient(client.Configuration(host=url)))
                stagehands = Stagehands(kube, NAMESPACE)
                work = asyncio.create_task(stagehands.work())
                try:
                    yield Stand(server, session, kube, stagehands)
                finally:
                    work.cancel()
                    with suppress(asyncio.CancelledError):
                        await work
                    await kube.close()


def _furnish(server: PrivateApiServer) -> None:
    _kubectl(server, "apply", "-f", str(CRD))
    _kubectl(server, "wait", "--for=create", f"crd/{CRD.stem}", f"--timeout={SERVED_SECONDS}s")
    _kubectl(server, "wait", "--for=condition=Established", f"crd/{CRD.stem}", f"--timeout={SERVED_SECONDS}s")
    _kubectl(server, "create", "namespace", NAMESPACE)
    _kubectl(server, "create", "serviceaccount", "default", "-n", NAMESPACE)
    _kubectl(server, "create", "configmap", "journey", "-n", NAMESPACE, f"--from-literal=journey.json={JOURNEY}")


def _kubectl(server: PrivateApiServer, *arguments: str) -> None:
    command = [str(kubectl()), "--kubeconfig", str(server.kubeconfig), *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=2 * SERVED_SECONDS)
