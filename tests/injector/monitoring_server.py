"""A server of google.monitoring.v3.MetricService in this process: what it answers is scripted by a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import grpc
from google.cloud.monitoring_v3 import ListTimeSeriesRequest, ListTimeSeriesResponse

Answer = Callable[[ListTimeSeriesRequest], ListTimeSeriesResponse]


class Refusal(Exception):  # noqa: N818 - an answer of the server
    """The call ends with this status."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class Monitoring:
    """Answers each question with the next of `answers`; the last one is given again and again."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[ListTimeSeriesRequest] = []
        self.address = ""

    def list_time_series(self, request: ListTimeSeriesRequest, context: Any) -> ListTimeSeriesResponse:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        try:
            return answer(request)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))
            raise


@contextmanager
def monitoring_server() -> Iterator[Monitoring]:
    """Run the server on a free port of loopback."""
    monitoring = Monitoring()
    server = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.unary_unary_rpc_method_handler(
        monitoring.list_time_series,
        request_deserializer=ListTimeSeriesRequest.deserialize,
        response_serializer=ListTimeSeriesResponse.serialize,
    )
    service = grpc.method_handlers_generic_handler("google.monitoring.v3.MetricService", {"ListTimeSeries": handler})
    server.add_generic_rpc_handlers((service,))
    monitoring.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield monitoring
    finally:
        server.stop(None).wait()


def series(*points: tuple[float, float], kind: str = "double_value", **labels: str) -> dict[str, Any]:
    """One series; `points` are seconds since the epoch and values, newest first as the API gives them."""
    return {
        "metric": {"type": "redis.googleapis.com/clients/connected", "labels": labels},
        "points": [
            {"interval": {"end_time": datetime.fromtimestamp(at, UTC)}, "value": {kind: value}}
            for at, value in sorted(points, reverse=True)
        ],
    }


def page(*found: dict[str, Any], more: str = "") -> Answer:
    """An answer of these series; `more` is the token of the next page."""
    return lambda _request: ListTimeSeriesResponse(time_series=list(found), next_page_token=more)


def refuse(code: grpc.StatusCode, message: str) -> Answer:
    """An answer that is a refusal."""

    def answer(_request: ListTimeSeriesRequest) -> ListTimeSeriesResponse:
        raise Refusal(code, message)

    return answer
