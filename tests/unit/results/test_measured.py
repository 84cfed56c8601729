from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.figures import value_of
from loadtest.results.figures import pooled, stage_result
from loadtest.results.record import Record
from tests.unit.results.records import endpoint, histogram, record

FIELDS = ["atMicros", "connections", "cpuMicros", "commands", "evictedKeys", "memoryBytes", "instance"]
SECOND = 1_000_000


def point(second: float, connections: int = 10, cpu: int = 0, commands: int = 0, **more: int) -> list[int]:
    at = round(second * SECOND)
    return [at, connections, cpu, commands, more.get("evicted", 0), more.get("memory", 2**20), more.get("instance", 0)]


def with_redis(
    *points: list[int], expected: int | None = None, required: bool = False, missed: Any = (), **changes: Any
) -> Record:
    series = {
        "name": "cache", "kind": "redis", "fields": FIELDS, "points": list(points), "problems": list(missed),
        "expected": len(points) if expected is None else expected,
    }  # fmt: skip
    order = {
        "injectors": 2,
        "users": 400,
        "measurements": [{"name": "cache", "required": required, "redis": {"host": "redis", "port": 6379}}],
    }
    one = endpoint(histogram([1000, 2000]))
    return record(one, **({"order": order, "series": [series]} | changes))


REFUSED = {"reason": "SourceUnavailable", "message": "Redis at redis:6379: refused", "count": 9}
STEADY = [point(second, 100 + second, 40_000 * second, 500 * second, memory=second) for second in range(11)]


def test_rates_are_differences_of_counters_and_peaks_are_of_the_points() -> None:
    redis = stage_result(with_redis(*STEADY)).redis
    assert redis is not None
    assert redis.to_wire() == {
        "name": "cache",
        "points": 11,
        "pointsExpected": 11,
        "connectionsPeak": 110,
        "connectionsMean": 105,
        "cpuMillicores": 40,
        "cpuMicrocores": 40_000,
        "opsPerSecond": 500,
        "evictedKeys": 0,
        "memoryBytesPeak": 10,
    }


def test_a_rate_is_over_the_time_between_the_first_point_and_the_last() -> None:
    redis = stage_result(with_redis(point(0.5, cpu=0), point(1.0, cpu=1), point(8.5, cpu=2 * SECOND))).redis
    assert redis is not None
    assert (redis.cpu_millicores, redis.connections_mean) == (250, 10)


def test_a_small_use_of_the_cpu_is_not_rounded_away() -> None:
    redis = stage_result(with_redis(point(0), point(1000, cpu=3_500_499))).redis
    assert redis is not None
    assert (redis.cpu_millicores, redis.cpu_microcores) == (4, 3500)


@pytest.mark.parametrize(
    ("measured", "reason", "says"),
    [
        (with_redis(expected=11, missed=[REFUSED]), "SourceUnavailable", "0 of 11 points: Redis at redis:6379"),
        (with_redis(*STEADY[:9], expected=11), "PointsMissing", "9 of 11 points"),
        (with_redis(*STEADY, point(11, instance=1)), "CountersRestarted", "restarted"),
        (with_redis(*STEADY, point(11, cpu=1)), "CountersRestarted", "reset"),
        (with_redis(point(0)), "PointsMissing", "a single point"),
        (with_redis(*STEADY[:5], expected=11, missed=[REFUSED | {"reason": "Rare", "count": 1}, REFUSED]),
         "SourceUnavailable", "5 of 11 points"),
    ],
)  # fmt: skip
def test_what_is_unknown_says_why_and_has_no_figure(measured: Record, reason: str, says: str) -> None:
    stage = stage_result(measured)
    assert stage.valid == "True"
    assert stage.redis is not None
    wire = stage.redis.to_wire()
    assert set(wire) == {"name", "points", "pointsExpected", "unknownReason", "unknownMessage"}
    assert wire["unknownReason"] == reason
    assert says in wire["unknownMessage"]


def test_nine_points_of_ten_are_enough() -> None:
    redis = stage_result(with_redis(*STEADY[:9], expected=10)).redis
    assert redis is not None
    assert redis.connections_peak == 108


def test_a_stage_without_a_required_measurement_is_invalid_and_keeps_its_other_figures() -> None:
    stage = stage_result(with_redis(expected=11, required=True, missed=[REFUSED]))
    assert (stage.valid, stage.invalid_reason) == ("False", "MeasurementMissing")
    assert stage.invalid_message == "required measurement cache: 0 of 11 points: Redis at redis:6379: refused"
    assert stage.requests == 2
    assert stage_result(with_redis(*STEADY, required=True)).valid == "True"


def test_a_problem_of_the_load_is_named_before_a_missing_measurement() -> None:
    lost = {"problems": [{"reason": "WorkerLost", "message": "gone"}], "complete": False}
    assert stage_result(with_redis(expected=11, required=True, **lost)).invalid_reason == "WorkerLost"


def test_several_stages_are_pooled_by_their_counters_and_times() -> None:
    short = with_redis(point(0, 5, memory=7), point(1, 5, cpu=SECOND, commands=10, evicted=3, memory=1))
    long = with_redis(point(0, 9), point(3, 20, cpu=SECOND, commands=90, evicted=4, memory=9))
    both = pooled([short, long])
    assert both is not None
    assert both.redis is not None
    assert both.redis.to_wire() == {
        "name": "cache",
        "points": 4,
        "pointsExpected": 4,
        "connectionsPeak": 20,
        "connectionsMean": 10,
        "cpuMillicores": 500,
        "cpuMicrocores": 500_000,
        "opsPerSecond": 25,
        "evictedKeys": 7,
        "memoryBytesPeak": 2**20,
    }


def test_what_is_unknown_in_one_stage_is_unknown_over_all() -> None:
    both = pooled([with_redis(*STEADY), with_redis(expected=11, missed=[REFUSED])])
    assert both is not None
    assert both.redis is not None
    assert (both.redis.unknown_reason, both.redis.connections_peak) == ("PartlyUnknown", None)
    assert "unknown in 1 of 2 stages" in (both.redis.unknown_message or "")


def test_an_attempt_that_ended_before_its_window_has_no_points() -> None:
    ended = with_redis(series=[], complete=False, window={"startedAt": None, "durationMicros": 0})
    assert stage_result(ended).redis is None


def test_without_measurements_there_are_none_in_the_status() -> None:
    assert "redis" not in stage_result(record(endpoint(histogram([1000])))).to_wire()


def test_a_figure_is_found_by_the_measurements_name_and_the_fields_name() -> None:
    stage = stage_result(with_redis(*STEADY))
    assert value_of(stage, "cache", "connectionsPeak") == 110
    assert value_of(stage, "cache", "name") is None
    assert value_of(stage, "cache", "nothing") is None
    assert value_of(stage, "other", "connectionsPeak") is None
    assert value_of(stage_result(with_redis(expected=11)), "cache", "connectionsPeak") is None
