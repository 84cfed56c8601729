"""A real API server for this folder's tests, with the CRD applied."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.apiserver import PrivateApiServer, private_api_server
from tests.cluster.binaries import kubectl

HERE = Path(__file__).parent
CRD = HERE.parents[1] / "crds" / "loadtests.loadtest.eqrunner.dev.yaml"
_SERVED_SECONDS = 30.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.apiserver)


@pytest.fixture(scope="session")
def private_server() -> Iterator[PrivateApiServer]:
    """The API server itself, for what needs more than an administrator's kubeconfig."""
    with private_api_server() as server:
        error = _kubectl(server, "apply", "-f", str(CRD))
        assert not error, error
        # Not `kubectl wait`: it fails on a CRD that is so new that it has no conditions yet.
        deadline = time.monotonic() + _SERVED_SECONDS
        while (error := _kubectl(server, "get", "loadtests")) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not error, error
        yield server


@pytest.fixture(scope="session")
def apiserver(private_server: PrivateApiServer) -> Path:
    """An administrator's kubeconfig of an API server that knows LoadTests."""
    return private_server.kubeconfig


def _kubectl(server: PrivateApiServer, *arguments: str) -> str:
    """What it complains about if it fails, else nothing."""
    command = [str(kubectl()), "--kubeconfig", str(server.kubeconfig), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stderr or "kubectl failed") if done.returncode else ""
