"""The figures of a stage, of a variant, and of comparisons: whole numbers with the unit in their name.

Every percentile is that of RESULTS: the smallest value with at least ceil(pN) values not above it, from one histogram
of all requests it is about; percentiles are never averaged, but for `oldDefinition`, which says so in its name.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from loadtest.api.measured import Measured, PodsFigures, QueryFigures, RedisFigures
from loadtest.api.model import ListMap, StatusModel, Timestamp

Validity = Literal["True", "False", "Unknown"]
LoadMode = Literal["Closed", "Open"]


class Latency(StatusModel):
    """Exact percentiles of the response times of successful requests, in microseconds."""

    p50: int = Field(description="Median.")
    p66: int = Field(description="66th percentile.")
    p75: int = Field(description="75th percentile.")
    p80: int = Field(description="80th percentile.")
    p90: int = Field(description="90th percentile.")
    p95: int = Field(description="95th percentile.")
    p98: int = Field(description="98th percentile.")
    p99: int = Field(description="99th percentile.")
    p999: int = Field(description="99.9th percentile.")
    p9999: int = Field(description="99.99th percentile.")
    min: int = Field(description="Shortest time.")
    mean: int = Field(description="Arithmetic mean of all times.")
    max: int = Field(description="Longest time.")


class Interval(StatusModel):
    """Where the true value lies, 95 of 100 times."""

    low: int = Field(description="Not below this.")
    high: int = Field(description="Not above this.")


class LatencyIntervals(StatusModel):
    """How sure the percentiles are, taken as a sample of requests one by one; absent where those are too few."""

    p50: Interval | None = Field(default=None, description="Of the median.")
    p95: Interval | None = Field(default=None, description="Of the 95th percentile; from 72 requests on.")
    p99: Interval | None = Field(default=None, description="Of the 99th percentile; from 368 requests on.")
    p999: Interval | None = Field(default=None, description="Of the 99.9th percentile; from 3,688 requests on.")


class ShortLatency(StatusModel):
    """The percentiles that tell most, in microseconds."""

    p50: int = Field(description="Median.")
    p99: int = Field(description="99th percentile.")
    max: int | None = Field(default=None, description="Longest time.")


class MethodFigures(StatusModel):
    """Requests of one HTTP method."""

    requests: int = Field(description="Requests that began in the window, failed ones too.")
    latency_micros: Latency | None = Field(
        default=None, description="Response times of the successful ones, in microseconds; absent where there are none."
    )


class OldDefinition(StatusModel):
    """Figures as past reports have them: request-weighted means of the percentiles of each endpoint, in microseconds.

    They are no percentiles of anything; they are here to be compared with those reports alone.
    """

    p50_micros: int = Field(description="Request-weighted mean of the endpoints' medians.")
    p90_micros: int = Field(description="Request-weighted mean of the endpoints' 90th percentiles.")
    p95_micros: int = Field(description="Request-weighted mean of the endpoints' 95th percentiles.")
    p99_micros: int = Field(description="Request-weighted mean of the endpoints' 99th percentiles.")
    p999_micros: int = Field(description="Request-weighted mean of the endpoints' 99.9th percentiles.")
    gets_p99_micros: int | None = Field(default=None, description='"GETs (99th)": the same of p99, over GETs alone.')
    posts_p99_micros: int | None = Field(default=None, description='"POSTs (99th)": the same of p99, over POSTs alone.')
    all_p99_micros: int | None = Field(default=None, description='"All requests (99th)": the same of p99, over all.')


class WarmUp(StatusModel):
    """What was sent before the first window; part of no result."""

    requests: int = Field(description="Requests that began in the warm-up.")
    failures: int = Field(description="Those that failed.")
    latency_micros: ShortLatency | None = Field(
        default=None, description="Response times of the successful ones, in microseconds."
    )


class InvalidAttempt(StatusModel):
    """An attempt at a stage that was run again."""

    attempt: int = Field(description="Which attempt, counted from 1.")
    reason: str = Field(description="Why it cannot be relied on, in one word.")
    message: str = Field(default="", description="Why, in a sentence.")


class ResultRef(StatusModel):
    """Where the stage record is stored from which every figure can be recomputed."""

    name: str = Field(description="Name of the ConfigMap, or its beginning where there are several parts.")
    parts: int = Field(default=1, description="Number of parts, -p0 and on; with one part too.")
    sha256: str = Field(description="SHA-256 of the joined parts, in hexadecimal.")


class Figures(StatusModel):
    """What was measured, over the window of one stage or over several pooled.

    What was not measured is absent, never zero.
    """

    requests: int | None = Field(default=None, description="Requests that began in the window, failed ones too.")
    failures: int | None = Field(default=None, description="Requests that failed.")
    failure_kinds: dict[str, int] | None = Field(
        default=None,
        description="The failures by kind: refused (no connection), reset, timeout, tls, protocol (no proper HTTP, or "
        "above a limit), status, assertion (the answer is not the one that was expected), other; kinds without a "
        "failure are left out.",
    )
    launches: int | None = Field(
        default=None, description="Journeys launched: finished requests to /session; of scenario.requests alone."
    )
    submissions: int | None = Field(
        default=None, description="Journeys gone through to their end; of scenario.requests alone."
    )
    requests_per_second: int | None = Field(
        default=None, description="Requests divided by the window's length, rounded."
    )
    requests_per_second_milli: int | None = Field(
        default=None, description="The same in thousandths of a request per second."
    )
    average_content_bytes: int | None = Field(
        default=None, description="Mean size of the bodies of all responses, in bytes."
    )
    latency_micros: Latency | None = Field(
        default=None,
        description="Response times of the successful requests, in microseconds; absent where there are none.",
    )
    latency_interval_micros: LatencyIntervals | None = Field(
        default=None,
        description="95 % sampling intervals of the percentiles, in microseconds; they say nothing of how much another "
        "run would differ.",
    )
    failure_latency_micros: ShortLatency | None = Field(
        default=None, description="Response times of the failed requests, kept apart, in microseconds."
    )
    gets: MethodFigures | None = Field(default=None, description="The GETs among them.")
    posts: MethodFigures | None = Field(default=None, description="The POSTs among them.")
    old_definition: OldDefinition | None = Field(
        default=None, description="Request-weighted means of percentiles, for comparison with past reports."
    )
    injector_delay_micros: ShortLatency | None = Field(
        default=None,
        description="By how much later than intended requests began: what the injectors themselves add, in "
        "microseconds. In closed load, how far users fell behind their pacing.",
    )
    intended_latency_micros: Latency | None = Field(
        default=None,
        description="In open load: times of the successful requests from their arrivals on, so with what they waited "
        "for a free user, in microseconds. latencyMicros is from the actual start on.",
    )
    arrivals: int | None = Field(default=None, description="In open load: arrivals that were due in the window.")
    dropped_arrivals: int | None = Field(
        default=None,
        description="In open load: arrivals of the window that were not begun in it, because they waited longer than "
        "requestTimeout or still waited at its end.",
    )
    carried_arrivals: int | None = Field(
        default=None,
        description="In open load: requests of the window whose arrivals were due before it. requests is arrivals - "
        "droppedArrivals + carriedArrivals.",
    )
    redis: RedisFigures | None = Field(default=None, description="The Redis server, where one is measured.")
    runner: PodsFigures | None = Field(default=None, description="The target's pods, where they are measured.")
    measurements: Annotated[list[QueryFigures], ListMap("name")] | None = Field(
        default=None, description="The named queries, where there are some."
    )

    def measured(self) -> Iterator[Measured]:
        """The measurements beside the load, unknown ones too."""
        yield from (one for one in (self.redis, self.runner) if one is not None)
        yield from self.measurements or ()


class StageResult(Figures):
    """One stage of one repeat."""

    index: int = Field(description="Which stage of load.stages, counted from 0.")
    injectors: int = Field(description="Injectors of the stage.")
    users: int = Field(description="Users of all injectors.")
    attempt: int = Field(default=1, description="Which attempt at the stage this is, counted from 1.")
    valid: Validity = Field(description="Whether the figures can be relied on; Unknown until that is judged.")
    invalid_reason: str | None = Field(default=None, description="Why not, in one word.")
    invalid_message: str | None = Field(default=None, description="Why not, in a sentence.")
    started_at: Timestamp | None = Field(default=None, description="Start of the window.")
    duration_millis: int | None = Field(default=None, description="Length of the window on the master's clock.")
    finished_at: Timestamp | None = Field(
        default=None, description="When the attempt ended: its record was collected, or it was lost."
    )
    warm_up: WarmUp | None = Field(default=None, description="The warm-up before this window, if there was one.")
    invalid_attempts: list[InvalidAttempt] | None = Field(
        default=None, description="Earlier attempts at this stage that could not be relied on."
    )
    result_ref: ResultRef | None = Field(default=None, description="Where the stage record is stored.")
    notes: list[str] | None = Field(
        default=None,
        description="What is worth knowing of the stage though it does not make it invalid, such as a worker that was "
        "near its CPU, with the remedy.",
    )
    load: LoadMode | None = Field(
        default=None, description="Closed: users wait for answers. Open: requests arrive at a fixed rate."
    )
    backlog_peak: int | None = Field(
        default=None,
        description="In open load: the most arrivals that waited at once for a free user, at one worker; each worker "
        "has a queue of its own.",
    )
    missed_objectives: list[str] | None = Field(
        default=None, description="Names of the objectives that this stage missed."
    )
    unknown_objectives: list[str] | None = Field(
        default=None,
        description="Names of the objectives that this stage cannot judge: too few requests, or not measured.",
    )


def value_of(figures: Figures, measurement: str, field: str) -> int | None:
    """One figure by the measurement's name and the field's name in the status, such as `connectionsPeak`.

    None where it is unknown, or where there is no such measurement or field.
    """
    for one in figures.measured():
        if one.name == measurement:
            value = one.to_wire().get(field)
            return value if isinstance(value, int) else None
    return None
