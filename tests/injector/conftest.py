"""The rig that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.injector.rig import Rig, write_keys


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A target, a master and two workers, shared by the tests of a module; stages are numbered by the tests."""
    rig = Rig(tmp_path_factory.mktemp("injector"))
    try:
        write_keys(rig.directory)
        rig.write_scenario()
        rig.start_target()
        rig.start_master()
        for name in ("worker-a", "worker-b"):
            rig.start_worker(name)
        rig.wait_until_served()
        yield rig
    finally:
        rig.close()
