"""Workers and masters that go away in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.injector.rig import Rig

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


def test_a_killed_worker_makes_the_stage_invalid_and_a_replacement_the_next_attempt_whole(rig: Rig):
    rig.mode()
    rig.put(0, durationSeconds=60)
    rig.wait_for(0, {"window"})
    time.sleep(1.5)
    killed = time.monotonic()
    rig.workers.pop("worker-b").kill()
    progress = rig.wait_for(0, {"complete", "invalid"})
    assert time.monotonic() - killed < 5
    assert progress["state"] == "invalid"
    assert progress["problems"] == [{"reason": "WorkerLost", "message": "lost during window: worker-b"}]
    _, record = rig.request("GET", "/v1/stages/3/0/1/record")
    assert record["complete"] is False
    assert {w["name"]: w["reported"] for w in record["workers"]} == {"worker-a": None, "worker-b": None}
    rig.start_worker("worker-b-2")
    record = rig.run(0, attempt=2)
    assert record["problems"] == []
    assert sum(h["count"] for h in record["histograms"]) == sum(rig.target_log(0, attempt=2).values())


def test_a_worker_that_ends_by_sigterm_is_lost_at_once(rig: Rig):
    rig.put(1, durationSeconds=60)
    rig.wait_for(1, {"window"})
    asked = time.monotonic()
    worker = rig.workers.pop("worker-b-2")
    worker.send_signal(signal.SIGTERM)
    progress = rig.wait_for(1, {"complete", "invalid"})
    assert [p["reason"] for p in progress["problems"]] == ["WorkerLost"]
    assert time.monotonic() - asked < 2
    assert worker.wait(timeout=3) == 0


def test_a_frozen_worker_is_lost_and_told_off_when_it_wakes(rig: Rig):
    worker = rig.start_worker("worker-f")
    rig.put(2, durationSeconds=60)
    rig.wait_for(2, {"window"})
    worker.send_signal(signal.SIGSTOP)
    progress = rig.wait_for(2, {"complete", "invalid"})
    assert [p["reason"] for p in progress["problems"]] == ["WorkerLost"]
    worker.send_signal(signal.SIGCONT)
    assert worker.wait(timeout=10) == 0
    rig.workers.pop("worker-f")
    assert rig.run(2, attempt=2)["problems"] == []


def test_workers_that_lose_their_master_end_and_their_load_with_them(rig: Rig):
    rig.put(3, durationSeconds=60)
    rig.wait_for(3, {"window"})
    for process in rig.processes:
        if process.args[-1] == "master":
            process.kill()
    assert rig.workers["worker-a"].wait(timeout=10) == 3
    before = rig.target_log(3)
    time.sleep(0.3)
    assert rig.target_log(3) == before


def test_load_ends_at_the_deadline_of_a_worker_and_at_that_of_the_master(rig: Rig):
    master = rig.start_master(LOADTEST_LOAD_DEADLINE_SECONDS="12", LOADTEST_RESULTS_HOLD_SECONDS="1")
    rig.wait_until_served()
    rig.workers.clear()
    worker = rig.start_worker("worker-d", LOADTEST_LOAD_DEADLINE_SECONDS="4")
    rig.put(4, durationSeconds=60)
    progress = rig.wait_for(4, {"complete", "invalid"})
    assert [p["reason"] for p in progress["problems"]] == ["WorkerLost"]
    assert worker.wait(timeout=3) == 0
    rig.workers.clear()
    worker = rig.start_worker("worker-e")
    rig.put(5, durationSeconds=60)
    progress = rig.wait_for(5, {"complete", "invalid"})
    assert [p["reason"] for p in progress["problems"]] == ["DeadlineExceeded"]
    status, answer = rig.put(6)
    assert (status, answer["error"]["reason"]) == (409, "DeadlineExceeded")
    # Its results were held for 1 s: it ends by itself, and its worker with it.
    assert master.wait(timeout=10) == 0
    assert worker.wait(timeout=10) == 0


def test_a_master_ends_quickly_by_sigterm(rig: Rig):
    master = rig.start_master()
    rig.wait_until_served()
    asked = time.monotonic()
    master.send_signal(signal.SIGTERM)
    assert master.wait(timeout=5) == 0
    assert time.monotonic() - asked < 2


def test_a_wrong_environment_ends_with_code_2_and_names_the_variable(rig: Rig):
    process = subprocess.run(
        [sys.executable, "-m", "loadtest_injector", "worker"],
        env=rig.common | {"LOADTEST_MASTER_HOST": "127.0.0.1", "LOADTEST_WORKER_NAME": ""},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert process.returncode == 2
    assert "LOADTEST_WORKER_NAME is not set" in process.stderr
    assert "Traceback" not in process.stderr
