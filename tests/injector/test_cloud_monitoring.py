"""Google Cloud Monitoring by its own client, in a process of its own, against a server that speaks MetricService."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.cloud.monitoring_v3 import Aggregation
from grpc import StatusCode

from loadtest_injector.measure import cloud_monitoring
from loadtest_injector.measure.series import Series
from loadtest_injector.measure.sources import CloudMonitoringSource
from loadtest_injector.measure.window import Window
from tests.injector.monitoring_server import Monitoring, monitoring_server, page, refuse, series

START = 1_767_225_600.0
FILTER = 'metric.type="redis.googleapis.com/clients/connected" AND resource.labels.instance_id="runner"'
ENDS = [START + 60 * number for number in range(1, 6)]
POINTS = [(at, 100.0 + number) for number, at in enumerate(ENDS)]


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[Monitoring]:
    monkeypatch.setattr(cloud_monitoring, "_FIRST_PAUSE", 0.01)
    with monitoring_server() as server:
        monkeypatch.setenv("LOADTEST_CLOUD_MONITORING_ENDPOINT", server.address)
        yield server


def collected(*, seconds: int = 300, alignment: int = 60, delay: float = 0) -> Series:
    """What is measured of a window of `seconds` that is just over."""
    end = time.monotonic_ns()
    window = Window(end - seconds * 10**9, end, START)
    source = CloudMonitoringSource("memorystore", "eq-test", FILTER, "ALIGN_MAX", "REDUCE_SUM", alignment, delay)
    found = Series("memorystore", "cloudMonitoring", cloud_monitoring.FIELDS, cloud_monitoring.expected(source, window))
    cloud_monitoring.collect(source, Path("/nowhere"), found, window)
    return found


def problems(found: Series) -> list[str]:
    return [reason for reason, _ in found.problems]


def test_it_asks_for_whole_alignment_periods_up_to_the_windows_end(google: Monitoring) -> None:
    google.answers = [page(series(*POINTS))]
    found = collected(seconds=330)
    assert found.expected == 5
    assert found.points == [(60_000_000 * n, 100_000 + 1000 * (n - 1)) for n in range(1, 6)]
    assert problems(found) == []
    (question,) = google.asked
    assert (question.name, question.filter) == ("projects/eq-test", FILTER)
    assert question.aggregation.alignment_period.total_seconds() == 60
    assert question.aggregation.per_series_aligner == Aggregation.Aligner.ALIGN_MAX
    assert question.aggregation.cross_series_reducer == Aggregation.Reducer.REDUCE_SUM
    assert question.interval.end_time.timestamp() == START + 330
    assert question.interval.start_time.timestamp() == START + 30


def test_the_pages_of_a_series_are_put_together(google: Monitoring) -> None:
    google.answers = [page(series(*POINTS[3:]), more="two"), page(series(*POINTS[:3]))]
    assert [value for _, value in collected().points] == [100_000, 101_000, 102_000, 103_000, 104_000]
    assert [question.page_token for question in google.asked] == ["", "two"]


def test_late_points_are_waited_for(google: Monitoring) -> None:
    google.answers = [page(), page(series(*POINTS[:3])), page(series(*POINTS))]
    found = collected()
    assert (len(found.points), len(google.asked)) == (5, 3)


def test_points_that_never_come_are_missing(google: Monitoring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_monitoring, "PATIENCE_SECONDS", 0.0)
    google.answers = [page(series(*POINTS[:2]))]
    found = collected()
    assert (len(found.points), found.expected, problems(found)) == (2, 5, [])


def test_the_delay_is_waited_for_first(google: Monitoring) -> None:
    google.answers = [page(series(*POINTS))]
    begun = time.monotonic()
    assert len(collected(delay=1.0).points) == 5
    assert time.monotonic() - begun >= 1.0


@pytest.mark.parametrize(
    ("code", "reason"),
    [(StatusCode.RESOURCE_EXHAUSTED, "QuotaExceeded"), (StatusCode.UNAVAILABLE, "SourceUnavailable")],
)
def test_a_quota_or_an_outage_passes(google: Monitoring, code: StatusCode, reason: str) -> None:
    google.answers = [refuse(code, "not now"), page(series(*POINTS))]
    found = collected()
    assert (len(found.points), problems(found), len(google.asked)) == (5, [reason], 2)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (StatusCode.UNAUTHENTICATED, "Unauthorized"),
        (StatusCode.PERMISSION_DENIED, "Unauthorized"),
        (StatusCode.INVALID_ARGUMENT, "BadAnswer"),
        (StatusCode.NOT_FOUND, "BadAnswer"),
    ],
)
def test_a_revoked_credential_or_a_wrong_filter_is_not_tried_again(
    google: Monitoring, code: StatusCode, reason: str
) -> None:
    google.answers = [refuse(code, "said the server")]
    found = collected()
    assert (found.points, len(google.asked)) == ([], 1)
    ((seen, message),) = found.problems
    assert (seen, "said the server" in message) == (reason, True)


def test_whole_numbers_are_numbers_and_distributions_are_not(google: Monitoring) -> None:
    google.answers = [page(series(*((at, 7) for at in ENDS), kind="int64_value"))]
    assert {value for _, value in collected().points} == {7000}
    empty: Any = {"count": 1}
    google.answers = [page(series(*((at, empty) for at in ENDS), kind="distribution_value"))]
    assert problems(collected()) == ["BadAnswer"]


def test_several_series_are_no_answer_and_nan_is_no_point(google: Monitoring) -> None:
    google.answers = [page(series(*POINTS, role="primary"), series(*POINTS, role="replica"))]
    found = collected()
    assert (found.points, problems(found)) == ([], ["BadAnswer"])
    google.answers = [page(series(*POINTS[:4], (ENDS[4], float("nan"))), more=""), page(series(*POINTS))]
    assert len(collected().points) == 5
    assert len(google.asked) == 3


def test_a_window_shorter_than_the_alignment_has_no_points(google: Monitoring) -> None:
    found = collected(seconds=59)
    assert (found.expected, found.points, problems(found), google.asked) == (0, [], ["BadAnswer"], [])


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LOADTEST_CLOUD_MONITORING_ENDPOINT", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert problems(collected()) == ["Unauthorized"]
