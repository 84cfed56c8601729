"""The stage engine with a crew of the test's making: what real processes do not do on demand."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import gevent
import pytest

from loadtest_injector import messages
from loadtest_injector import stage as stage_module
from loadtest_injector.order import parse_order
from loadtest_injector.recorder import Identity, Recorder, Schedule
from loadtest_injector.stage import Stage

MILLI = 1_000_000
ORDER = {
    "injectors": 2,
    "users": 4,
    "spawnRate": 100,
    "expectedWorkers": ["a", "b"],
    "durationSeconds": 0.2,
    "joinTimeoutSeconds": 0.2,
    "requestTimeoutSeconds": 0.1,
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits of a stage, shortened."""
    monkeypatch.setattr(stage_module, "ANNOUNCED_AHEAD_NANOS", 30 * MILLI)
    for name in ("DRAIN_GRACE_SECONDS", "PREPARE_SECONDS", "USERS_SECONDS"):
        monkeypatch.setattr(stage_module, name, 0.1)
    monkeypatch.setattr(stage_module, "_TICK_SECONDS", 0.005)


class FakeWorker:
    """Behaves as an agent does; a test may spoil what it sends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.users = 0
        self.cpu_percent = 20.0
        self.prepares = True
        self.spawns = True
        self.in_time = True
        self.facts: dict[str, Any] = {"unfinishedUsers": 0, "notes": []}
        self.transport: Callable[[Any], list[Any]] = lambda part: [part]


class FakeCrew:
    """Two workers, ids id-a and id-b."""

    def __init__(self) -> None:
        self.workers = {"id-a": FakeWorker("a"), "id-b": FakeWorker("b")}
        self.stage: Stage
        self.stopped: list[list[str]] = []
        self.sent: list[str] = []
        self._spawned = False

    def connected(self) -> dict[str, str]:
        return {worker: fake.name for worker, fake in self.workers.items()}

    def ready(self) -> dict[str, str]:
        return self.connected()

    def users(self, workers: Iterable[str]) -> dict[str, int]:
        return {worker: self.workers[worker].users if worker in self.workers else 0 for worker in workers}

    def send(self, name: str, data: dict[str, Any], workers: Iterable[str]) -> None:
        self.sent.append(name)
        for worker in workers:
            fake = self.workers.get(worker)
            if fake is not None and name == messages.PREPARE and fake.prepares:
                self.stage.on_prepared(worker, {"offset": 5_000, "uncertainty": 1_001, "classes": [["User", 1, 0]]})
            elif fake is not None and name == messages.SCHEDULE:
                self.stage.on_accepted(worker, {"inTime": fake.in_time})
                gevent.spawn(
                    self._record, worker, fake, Schedule(data["warmUpAt"], data["windowAt"], data["windowEnd"])
                )

    def _record(self, worker: str, fake: FakeWorker, schedule: Schedule) -> None:
        recorder = Recorder(self.stage.identity)
        recorder.announce(schedule)
        while not recorder.drained:
            mark = recorder.begin(time.monotonic_ns() - 7_000_000)
            gevent.sleep(0.01)
            recorder.end(mark, "GET", "/", recorder.elapsed_micros(mark), content_bytes=10)
            part = recorder.take_part()
            if part is not None:
                self._send_part(worker, fake, part)
        facts = {"cpuPercentBlocks": [fake.cpu_percent], "cpuPercentMax": fake.cpu_percent, **fake.facts}
        self._send_part(worker, fake, {**(recorder.take_part(final=True) or {}), "worker": facts})

    def _send_part(self, worker: str, fake: FakeWorker, part: Any) -> None:
        for arrived in fake.transport(part):
            self.stage.on_part(worker, arrived)

    def start_users(self, users: int, spawn_rate: float, classes: list[tuple[str, float, int]]) -> None:
        for fake in self.workers.values():
            fake.users = users // len(self.workers) if fake.spawns else 0
        self._spawned = True

    @property
    def spawned(self) -> bool:
        return self._spawned

    def stop_users(self, workers: Iterable[str]) -> None:
        self.stopped.append(sorted(workers))


@pytest.fixture
def crew() -> FakeCrew:
    return FakeCrew()


def start(crew: FakeCrew, *, deadline: float = 60, **changes: Any) -> Stage:
    deadline_nanos = time.monotonic_ns() + int(deadline * 1_000 * MILLI)
    order = parse_order(ORDER | changes)
    crew.stage = Stage(Identity("run", 3, 0, 1), order, crew, deadline_nanos=deadline_nanos)
    return crew.stage


def record_of(stage: Stage) -> Any:
    assert stage.record is not None
    return json.loads(gzip.decompress(stage.record))


def run(crew: FakeCrew, **changes: Any) -> Any:
    """The record of a whole stage."""
    stage = start(crew, **changes)
    stage.run()
    return record_of(stage)


def test_a_stage_whose_workers_do_all_right_is_complete(crew: FakeCrew):
    record = run(crew)
    assert (record["problems"], record["complete"], crew.stage.state) == ([], True, "complete")
    assert crew.stopped == [["id-a", "id-b"]]
    assert crew.sent == [messages.PREPARE, messages.SCHEDULE, messages.END]
    total = sum(h["count"] for h in record["histograms"])
    assert total == sum(w["requests"] for w in record["workers"]) == crew.stage.progress()["requests"] > 10
    assert record["delays"]["count"] == total
    assert (record["load"], record["open"]) == ("Closed", None)
    assert record["workers"][0].pop("open") is None
    delays = {key: record["workers"][0].pop(f"latenessMicros{key}") for key in ("P99", "Max", "Sum")}
    assert 7_000 <= delays["P99"] <= delays["Max"] <= record["delays"]["maxMicros"] < delays["Sum"]
    assert record["workers"][0] | {"requests": 0, "reported": 0, "parts": 0} == {
        "name": "a",
        "id": "id-a",
        "users": 2,
        "parts": 0,
        "gaps": 0,
        "duplicates": 0,
        "requests": 0,
        "reported": 0,
        "cpuPercentMax": 20.0,
        "cpuPercentBlocks": [20.0],
        "clockOffsetMicros": 5,
        "clockUncertaintyMicros": 2,
    }
    # Announced ahead by the least time and ten times the uncertainty of 1,001 ns.
    assert record["window"]["announcedAheadMicros"] == 30_010
    assert record["window"]["durationMicros"] == 200_000


def drop_second(part: Any) -> list[Any]:
    return [] if part["seq"] == 2 else [part]


def drop_final(part: Any) -> list[Any]:
    return [] if "final" in part else [part]


def miscount(part: Any) -> list[Any]:
    return [part | {"final": part["final"] | {"requests": 9_999}}] if "final" in part else [part]


@pytest.mark.parametrize(
    ("transport", "reason", "message"),
    [
        (drop_second, "HistogramPartMissing", "parts of worker b did not arrive"),
        (drop_final, "HistogramPartMissing", "no final part came from: b"),
        (miscount, "CountMismatch", "worker b counted 9999 requests"),
    ],
)
def test_parts_that_are_lost_or_do_not_add_up_make_the_stage_invalid(
    crew: FakeCrew, transport: Any, reason: Any, message: Any
):
    crew.workers["id-b"].transport = transport
    record = run(crew)
    assert (crew.stage.state, record["complete"]) == ("invalid", False)
    assert [problem["reason"] for problem in record["problems"]] == [reason]
    assert message in record["problems"][0]["message"]


def test_parts_that_come_twice_change_nothing(crew: FakeCrew):
    crew.workers["id-a"].transport = lambda part: [part, part]
    record = run(crew)
    assert record["problems"] == []
    assert record["workers"][0]["duplicates"] == record["workers"][0]["parts"] > 1
    assert record["workers"][0]["requests"] == record["workers"][0]["reported"]


def test_a_worker_above_90_percent_cpu_makes_the_stage_invalid_though_its_record_is_whole(crew: FakeCrew):
    crew.workers["id-b"].cpu_percent = 90.1
    record = run(crew)
    assert crew.stage.state == "invalid"
    assert record["complete"] is True
    (problem,) = record["problems"]
    assert problem["reason"] == "WorkerSaturated"
    assert problem["message"].startswith("worker b was at 90.1 % CPU in its highest 10 s mean: lower load.injectorsPer")


def test_90_percent_is_not_above_90_percent(crew: FakeCrew):
    crew.workers["id-b"].cpu_percent = 90.0
    record = run(crew)
    assert record["problems"] == []
    assert [note["reason"] for note in record["notes"]] == ["WorkerBusy"]


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [({"prepares": False}, "WorkerLost"), ({"spawns": False}, "UsersMissing"), ({"in_time": False}, "WindowMissed")],
)
def test_a_worker_that_does_not_follow_ends_the_stage_before_its_window(crew: FakeCrew, spoiled: Any, reason: Any):
    vars(crew.workers["id-b"]).update(spoiled)
    record = run(crew)
    assert [problem["reason"] for problem in record["problems"]] == [reason]
    assert record["histograms"] == []
    assert crew.stopped == [["id-a", "id-b"]]


def while_in(state: str, crew: FakeCrew, act: Callable[[], object], **changes: Any) -> Any:
    """Run a stage and do something once it is in a state; its record."""
    stage = start(crew, **changes)
    running = gevent.spawn(stage.run)
    with gevent.Timeout(5):
        while stage.state != state:
            gevent.sleep(0.002)
        act()
        running.join()
    return record_of(stage)


@pytest.mark.parametrize("state", ["ramp", "warm-up", "window"])
@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda crew: crew.workers.pop("id-b"), "WorkerLost"),
        (lambda crew: crew.workers.update({"id-c": FakeWorker("c")}), "WorkerUnexpected"),
        (lambda crew: crew.stage.stop(), "Stopped"),
    ],
)
def test_a_change_of_the_workers_or_the_operator_ends_the_stage_at_once(
    crew: FakeCrew, state: Any, act: Any, reason: Any
):
    began = time.monotonic()
    record = while_in(state, crew, lambda: act(crew), durationSeconds=30, warmUpSeconds=0.3)
    assert [problem["reason"] for problem in record["problems"]] == [reason]
    assert crew.stage.state == ("stopped" if reason == "Stopped" else "invalid")
    assert record["complete"] is False
    assert time.monotonic() - began < 3


def test_users_that_end_within_the_window_make_the_stage_invalid(crew: FakeCrew):
    record = while_in("window", crew, lambda: vars(crew.workers["id-a"]).update(users=1))
    assert record["problems"] == [{"reason": "UsersMissing", "message": "3 of 4 users run"}]


def test_the_load_deadline_ends_the_stage(crew: FakeCrew):
    record = run(crew, deadline=0.15)
    assert [problem["reason"] for problem in record["problems"]] == ["DeadlineExceeded"]


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        (["a"], "WorkersMissing", "not ready in time: b"),
        (["a", "b", "x"], "WorkerUnexpected", "connected beside the expected workers: x"),
        (["a", "b", ""], "WorkerUnexpected", "connected beside the expected workers: (unnamed)"),
        (["a", "b", "b"], "WorkerUnexpected", "connected beside the expected workers: a, b, b"),
    ],
)
def test_load_starts_only_with_exactly_the_expected_workers(crew: FakeCrew, names: Any, reason: Any, message: Any):
    crew.workers = {f"id-{index}": FakeWorker(name) for index, name in enumerate(names)}
    record = run(crew)
    assert record["problems"] == [{"reason": reason, "message": message}]
    assert crew.sent == [messages.END]
    assert record["workers"] == []
    assert record["window"]["startedAt"] is None


def test_progress_follows_the_window(crew: FakeCrew):
    seen: list[Any] = []
    while_in("window", crew, lambda: (gevent.sleep(0.1), seen.append(crew.stage.progress())))
    assert seen[0]["state"] == "window"
    assert 0.05 < seen[0]["elapsedSeconds"] <= 0.2
    assert (seen[0]["users"], seen[0]["problems"]) == (4, [])
    assert seen[0]["p99Micros"] >= 10_000
    assert seen[0]["requestsPerSecond"] > 0
    after = crew.stage.progress()
    assert (after["elapsedSeconds"], after["users"], after["state"]) == (0.2, 0, "complete")
