"""Real processes on loopback: Redis, the Datastore emulator and the sample Runner under its web servers."""

from collections.abc import Iterator

import pytest

from tests.runner.stack import Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Redis, the emulator and keys, shared by all tests here."""
    stack = Stack(tmp_path_factory.mktemp("runner"))
    try:
        stack.start()
        yield stack
    finally:
        stack.close()
