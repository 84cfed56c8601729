"""A record's figures: exact percentiles of merged histograms, counts, and the old figures under their own name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction

from loadtest.api.figures import (
    Figures,
    Interval,
    Latency,
    LatencyIntervals,
    MethodFigures,
    OldDefinition,
    ShortLatency,
    StageResult,
    WarmUp,
)
from loadtest.results import measured
from loadtest.results.record import Endpoint, Record
from loadtest.results.rounding import rounded
from loadtest.results.sampling import interval_ranks
from loadtest_injector.histogram import Histogram

PERCENTILES = {
    "p50": "50",
    "p66": "66",
    "p75": "75",
    "p80": "80",
    "p90": "90",
    "p95": "95",
    "p98": "98",
    "p99": "99",
    "p999": "99.9",
    "p9999": "99.99",
}
"""Field of the status -> percentile, written exactly: a float would give the wrong rank."""

MAX_NOTES = 5
MAX_NOTE = 300
"""Notes of a stage in the status, and characters of each; the record has all of them."""


def merge(endpoints: Iterable[Endpoint]) -> Histogram:
    """One histogram of all the requests of `endpoints`."""
    merged = Histogram()
    for endpoint in endpoints:
        merged.merge(endpoint.histogram)
    return merged


def latency(histogram: Histogram) -> Latency | None:
    """The percentiles of a histogram, in microseconds; None of an empty one."""
    if histogram.min_micros is None or histogram.max_micros is None:
        return None
    return Latency(
        **{field: histogram.percentile(percent) or 0 for field, percent in PERCENTILES.items()},
        min=histogram.min_micros,
        mean=rounded(Fraction(histogram.sum_micros, histogram.count)),
        max=histogram.max_micros,
    )


def intervals(histogram: Histogram) -> LatencyIntervals | None:
    """The sampling intervals of a histogram's percentiles, in microseconds; None where all are too few."""
    found = {
        field: Interval(
            low=histogram.percentile(Fraction(100 * ranks.low, histogram.count)) or 0,
            high=histogram.percentile(Fraction(100 * ranks.high, histogram.count)) or 0,
        )
        for field in LatencyIntervals.model_fields
        if (ranks := interval_ranks(histogram.count, PERCENTILES[field])) is not None
    }
    return LatencyIntervals(**found) if found else None


def _short(histogram: Histogram) -> ShortLatency | None:
    full = latency(histogram)
    return ShortLatency(p50=full.p50, p99=full.p99, max=full.max) if full else None


def stage_result(record: Record) -> StageResult:
    """The entry of a stage in the status."""
    figures = _of([record])
    notes = [f"{note.reason}: {note.message}"[:MAX_NOTE] for note in record.notes[:MAX_NOTES]]
    problem = record.problems[0] if record.problems else measured.missing(record)
    valid = record.complete and problem is None
    whole = figures.model_dump() if record.duration_micros else {}
    return StageResult(
        **whole,
        index=record.stage,
        injectors=record.injectors,
        users=record.users,
        attempt=record.attempt,
        valid="True" if valid else "False",
        invalid_reason=None if valid else (problem.reason if problem else "Incomplete"),
        invalid_message=None if valid else (problem.message[:500] if problem else "the window was not run to its end"),
        started_at=datetime.fromisoformat(record.started_at) if record.started_at else None,
        duration_millis=record.duration_micros // 1000 if record.duration_micros else None,
        warm_up=_warm_up(record),
        notes=notes or None,
        load=record.load,
        backlog_peak=record.open.backlog_peak if record.open is not None else None,
    )


def pooled(records: Sequence[Record]) -> Figures | None:
    """The requests of several stages as if they were one: histograms merged, never percentiles averaged."""
    if not records:
        return None
    return _of(records)


def _of(records: Sequence[Record]) -> Figures:
    kinds: Counter[str] = Counter()
    for record in records:
        kinds.update(record.failure_kinds)
    figures = of_windows(
        [record.endpoints for record in records],
        sum(record.duration_micros for record in records),
        _sum(record.launches for record in records),
        _sum(record.submissions for record in records),
        kinds,
    )
    figures.injector_delay_micros = _short(_merged(record.delays for record in records))
    if opened := [record.open for record in records if record.open is not None]:
        figures.intended_latency_micros = latency(_merged(one.intended for one in opened))
        figures.arrivals = sum(one.arrivals for one in opened)
        figures.dropped_arrivals = sum(one.arrivals - one.begun for one in opened)
        figures.carried_arrivals = sum(one.carried_in for one in opened)
    return figures.model_copy(update=measured.beside(records))


def _merged(histograms: Iterable[Histogram | None]) -> Histogram:
    """One histogram of all; an empty one where one of them was not recorded."""
    merged = Histogram()
    for histogram in histograms:
        if histogram is None:
            return Histogram()
        merged.merge(histogram)
    return merged


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum; None where one of them was not counted."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def of_windows(
    windows: Sequence[Sequence[Endpoint]],
    duration_micros: int,
    launches: int | None = None,
    submissions: int | None = None,
    failure_kinds: Mapping[str, int] | None = None,
) -> Figures:
    """The figures of all requests of these windows, each given by its endpoints; `duration_micros` is their sum."""
    endpoints = [endpoint for window in windows for endpoint in window]
    good = [endpoint for endpoint in endpoints if endpoint.success]
    bad = [endpoint for endpoint in endpoints if not endpoint.success]
    requests = sum(endpoint.histogram.count for endpoint in endpoints)
    rate = Fraction(requests * 1_000_000, duration_micros) if duration_micros else None
    successful = merge(good)
    return Figures(
        requests=requests,
        failures=sum(endpoint.histogram.count for endpoint in bad),
        failure_kinds=dict(failure_kinds) if failure_kinds else None,
        launches=launches,
        submissions=submissions,
        requests_per_second=rounded(rate) if rate is not None else None,
        requests_per_second_milli=rounded(rate * 1000) if rate is not None else None,
        average_content_bytes=rounded(Fraction(sum(e.content_bytes for e in endpoints), requests))
        if requests
        else None,
        latency_micros=latency(successful),
        latency_interval_micros=intervals(successful),
        failure_latency_micros=_short(merge(bad)),
        gets=_method(endpoints, "GET"),
        posts=_method(endpoints, "POST"),
        old_definition=old_definition(windows),
    )


def _method(endpoints: Sequence[Endpoint], method: str) -> MethodFigures:
    mine = [endpoint for endpoint in endpoints if endpoint.method == method]
    return MethodFigures(
        requests=sum(endpoint.histogram.count for endpoint in mine),
        latency_micros=latency(merge(endpoint for endpoint in mine if endpoint.success)),
    )


def old_definition(windows: Sequence[Sequence[Endpoint]]) -> OldDefinition | None:
    """The request-weighted mean of per-endpoint percentiles, as past reports have it; not a percentile of anything.

    Locust keeps one row per method and name with failed requests in it, so outcomes are merged here, and only here.
    Over several stages past reports take the request-weighted mean of the stages' figures: that is the same mean over
    the rows of all stages.
    """
    rows: dict[tuple[int, str, str], Histogram] = {}
    for number, window in enumerate(windows):
        for endpoint in window:
            rows.setdefault((number, endpoint.method, endpoint.name), Histogram()).merge(endpoint.histogram)
    if not rows:
        return None

    def mean(percent: str, method: str | None = None) -> int | None:
        chosen = [row for (_, kind, _), row in rows.items() if method in {None, kind}]
        count = sum(row.count for row in chosen)
        if not count:
            return None
        return rounded(Fraction(sum(row.count * (row.percentile(percent) or 0) for row in chosen), count))

    return OldDefinition(
        p50_micros=mean("50") or 0,
        p90_micros=mean("90") or 0,
        p95_micros=mean("95") or 0,
        p99_micros=mean("99") or 0,
        p999_micros=mean("99.9") or 0,
        gets_p99_micros=mean("99", "GET"),
        posts_p99_micros=mean("99", "POST"),
        all_p99_micros=mean("99"),
    )


def _warm_up(record: Record) -> WarmUp | None:
    if not record.warm_up:
        return None
    return WarmUp(
        requests=sum(endpoint.histogram.count for endpoint in record.warm_up),
        failures=sum(endpoint.histogram.count for endpoint in record.warm_up if not endpoint.success),
        latency_micros=_short(merge(endpoint for endpoint in record.warm_up if endpoint.success)),
    )
