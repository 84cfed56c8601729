from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import kopf
import pytest

from loadtest.api import names
from loadtest.api.status import initial_status
from loadtest.handlers.configure import configure
from loadtest.handlers.janitor import Janitor
from loadtest.handlers.loadtest import _wait_or_stop, has_work, register
from loadtest.handlers.metrics import Metrics
from loadtest.handlers.wakeups import Wakeups
from loadtest.ports import Ref
from tests.unit.handlers.test_janitor import ended


def body(phase: str, *, restored: str | None = None, **meta: Any) -> dict[str, Any]:
    conditions = [{"type": "TargetRestored", "status": restored}] if restored else []
    status = {"phase": phase, "observedGeneration": 1, "conditions": conditions}
    return {"metadata": {"generation": 1, **meta}, "status": status}


GONE: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
GIVEN_UP: dict[str, Any] = {"annotations": {names.ANNOTATION_GIVE_UP_RESTORE: "true"}}


@pytest.mark.parametrize(
    ("loadtest", "expected"),
    [
        ({"metadata": {"generation": 1}}, True),
        ({"metadata": {"generation": 1}, "status": initial_status()}, True),
        (body("Pending"), True),
        (body("Running"), True),
        (body("Restoring", **GONE), True),
        (body("Succeeded"), False),
        (body("Failed"), False),
        (body("Aborted", restored="True"), False),
        (body("Succeeded", generation=2), True),
        (body("Succeeded", generation=2, **GONE), False),
        (body("Failed", restored="False"), True),
        (body("Failed", restored="False", **GONE), True),
        (body("Failed", restored="False", **GIVEN_UP), False),
        (body("Failed", restored="False", annotations={names.ANNOTATION_GIVE_UP_RESTORE: "false"}), True),
    ],
)
def test_there_is_work_while_a_run_is_on_a_spec_is_new_or_a_restore_is_owed(
    loadtest: dict[str, Any], expected: bool
) -> None:
    assert has_work(loadtest) is expected


class FakeLoop:
    """A reconciler that answers with these delays, then with None; `idle` is set by then."""

    def __init__(self, *delays: float) -> None:
        self.delays, self.steps, self.idle = list(delays), list[Ref](), asyncio.Event()
        self.forgotten: list[str] = []

    def forget(self, uid: str) -> None:
        self.forgotten.append(uid)

    async def step(self, ref: Ref) -> float | None:
        self.steps.append(ref)
        if self.delays:
            return self.delays.pop(0)
        self.idle.set()
        return None


async def ignore(_: Any) -> None: ...


def handlers(loop: FakeLoop, wakeups: Wakeups, janitor: Janitor) -> dict[str, Callable[..., Any]]:
    """The functions that are registered with kopf, by name."""
    registry = kopf.OperatorRegistry()
    register(registry, loop, wakeups, janitor, Metrics({}, {}))  # type: ignore[arg-type]
    parts = (registry._spawning, registry._watching, registry._changing)
    return {str(handler.id).rpartition(".")[2]: handler.fn for part in parts for handler in part.get_all_handlers()}


async def test_a_deletion_ends_when_the_loop_has_nothing_left_to_do() -> None:
    loop = FakeLoop(0.0, 0.01)
    finish = handlers(loop, Wakeups(), Janitor(ignore))["finish"]
    await asyncio.wait_for(finish(namespace="ns", name="test", uid="u"), 5)
    assert loop.steps == [Ref("ns", "test", "u")] * 3


async def test_an_event_wakes_the_loop_and_a_deletion_is_forgotten() -> None:
    wakeups, janitor, loop = Wakeups(), Janitor(ignore), FakeLoop()
    wake = handlers(loop, wakeups, janitor)["wake"]
    await wake(event={"type": "MODIFIED"}, body=ended(), uid="u")
    await asyncio.wait_for(wakeups.wait("u", None), 1)
    assert set(janitor._ended) == {"u"}
    await wake(event={"type": "DELETED"}, body=ended(), uid="u")
    assert not janitor._ended
    assert loop.forgotten == ["u"], "no step of what is gone is due"


class Stopped:
    """kopf's flag that tells a daemon to stop."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def __bool__(self) -> bool:
        return self.event.is_set()

    async def wait(self) -> None:
        await self.event.wait()


async def test_a_daemon_steps_sleeps_and_stops_when_told_to() -> None:
    loop, stopped = FakeLoop(0.0, 0.01), Stopped()
    drive = handlers(loop, Wakeups(), Janitor(ignore))["drive"]
    driving = asyncio.ensure_future(drive(namespace="ns", name="test", uid="u", stopped=stopped))
    await asyncio.wait_for(loop.idle.wait(), 5)
    assert len(loop.steps) == 3
    assert not driving.done(), "with nothing to do it waits to be woken"
    stopped.event.set()
    await asyncio.wait_for(driving, 1)
    assert loop.forgotten == ["u"]


async def test_a_wait_leaves_no_task_behind() -> None:
    stopped = Stopped()
    await _wait_or_stop(Wakeups(), "u", 0.01, stopped)  # type: ignore[arg-type]
    stopped.event.set()
    await _wait_or_stop(Wakeups(), "u", None, stopped)  # type: ignore[arg-type]
    assert len(asyncio.all_tasks()) == 1


def test_kopf_writes_nothing_of_its_own_that_others_read() -> None:
    settings = kopf.OperatorSettings()
    configure(settings)
    assert settings.persistence.finalizer == names.FINALIZER
    assert settings.posting.loggers is False
    assert settings.peering.standalone is True
    assert settings.scanning.disabled is True
    assert settings.watching.server_timeout is not None
    assert settings.watching.client_timeout is not None
    assert settings.watching.client_timeout > settings.watching.server_timeout, "the server ends a quiet watch first"
