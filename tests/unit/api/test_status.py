from datetime import datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from loadtest.api.conditions import is_true
from loadtest.api.status import (
    TERMINAL,
    Figures,
    LoadTestStatus,
    Phase,
    RunResult,
    StageResult,
    VariantResult,
    initial_status,
)
from tests.unit.api.statuses import LATENCY, full_comparison, full_stage


def test_the_status_of_a_new_loadtest_reads_as_in_progress():
    status = LoadTestStatus.model_validate(initial_status())
    assert (status.phase, status.observed_generation) == (Phase.PENDING, -1)
    assert is_true(status.conditions, "Reconciling")
    assert not is_true(status.conditions, "Ready")
    assert status.to_wire() == initial_status()


def test_a_whole_status_comes_back_from_the_wire_as_it_was():
    figures = Figures(requests=1, requests_per_second=1, latency_micros=LATENCY)
    variant = VariantResult(
        name="two-threads",
        pooled=figures,
        runs=[RunResult(repeat=1, position=3, stages=[full_stage(0), full_stage(1)])],
    )
    status = LoadTestStatus(phase=Phase.RUNNING, run_id="7c1f", variants=[variant])
    assert LoadTestStatus.model_validate(status.to_wire()) == status


def test_the_wire_has_the_names_of_the_contract():
    stage = full_stage(0).to_wire()
    assert stage["latencyMicros"] | {"p999": 201_000, "p9999": 1_201_000} == stage["latencyMicros"]
    assert stage["oldDefinition"] == {
        "p50Micros": 1, "p90Micros": 2, "p95Micros": 3, "p99Micros": 4, "p999Micros": 5, "getsP99Micros": 6,
        "postsP99Micros": 7, "allP99Micros": 8,
    }  # fmt: skip
    assert (stage["requestsPerSecond"], stage["requestsPerSecondMilli"]) == (2464, 2_463_869)
    assert stage["resultRef"]["name"] == "ldt-0123456789abcdef-r100-s10-a2"
    assert stage["startedAt"] == "2026-01-02T00:00:00Z"


def test_what_was_not_measured_is_absent_and_not_zero():
    stage = StageResult(index=0, injectors=1, users=200, valid="False", invalid_reason="MasterLost")
    assert stage.to_wire() == {
        "index": 0, "injectors": 1, "users": 200, "attempt": 1, "valid": "False", "invalidReason": "MasterLost",
    }  # fmt: skip


def test_fields_of_a_newer_version_are_ignored():
    wire = initial_status() | {"novelty": [{"verdict": "Better"}], "variants": [{"name": "a", "redis": {}}]}
    status = LoadTestStatus.model_validate(wire)
    assert status.variants == [VariantResult(name="a")]


def test_a_stage_cannot_be_there_twice():
    with pytest.raises(ValidationError, match="duplicate index: 3"):
        RunResult(repeat=1, position=1, stages=[full_stage(3), full_stage(3)])


def test_times_are_kept_in_utc():
    status = LoadTestStatus(started_at=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=2))))
    assert status.to_wire()["startedAt"] == "2026-01-02T01:04:05.000678Z"


def test_an_ended_run_is_succeeded_failed_or_aborted():
    assert {str(phase) for phase in TERMINAL} == {"Succeeded", "Failed", "Aborted"}


def test_the_largest_status_stays_well_under_what_etcd_takes():
    stages = [full_stage(index) for index in range(50)]
    runs = [RunResult(repeat=repeat, position=repeat, stages=stages) for repeat in range(1, 5)]
    variant = VariantResult(name="v" * 40, pooled=full_stage(0), runs=runs)
    comparison = [full_comparison(f"v{number}", stages=1) for number in range(200)]
    status = LoadTestStatus(variants=[variant], comparison=comparison)
    assert len(status.model_dump_json(by_alias=True, exclude_none=True)) < 900_000
