"""Stages on real processes: what the record says is what the target saw."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from loadtest_injector.histogram import Histogram
from tests.injector.rig import Rig

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")

GUESS = "not the token"


def counted(record: dict[str, Any]) -> Counter[tuple[str, str, str]]:
    return Counter({(h["method"], h["name"], h["outcome"]): h["count"] for h in record["histograms"]})


def logged(rig: Any, stage: int, attempt: int = 1) -> Counter[tuple[str, str, str]]:
    total: Counter[tuple[str, str, str]] = Counter()
    for (method, path, status), count in rig.target_log(stage, attempt).items():
        total[method, path, "success" if status in {200, 302} else "failure"] += count
    return total


def test_the_record_counts_exactly_what_the_target_saw_in_the_window(rig: Rig):
    rig.mode()
    record = rig.run(0)
    assert record["problems"] == []
    assert record["complete"] is True
    assert counted(record) == logged(rig, 0)
    assert counted(record).total() > 50
    assert {h["outcome"] for h in record["histograms"]} == {"success"}
    assert record["order"]["context"] == {"variant": "a"}
    assert record["counters"]["launches"] == counted(record)["GET", "/session", "success"]
    assert record["counters"]["submissions"] == counted(record)["GET", "/thank-you/", "success"]
    assert sorted((w["name"], w["users"], w["gaps"], w["duplicates"]) for w in record["workers"]) == [
        ("worker-a", 3, 0, 0),
        ("worker-b", 3, 0, 0),
    ]
    assert sum(w["requests"] for w in record["workers"]) == counted(record).total()
    assert all(w["requests"] == w["reported"] for w in record["workers"])
    assert record["segments"]["ramp"]["requests"] > 0
    blocks = sum(b["count"] for b in record["blocks"])
    assert blocks == counted(record).total()
    for document in [*record["histograms"], *record["blocks"]]:
        assert Histogram.from_json(document).count == document["count"]
    # Each page waited 10 ms at the target, and the clock of the test machine cannot have run faster.
    assert min(h["minMicros"] for h in record["histograms"]) >= 10_000


def test_failures_are_counted_apart_and_exactly(rig: Rig):
    rig.mode(failPath="/start/", failPercent=60)
    record = rig.run(1, durationSeconds=3)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 1)
    failed = [f for f in record["failures"] if f["method"] == "POST"]
    assert [(f["name"], f["kind"], f["message"]) for f in failed] == [("/start/", "status", "expected 302, got 500")]
    assert failed[0]["count"] == counted(record)["POST", "/start/", "failure"] > 0
    assert record["counters"]["submissions"] < record["counters"]["launches"]


def test_a_refusing_target_is_not_hammered(rig: Rig):
    rig.mode(failPath="/session")
    record = rig.run(2, durationSeconds=2)
    # 6 users, one try a second each: at most 3 tries of each in 2 s.
    assert 0 < counted(record)["GET", "/session", "failure"] <= 18
    assert record["counters"] == {"launches": 0, "submissions": 0}


def test_a_slow_request_begun_in_the_window_counts_though_it_ends_after_it(rig: Rig):
    rig.mode(slowPath="/thank-you/", slowMillis=1_200)
    record = rig.run(3)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 3)
    assert record["window"]["drainMicros"] > 200_000
    slow = next(h for h in record["histograms"] if h["name"] == "/thank-you/")
    assert slow["minMicros"] >= 1_200_000


def test_a_request_that_never_ends_is_a_timeout_and_the_next_one_is_not_disturbed(rig: Rig):
    rig.mode(slowPath="/questionnaire", slowMillis=3_000)
    record = rig.run(4, durationSeconds=2.5, requestTimeoutSeconds=0.5)
    assert record["problems"] == []
    timeouts = [f for f in record["failures"] if f["kind"] == "timeout"]
    assert [(f["name"], f["message"]) for f in timeouts] == [("/questionnaire", "no whole answer within 0.5 s")]
    failed = next(h for h in record["histograms"] if h["outcome"] == "failure")
    assert 500_000 <= failed["minMicros"] <= failed["maxMicros"] < 900_000
    sent = sum(count for (_, path, _), count in rig.target_log(4).items() if path == "/questionnaire")
    assert failed["count"] == sent == timeouts[0]["count"]
    assert counted(record)["GET", "/session", "success"] >= 6


def test_a_warm_up_is_measured_apart(rig: Rig):
    rig.mode()
    record = rig.run(5, warmUpSeconds=1)
    assert record["problems"] == []
    assert record["warmUpMicros"] == 1_000_000
    warm = sum(h["count"] for h in record["warmUp"])
    assert warm == record["segments"]["warm-up"]["requests"] == sum(rig.target_log(5, segment="warm-up").values()) > 0
    assert counted(record) == logged(rig, 5)


def test_the_same_put_again_changes_nothing_and_another_one_is_refused(rig: Rig):
    rig.mode()
    assert rig.put(6)[0] == 200
    assert rig.put(6)[0] == 200
    status, answer = rig.put(6, users=7)
    assert (status, answer["error"]["reason"]) == (409, "OrderDiffers")
    status, answer = rig.put(7)
    assert (status, answer["error"]["reason"]) == (409, "StageActive")
    status, answer = rig.request("GET", "/v1/stages/3/6/1/record")
    assert (status, answer["error"]["reason"]) == (409, "NotFinished")
    rig.wait_for(6, {"complete"})
    assert rig.put(6)[1]["state"] == "complete"
    assert rig.progress(6)["requests"] == sum(rig.target_log(6).values())


def test_delete_stops_the_load_at_once_and_the_record_says_so(rig: Rig):
    rig.mode()
    rig.put(8, durationSeconds=60)
    rig.wait_for(8, {"window"})
    time.sleep(0.5)
    asked = time.monotonic()
    assert rig.request("DELETE", "/v1/stages/3/8/1")[0] == 200
    progress = rig.wait_for(8, {"stopped", "complete", "invalid"})
    assert time.monotonic() - asked < 1
    assert progress["state"] == "stopped"
    assert [p["reason"] for p in progress["problems"]] == ["Stopped"]
    before = rig.target_log(8)
    time.sleep(0.3)
    assert rig.target_log(8) == before
    _, record = rig.request("GET", "/v1/stages/3/8/1/record")
    assert record["complete"] is False
    assert rig.request("DELETE", "/v1/stages/3/8/1")[1]["state"] == "stopped"


def test_a_stage_stopped_in_its_ramp_leaves_the_workers_ready_for_the_next(rig: Rig):
    rig.mode()
    rig.put(11, users=40, spawnRate=10)
    rig.wait_for(11, {"ramp"})
    time.sleep(1.2)
    rig.request("DELETE", "/v1/stages/3/11/1")
    progress = rig.wait_for(11, {"stopped", "complete", "invalid"})
    assert [p["reason"] for p in progress["problems"]] == ["Stopped"]
    record = rig.run(12)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 12)


def test_workers_that_never_come_are_named(rig: Rig):
    record = rig.run(9, expectedWorkers=["worker-a", "worker-b", "worker-x"], joinTimeoutSeconds=0.5)
    assert record["problems"] == [{"reason": "WorkersMissing", "message": "not ready in time: worker-x"}]
    assert record["complete"] is False
    assert rig.target_log(9, segment="ramp") == {}


def test_a_wrong_token_is_refused_and_health_needs_none(rig: Rig):
    assert rig.request("GET", "/v1/status", token=GUESS)[0] == 401
    assert rig.request("PUT", "/v1/stages/3/20/1", rig.order(), token=GUESS)[0] == 401
    assert rig.request("GET", "/healthz", token="")[0] == 200


def test_a_worker_is_added_for_the_next_stage_and_one_that_joins_early_makes_a_stage_invalid(rig: Rig):
    rig.mode()
    rig.put(10, durationSeconds=60)
    rig.wait_for(10, {"window"})
    expected = sorted(rig.workers)
    rig.start_worker("worker-c", LOADTEST_CPU_LIMIT_MILLIS="10")
    progress = rig.wait_for(10, {"complete", "invalid"})
    assert [p["reason"] for p in progress["problems"]] == ["WorkerUnexpected"]
    # Its load has ended. The next attempt, with the new worker, is whole, though that one is far above its CPU limit.
    record = rig.run(10, attempt=2)
    assert [(p["reason"], p["message"][:15]) for p in record["problems"]] == [("WorkerSaturated", "worker worker-c")]
    assert (record["complete"], rig.progress(10, attempt=2)["state"]) == (True, "invalid")
    assert [w["users"] for w in record["workers"]] == [2, 2, 2]
    assert counted(record) == logged(rig, 10, attempt=2)
    # Left out by name, it is one too many.
    record = rig.run(10, attempt=3, expectedWorkers=expected, joinTimeoutSeconds=0.5)
    assert [p["reason"] for p in record["problems"]] == ["WorkerUnexpected"]


def test_the_status_lists_workers_and_stages(rig: Rig):
    status, answer = rig.request("GET", "/v1/status")
    assert status == 200
    assert (answer["run"], answer["repeat"], answer["current"]) == ("0123456789abcdef", 3, None)
    assert sorted(w["name"] for w in answer["workers"]) == sorted(rig.workers)
    assert {w["state"] for w in answer["workers"]} == {"ready"}
    assert {w["users"] for w in answer["workers"]} == {0}
    assert answer["stages"]["0/1"]["state"] == "complete"
