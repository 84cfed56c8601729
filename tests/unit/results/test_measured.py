from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.api.figures import Figures, value_of
from loadtest.results.figures import pooled, stage_result
from loadtest.results.record import Record, parse
from tests.unit.results.records import endpoint, histogram, record, stored

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


MIB = 2**20


def interval(at: float, pod: int, cores: float, *, span: float = 10, mib: int = 100) -> list[int]:
    return [round(at * SECOND), round(span * SECOND), pod, round(cores * 1e9), mib * MIB]


def with_pods(
    *points: list[int], before: Any = None, after: Any = None, available: int | None = 3000, missed: Any = (),
    required: bool = False, seconds: int = 60,
) -> Record:  # fmt: skip
    """A minute with the pods runner-a and runner-b."""
    before = {"runner-a": 0, "runner-b": 2} if before is None else before
    fields = ["atMicros", "spanMicros", "pod", "cpuNanocores", "memoryBytes"]
    series = {
        "name": "runner", "kind": "pods", "fields": fields, "points": list(points), "problems": list(missed),
        "expected": 0,
    }  # fmt: skip
    body = {"namespace": "runner", "pods": sorted(before), "cpuMillicoresAvailable": available}
    pods = {name: {"restarts": restarts} for name, restarts in before.items()}
    order = {
        "injectors": 2,
        "users": 400,
        "context": {"pods": pods},
        "measurements": [{"name": "runner", "required": required, "pods": body}],
    }
    whole = stored(
        endpoint(histogram([1000])),
        order=order,
        series=[series],
        window={"startedAt": "2026-01-01T12:00:00.000000+00:00", "durationMicros": seconds * SECOND},
    )
    whole["podsAtEnd"] = pods if after is None else {name: {"restarts": n} for name, n in after.items()}
    return parse(whole)


MINUTE = [interval(at, pod, 0.5 + pod) for at in range(10, 70, 10) for pod in (0, 1)]


def test_the_cpu_of_the_target_is_the_sum_of_its_pods_means() -> None:
    runner = stage_result(with_pods(*MINUTE)).runner
    assert runner is not None
    assert runner.to_wire() == {
        "name": "runner",
        "points": 12,
        "pods": 2,
        "restarts": 0,
        "cpuMillicores": 2000,
        "cpuMillicoresAvailable": 3000,
        "memoryBytesPeak": 100 * MIB,
        "coveredPermille": 1000,
    }


def test_an_interval_counts_with_its_share_in_the_window_and_none_counts_twice() -> None:
    before = interval(5, 0, 8, span=10)  # half of it before the window
    rest = [interval(at, 0, 2) for at in (15, 25, 35, 45, 55)]
    after = interval(65, 0, 8, mib=300)  # half of it after the window
    overlapping = interval(16, 0, 50, span=1, mib=100)
    late = interval(75, 0, 99, mib=900)
    one = with_pods(before, *rest, after, before={"runner-a": 0})
    runner = stage_result(one).runner
    assert runner is not None
    # 5 s at 8 cores, 50 s at 2, 5 s at 8.
    assert (runner.cpu_millicores, runner.memory_bytes_peak) == (3000, 300 * MIB)
    more = with_pods(before, *rest, after, late, before={"runner-a": 0})
    assert stage_result(more).runner == runner.model_copy(update={"points": 8})
    twice = with_pods(before, *rest, *rest, after, before={"runner-a": 0})
    assert stage_result(twice).runner == runner.model_copy(update={"points": 12})
    blurred = stage_result(with_pods(before, *rest, after, overlapping, before={"runner-a": 0})).runner
    assert blurred is not None
    assert blurred.cpu_millicores == round((40 + 20 + 50 + 9 * 2 + 60 + 40) / 60 * 1000)


def test_restarts_are_those_of_the_stage_alone() -> None:
    runner = stage_result(with_pods(*MINUTE, after={"runner-a": 1, "runner-b": 5})).runner
    assert runner is not None
    assert runner.restarts == 4


@pytest.mark.parametrize(
    ("measured", "reason", "says"),
    [
        (with_pods(missed=[REFUSED]), "SourceUnavailable", "pod runner-a is known for 0 % of the window: Redis"),
        (with_pods(*(one for one in MINUTE if one[2] == 0)), "PointsMissing", "pod runner-b is known for 0 %"),
        (with_pods(*MINUTE[:10]), "PointsMissing", "pod runner-a is known for 83 %"),
        (with_pods(*MINUTE, after={"runner-a": 0}), "PodsChanged", "pods came or went"),
        (with_pods(*MINUTE, after={"runner-a": 0, "runner-c": 0}), "PodsChanged", "pods came or went"),
        (with_pods(before={}), "PointsMissing", "no pods"),
    ],
)
def test_pods_that_are_not_known_for_nine_tenths_of_the_window_are_unknown(
    measured: Record, reason: str, says: str
) -> None:
    stage = stage_result(measured)
    assert stage.valid == "True"
    assert stage.runner is not None
    wire = stage.runner.to_wire()
    assert set(wire) == {"name", "points", "unknownReason", "unknownMessage"}
    assert wire["unknownReason"] == reason
    assert says in wire["unknownMessage"]


def test_required_pods_that_are_unknown_make_the_stage_invalid() -> None:
    stage = stage_result(with_pods(*MINUTE[:10], required=True))
    assert (stage.valid, stage.invalid_reason) == ("False", "MeasurementMissing")
    assert stage_result(with_pods(*MINUTE, required=True)).valid == "True"


def test_pods_over_several_stages_are_weighted_by_their_time() -> None:
    short = with_pods(interval(10, 0, 1, mib=7), interval(10, 1, 1), seconds=10)
    both = pooled([short, with_pods(*MINUTE, available=2000)])
    assert both is not None
    assert both.runner is not None
    assert both.runner.cpu_millicores == 2000
    assert both.runner.cpu_millicores_available is None, "it was not the same in all stages"
    assert (both.runner.pods, both.runner.memory_bytes_peak) == (2, 100 * MIB)


def with_query(*values: int, expected: int, required: bool = False) -> Record:
    points = [[number * SECOND, value] for number, value in enumerate(values)]
    series = {
        "name": "queue", "kind": "prometheus", "fields": ["atMicros", "valueMilli"], "points": points,
        "problems": [], "expected": expected,
    }  # fmt: skip
    asked = {"url": "http://prometheus", "query": "up", "stepSeconds": 1, "delaySeconds": 0}
    order = {
        "injectors": 2,
        "users": 400,
        "measurements": [{"name": "queue", "required": required, "prometheus": asked}],
    }
    return record(endpoint(histogram([1000])), order=order, series=[series])


def test_a_query_has_its_mean_and_its_extremes() -> None:
    (query,) = stage_result(with_query(-500, 1000, 1001, expected=3)).measurements or ()
    assert query.to_wire() == {
        "name": "queue", "points": 3, "pointsExpected": 3, "meanMilli": 500, "minMilli": -500, "maxMilli": 1001
    }  # fmt: skip
    (both,) = (pooled([with_query(0, expected=1), with_query(10, 20, expected=2)]) or Figures()).measurements or ()
    assert (both.points, both.mean_milli) == (3, 10)


def test_a_query_with_gaps_is_unknown_and_never_zero() -> None:
    stage = stage_result(with_query(0, 0, expected=3))
    (query,) = stage.measurements or ()
    assert (query.unknown_reason, query.mean_milli) == ("PointsMissing", None)
    assert value_of(stage, "queue", "meanMilli") is None
    assert value_of(stage_result(with_query(0, 0, expected=2)), "queue", "meanMilli") == 0


@given(st.lists(st.integers(1, 15), min_size=1, max_size=12), st.integers(0, 4000))
def test_a_steady_pod_uses_what_it_uses_however_its_intervals_lie(spans: list[int], millicores: int) -> None:
    ends = [sum(spans[: number + 1]) for number in range(len(spans))]
    points = [interval(end, 0, millicores / 1000, span=span) for end, span in zip(ends, spans, strict=True)]
    runner = stage_result(with_pods(*points, before={"runner-a": 0}, seconds=20)).runner
    assert runner is not None
    known = min(ends[-1], 20) / 20
    assert (runner.cpu_millicores == millicores) if known >= 0.9 else runner.unknown_reason == "PointsMissing"
