"""The tables of the reports that people wrote by hand, column for column, of exact figures and of the old definition.

Each table is made by one function for both: `Reading` says which figures it reads and what its columns are called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadtest.api.figures import Figures, Latency, StageResult
from loadtest.api.status import VariantResult
from loadtest.report.document import Table, table
from loadtest.report.result import Result
from loadtest.report.settings import Naming
from loadtest.results.tables import DASH, count, millis

Value = Callable[[Figures], int | None]
"""A figure in microseconds; None where it was not measured."""


@dataclass(frozen=True)
class Reading:
    """Which figures a table reads.

    Attributes:
        percentiles: 50th, 90th, 95th, 99th and 99.9th.
        gets, posts, everything: the 99th of GETs, of POSTs and of all requests, or the old means of it.
        method_columns: headings of the columns of GETs and POSTs.
    """

    percentiles: tuple[Value, ...]
    gets: Value
    posts: Value
    everything: Value
    method_columns: tuple[str, str]


def _exact(field: str) -> Value:
    return lambda figures: getattr(figures.latency_micros, field) if figures.latency_micros else None


def _old(field: str) -> Value:
    return lambda figures: getattr(figures.old_definition, f"{field}_micros") if figures.old_definition else None


def _method(method: str) -> Value:
    def value(figures: Figures) -> int | None:
        found = getattr(figures, method)
        return found.latency_micros.p99 if found and found.latency_micros else None

    return value


HEADINGS = ("50th", "90th", "95th", "99th", "99.9th")
_FIELDS = ("p50", "p90", "p95", "p99", "p999")

EXACT = Reading(
    tuple(_exact(field) for field in _FIELDS),
    _method("gets"),
    _method("posts"),
    _exact("p99"),
    ("GETs 99th", "POSTs 99th"),
)
OLD = Reading(
    tuple(_old(field) for field in _FIELDS),
    _old("gets_p99"),
    _old("posts_p99"),
    _old("all_p99"),
    ("GETs Average", "POSTs Average"),
)


def measured(result: Result) -> list[tuple[VariantResult, Figures]]:
    """The variants of which anything is valid, with their pooled figures."""
    return [(variant, variant.pooled) for variant in result.variants if variant.pooled is not None]


def results(
    result: Result, names: Naming, reading: Reading, more: Sequence[tuple[str, Callable[[Figures], str]]] = ()
) -> Table:
    """One row for each variant: percentiles over all its valid stages, requests, and `more` columns behind them."""
    rows = []
    for variant, figures in measured(result):
        cells = [millis(value(figures)) for value in reading.percentiles]
        rows.append([names.values[variant.name], *cells, count(figures.requests), *(cell(figures) for _, cell in more)])
    return table([names.heading, *HEADINGS, "Total Requests", *(heading for heading, _ in more)], rows)


def by_metric(result: Result, names: Naming, reading: Reading) -> Table:
    """The 99th percentiles of GETs, POSTs and all, a column for each variant."""
    chosen = measured(result)
    metrics = (
        ("Questionnaire GETs", reading.gets),
        ("Questionnaire POSTs", reading.posts),
        ("All requests", reading.everything),
    )
    rows = [[title, *(_with_unit(value(figures)) for _, figures in chosen)] for title, value in metrics]
    rows.append(["Total requests", *(count(figures.requests) for _, figures in chosen)])
    return table(["Metric", *(names.titles[variant.name] for variant, _ in chosen)], rows)


def by_method(result: Result, reading: Reading) -> Table:
    """The same, a row for each variant."""
    rows = [
        [variant.name, *(millis(value(figures)) for value in (reading.gets, reading.posts, reading.everything))]
        for variant, figures in measured(result)
    ]
    header = ["Variant", "GETs Response Time", "POSTs Response Time", "All requests Response Time"]
    return table(header, rows)


def _with_unit(micros: int | None) -> str:
    return DASH if micros is None else f"{millis(micros)}ms"


def counts(result: Result) -> Table:
    """Requests, failures, median, mean, extremes, content size and rate, a row for each variant."""
    header = (
        "Request Count", "Failure Count", "Median Response Time", "Average Response Time", "Min Response Time",
        "Max Response Time", "Average Content Size", "Requests/s",
    )  # fmt: skip
    rows = []
    for variant, figures in measured(result):
        times = [millis(_exact(field)(figures)) for field in ("p50", "mean", "min", "max")]
        size, rate = figures.average_content_bytes, figures.requests_per_second_milli
        rows.append(
            [
                variant.name,
                count(figures.requests),
                count(figures.failures),
                *times,
                count(size),
                DASH if rate is None else f"{rate / 1000:,.2f}",
            ]
        )
    return table(["Variant", *header], rows)


def percentiles(result: Result) -> Table:
    """Every percentile, a row for each variant."""
    header = ("50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.90%", "99.99%", "100%")
    fields = [*(field for field in Latency.model_fields if field.startswith("p")), "max"]
    rows = [
        [variant.name, *(millis(_exact(field)(figures)) for field in fields)] for variant, figures in measured(result)
    ]
    return table(["Variant", *header], rows)


def per_stage(result: Result, names: Naming, reading: Reading) -> Table:
    """The 99th percentile of each stage, a column for each variant."""
    rows = [
        [
            str(injectors),
            *(_cell(stage_figures(result, variant, index), reading.everything) for variant in result.variants),
        ]
        for index, injectors in stages(result)
    ]
    return table(["Number of injectors", *(names.titles[variant.name] for variant in result.variants)], rows)


def _cell(figures: Sequence[Figures], value: Value) -> str:
    return " / ".join(millis(value(each)) for each in figures) or DASH


def stages(result: Result) -> list[tuple[int, int]]:
    """Index and injectors of every stage that was run."""
    return sorted({(stage.index, stage.injectors) for _, _, stage in result.stages()})


def valid_stages(variant: VariantResult, index: int) -> list[StageResult]:
    """The valid repeats of one stage."""
    return [
        stage
        for run in variant.runs
        for stage in run.stages
        if stage.index == index and stage.valid == "True" and stage.requests
    ]


def stage_figures(result: Result, variant: VariantResult, index: int) -> list[Figures]:
    """One stage of a variant: its repeats pooled into one where their records are there, else each repeat by itself."""
    found = valid_stages(variant, index)
    if len(found) < 2:  # noqa: PLR2004 - one repeat is its own pool
        return list(found)
    together = result.pool(found)
    return [together] if together is not None else list(found)


def breakdown(variant: VariantResult, reading: Reading) -> Table:
    """One row for each stage of a variant."""
    several = len(variant.runs) > 1
    header = ["Load injector instances", *HEADINGS, *reading.method_columns, "Total Requests"]
    rows = []
    for run in variant.runs:
        for stage in run.stages:
            cells = [millis(value(stage)) for value in (*reading.percentiles, reading.gets, reading.posts)]
            label = f"{stage.injectors} (repeat {run.repeat})" if several else str(stage.injectors)
            rows.append([f"{label}{_doubt(stage)}", *cells, count(stage.requests)])
    return table(header, rows)


def _doubt(stage: StageResult) -> str:
    """A word behind a row whose figures cannot be relied on."""
    return {"True": "", "False": ", INVALID"}.get(stage.valid, ", running")
