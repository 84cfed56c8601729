"""The whole stand on a real cluster: operator, Helm, Locust, the sample Runner, Redis, the Datastore emulator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.paths import KUBECONFIG
from tests.cluster.stand import TARGET, TESTS, Stand
from tests.e2e.runs import Runs

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def stand() -> Stand:
    """Operator and target, installed; a cluster that is not up is a failure, not a skip."""
    assert KUBECONFIG.exists(), "no cluster is up: run `make cluster-up images`"
    stand = Stand(KUBECONFIG)
    stand.operator()
    # What a killed run of these tests left: an ended LoadTest of the same name would not run again.
    stand.kubectl("delete", "loadtests", "--all", "-n", TESTS, "--timeout=300s")
    stand.target()
    journeys = Path(__file__).parents[2] / "samples" / "runner" / "journeys"
    for name in ("test_checkbox", "census_household_gb_eng"):
        file = f"--from-file={journeys / name}.json"
        create = ["create", "configmap", name.replace("_", "-"), "-n", TESTS, file]
        stand.apply(stand.kubectl(*create, "--dry-run=client", "-o", "yaml"))
    return stand


@pytest.fixture
def runs(stand: Stand) -> Iterator[Runs]:
    """LoadTests of one test; they are deleted at its end, which restores whatever they changed."""
    runs = Runs(stand)
    before = stand.release("runner", TARGET)
    yield runs
    runs.delete_all()
    assert stand.release("runner", TARGET) == before, "the release is not what it was before the test"
