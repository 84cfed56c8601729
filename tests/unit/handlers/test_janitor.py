from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from loadtest.core.observed import Resource
from loadtest.handlers.janitor import Janitor
from loadtest.ports import Outdated, Unavailable
from tests.unit.api.cases.base import WITH_RELEASE, merged

END = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ended(ttl: str = "1h", finished: datetime | None = END, phase: str = "Succeeded", **spec: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": phase, "runId": "r"}
    if finished is not None:
        status["finishedAt"] = finished.strftime("%Y-%m-%dT%H:%M:%SZ")
    meta = {"namespace": "performance", "name": "test", "uid": "u", "resourceVersion": "1"}
    return {"metadata": meta, "spec": merged(WITH_RELEASE, {"artifactTTL": ttl, **spec}), "status": status}


class Removed:
    """Counts removals, and fails as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.owners, self.error = list[str](), error

    async def __call__(self, resource: Resource) -> None:
        if self.error is not None:
            raise self.error
        self.owners.append(resource.owner)


async def removed_at(janitor: Janitor, removed: Removed, minutes: float) -> int:
    before = len(removed.owners)
    await janitor.sweep(END + timedelta(minutes=minutes))
    return len(removed.owners) - before


async def test_results_go_when_artifact_ttl_is_over_and_not_before() -> None:
    removed = Removed()
    janitor = Janitor(removed)
    janitor.note(ended())
    assert [await removed_at(janitor, removed, minutes) for minutes in (0, 59, 60, 61)] == [0, 0, 1, 0]
    assert removed.owners == ["performance/test"]


async def test_a_rerun_keeps_its_results_until_its_own_end() -> None:
    removed = Removed()
    janitor = Janitor(removed)
    janitor.note(ended())
    janitor.note(ended(phase="Running", finished=None))
    assert await removed_at(janitor, removed, 90) == 0
    janitor.note(ended(finished=END + timedelta(hours=2)))
    assert [await removed_at(janitor, removed, minutes) for minutes in (179, 180)] == [0, 1]


async def test_a_longer_time_counts_from_when_it_is_written() -> None:
    removed = Removed()
    janitor = Janitor(removed)
    janitor.note(ended())
    janitor.note(ended(ttl="2h"))
    assert [await removed_at(janitor, removed, minutes) for minutes in (90, 120)] == [0, 1]


@pytest.mark.parametrize(
    "body",
    [
        ended(phase="Running", finished=None),
        ended(phase="Restoring"),
        ended(finished=None),
        ended(load={"stages": []}),
    ],
)
async def test_what_has_not_ended_or_cannot_be_read_is_left_alone(body: dict[str, Any]) -> None:
    removed = Removed()
    janitor = Janitor(removed)
    janitor.note(body)
    assert await removed_at(janitor, removed, 10_000) == 0


async def test_a_loadtest_that_is_gone_is_forgotten() -> None:
    removed = Removed()
    janitor = Janitor(removed)
    janitor.note(ended())
    janitor.forget("u")
    janitor.forget("never heard of")
    assert await removed_at(janitor, removed, 90) == 0


@pytest.mark.parametrize("error", [Unavailable("down"), Outdated("changed")])
async def test_what_could_not_be_removed_is_tried_again(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    removed = Removed(error)
    janitor = Janitor(removed)
    janitor.note(ended())
    with caplog.at_level(logging.WARNING):
        assert await removed_at(janitor, removed, 60) == 0
    assert "performance/test" in caplog.text
    removed.error = None
    assert await removed_at(janitor, removed, 61) == 1
