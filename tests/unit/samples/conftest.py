"""Test keys and the sample Runner's journeys."""

from pathlib import Path

import pytest

from sample_runner.keys import make
from tests.cluster.paths import TREE


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a set of test keys for launch tokens."""
    folder = tmp_path_factory.mktemp("keys")
    make(folder)
    return folder


@pytest.fixture(scope="session")
def journeys() -> Path:
    """The folder of the requests files that the sample Runner serves."""
    return TREE / "samples" / "runner" / "journeys"
