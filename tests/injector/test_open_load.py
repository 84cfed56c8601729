"""Open load on real processes: arrivals, requests and the target's log add up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.injector.rig import Rig

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


def requests_of(record: dict[str, Any]) -> int:
    return sum(entry["count"] for entry in record["histograms"])


def assert_it_adds_up(rig: Rig, record: dict[str, Any], stage: int) -> dict[str, Any]:
    """Requests are arrivals less the dropped and with the carried ones, and what the target logged; the open load."""
    assert record["problems"] == []
    load: dict[str, Any] = record["open"]
    assert requests_of(record) == load["begun"] + load["carriedIn"] == sum(rig.target_log(stage).values())
    assert record["load"] == "Open"
    assert load["intended"]["count"] == sum(h["count"] for h in record["histograms"] if h["outcome"] == "success")
    assert [sum(w["open"][key] for w in record["workers"]) for key in ("arrivals", "begun")] == [
        load["arrivals"],
        load["begun"],
    ]
    return load


def test_a_target_that_keeps_up_gets_every_arrival(rig: Rig):
    rig.mode()
    record = rig.run(0, users=40, arrivalsPerSecond=101, durationSeconds=2, warmUpSeconds=0.5)
    load = assert_it_adds_up(rig, record, 0)
    # Arrival g is due at g / 101 s: 51 before the window, and 253 before its end.
    assert load["arrivals"] == 253 - 51
    assert load["begun"] >= load["arrivals"] * 0.5
    assert record["segments"]["ramp"]["requests"] == 0, "nobody sends before the first arrival"
    assert record["segments"]["warm-up"]["requests"] > 0
    assert sum(w["open"]["arrivals"] for w in record["workers"]) == load["arrivals"]
    assert load["intended"]["sumMicros"] >= sum(h["sumMicros"] for h in record["histograms"])


def test_a_target_that_does_not_gets_a_backlog_and_dropped_arrivals_are_said(rig: Rig):
    rig.mode(delayMillis=300)
    record = rig.run(1, users=4, arrivalsPerSecond=100, durationSeconds=2, requestTimeoutSeconds=1)
    load = assert_it_adds_up(rig, record, 1)
    assert load["arrivals"] == 200
    # Four users of 300 ms each begin at most 28 requests in 2 s.
    assert 1 <= load["begun"] <= 28
    # In 1 s, after which an arrival is dropped, 50 come to each worker, and two users take a few of them.
    assert 25 <= load["backlogPeak"] <= 50
    assert load["intended"]["maxMicros"] > 600_000
    slowest = max(h["maxMicros"] for h in record["histograms"])
    assert load["intended"]["maxMicros"] > slowest
    (note,) = (note for note in record["notes"] if note["reason"] == "ArrivalsDropped")
    assert note["message"].startswith(f"{200 - load['begun']} of 200 arrivals were never begun")


def test_a_closed_stage_follows_an_open_one_with_the_same_workers(rig: Rig):
    rig.mode()
    record = rig.run(2)
    assert (record["problems"], record["load"], record["open"]) == ([], "Closed", None)
    assert requests_of(record) == sum(rig.target_log(2).values()) > 0
