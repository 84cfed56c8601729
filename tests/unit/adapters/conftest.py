from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from loadtest.adapters.kube import Kube
from tests.unit.adapters.memory_api import MemoryApi, memory_api


@pytest.fixture
async def connected() -> AsyncIterator[tuple[MemoryApi, Kube]]:
    async with memory_api() as both:
        yield both


@pytest.fixture
def api(connected: tuple[MemoryApi, Kube]) -> MemoryApi:
    return connected[0]


@pytest.fixture
def kube(connected: tuple[MemoryApi, Kube]) -> Kube:
    return connected[1]
