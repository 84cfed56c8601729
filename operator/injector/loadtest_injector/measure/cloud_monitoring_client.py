"""One question to Google Cloud Monitoring, by its own client, as a process of its own.

    python -m loadtest_injector.measure.cloud_monitoring_client < question > answer

Of its own, because gRPC and gevent, on which the Locust master runs, do not share a process well, and because the
client takes some 60 MiB that nobody needs between two questions. Credentials are those of the pod: workload identity,
through the metadata server.

The question: {project, filter, aligner, reducer, alignmentSeconds, start, end}, times in seconds since the epoch. The
answer: {points: [[end of the alignment period, value], ...]} or {reason, message}.

LOADTEST_CLOUD_MONITORING_ENDPOINT names an emulator, host and port: it is asked in plain text and without credentials.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import google.auth.exceptions
import grpc  # type: ignore[import-untyped] # it ships no types
from google.api_core import exceptions
from google.cloud.monitoring_v3 import Aggregation, ListTimeSeriesRequest, MetricServiceClient, TimeInterval
from google.cloud.monitoring_v3.services.metric_service.transports import MetricServiceGrpcTransport

from loadtest_injector.measure.series import BAD_ANSWER, QUOTA_EXCEEDED, SOURCE_UNAVAILABLE, UNAUTHORIZED, Missed

TIMEOUT_SECONDS = 30.0
_PAGE_SIZE = 10_000


def connect(emulator: str | None) -> MetricServiceClient:
    """The client. Raises Missed where there are no credentials."""
    try:
        if emulator:
            channel = grpc.insecure_channel(emulator)
            return MetricServiceClient(transport=MetricServiceGrpcTransport(channel=channel))
        return MetricServiceClient()
    except google.auth.exceptions.GoogleAuthError as error:
        raise Missed(UNAUTHORIZED, f"no credentials: {error}") from error


def ask(client: MetricServiceClient, question: Mapping[str, Any]) -> list[tuple[float, float]]:
    """End of the alignment period and value of each point, in the order of time. Raises Missed."""
    try:
        return _points(client, question)
    except google.auth.exceptions.GoogleAuthError as error:
        raise Missed(UNAUTHORIZED, f"credentials: {error}") from error
    except (exceptions.Unauthenticated, exceptions.PermissionDenied) as error:
        raise Missed(UNAUTHORIZED, str(error)) from error
    except (exceptions.ResourceExhausted, exceptions.TooManyRequests) as error:
        raise Missed(QUOTA_EXCEEDED, str(error)) from error
    except (exceptions.ServerError, exceptions.RetryError) as error:
        raise Missed(SOURCE_UNAVAILABLE, str(error)) from error
    except exceptions.GoogleAPICallError as error:
        raise Missed(BAD_ANSWER, str(error)) from error


def _points(client: MetricServiceClient, question: Mapping[str, Any]) -> list[tuple[float, float]]:
    start, end = (datetime.fromtimestamp(question[edge], UTC) for edge in ("start", "end"))
    request = ListTimeSeriesRequest(
        name=f"projects/{question['project']}",
        filter=question["filter"],
        interval=TimeInterval(start_time=start, end_time=end),
        aggregation=Aggregation(
            alignment_period={"seconds": question["alignmentSeconds"]},
            per_series_aligner=getattr(Aggregation.Aligner, question["aligner"]),
            cross_series_reducer=getattr(Aggregation.Reducer, question["reducer"]),
        ),
        page_size=_PAGE_SIZE,
    )
    found: dict[float, float] = {}
    series: set[str] = set()
    # The pager asks for page after page; one series may go on from one to the next.
    for part in client.list_time_series(request, retry=None, timeout=TIMEOUT_SECONDS):
        series.add(f"{sorted(part.metric.labels.items())} {sorted(part.resource.labels.items())}")
        for point in part.points:
            found[point.interval.end_time.timestamp()] = _number(point.value)
    if len(series) > 1:
        raise Missed(BAD_ANSWER, f"the filter gives {len(series)} series, and the reducer did not make them one")
    return sorted(found.items())


def _number(value: Any) -> float:
    kind = value._pb.WhichOneof("value")  # noqa: SLF001 - proto-plus has no other way to tell which it is
    if kind == "double_value":
        return float(value.double_value)
    if kind == "int64_value":
        return float(value.int64_value)
    raise Missed(BAD_ANSWER, f"points of {kind or 'no value'}: name an aligner that makes numbers of them")


def main() -> None:
    """Answer the question on standard input."""
    try:
        question = json.load(sys.stdin)
        points = ask(connect(os.environ.get("LOADTEST_CLOUD_MONITORING_ENDPOINT")), question)
        answer: dict[str, Any] = {"points": points}
    except Missed as missed:
        answer = {"reason": missed.reason, "message": missed.message}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
