"""Results as Markdown tables, in the columns that people paste into their reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loadtest.api.figures import Figures, MethodFigures, StageResult
from loadtest.api.measured import Measured, RedisFigures
from loadtest.api.status import LoadTestStatus, VariantResult

DASH = "-"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, prose: bool = False) -> str:
    """A Markdown table whose columns line up as plain text too; all but the first are right-aligned, unless `prose`."""
    body = [list(row) for row in rows]
    widths = [max(3, *(len(cells[column]) for cells in [list(header), *body])) for column in range(len(header))]

    def text(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if n == 0 or prose else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rules = ("-" * width if n == 0 or prose else "-" * (width - 1) + ":" for n, width in enumerate(widths))
    rule = "| " + " | ".join(rules) + " |"
    return "\n".join([text(header), rule, *(text(row) for row in body)])


def millis(micros: int | None) -> str:
    """Microseconds as milliseconds: whole from 100 ms, with one digit from 10 ms, with two below."""
    if micros is None:
        return DASH
    value = micros / 1000
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"  # noqa: PLR2004 - as documented


def count(number: int | None) -> str:
    """A count with thousands separators."""
    return DASH if number is None else f"{number:,}"


EXACT = [
    "50th",
    "90th",
    "95th",
    "99th",
    "99.9th",
    "GETs 99th",
    "POSTs 99th",
    "All 99th",
    "Total requests",
    "Failures",
    "Requests/s",
]
OLD = ["50th", "90th", "95th", "99th", "99.9th", "GETs", "POSTs", "All requests"]


def exact_cells(figures: Figures) -> list[str]:
    """The cells under `EXACT`."""
    latency = figures.latency_micros
    rate = figures.requests_per_second_milli
    return [
        *(millis(getattr(latency, field) if latency else None) for field in ("p50", "p90", "p95", "p99", "p999")),
        millis(_p99(figures.gets)),
        millis(_p99(figures.posts)),
        millis(latency.p99 if latency else None),
        count(figures.requests),
        count(figures.failures),
        DASH if rate is None else f"{rate / 1000:,.1f}",
    ]


def _p99(method: MethodFigures | None) -> int | None:
    return method.latency_micros.p99 if method and method.latency_micros else None


def old_cells(figures: Figures) -> list[str]:
    """The cells under `OLD`."""
    old = figures.old_definition
    fields = (
        "p50_micros",
        "p90_micros",
        "p95_micros",
        "p99_micros",
        "p999_micros",
        "gets_p99_micros",
        "posts_p99_micros",
        "all_p99_micros",
    )
    return [millis(getattr(old, field) if old else None) for field in fields]


def report(name: str, status: LoadTestStatus) -> str:
    """The whole result: variants, stages, and the old figures."""
    variants = status.variants or []
    parts = [f"# {name}", "", f"Run {status.run_id}: {status.phase.value}{_verdict(status)}.", ""]
    pooled = [(variant.name, variant.pooled) for variant in variants if variant.pooled]
    if pooled:
        parts += [
            "## Variants",
            "",
            "All valid stages and repeats pooled, in milliseconds. Percentiles are exact, of successful requests.",
            "",
            markdown_table(["Variant", *EXACT], ([name, *exact_cells(figures)] for name, figures in pooled)),
            "",
        ]
    for variant in variants:
        parts += [
            f"## Stages of {variant.name}",
            "",
            markdown_table(["Stage", "Injectors", *EXACT, "Valid"], _rows(variant)),
            "",
        ]
    parts += _kinds(variants)
    if pooled:
        parts += [
            "## By the old definition",
            "",
            "Request-weighted means of the percentiles of each endpoint, in milliseconds, as past reports have them;",
            "GETs, POSTs and all requests are means of 99th percentiles. Only to be compared with those reports: they",
            "are no percentiles.",
            "",
            markdown_table(["Variant", *OLD], ([name, *old_cells(figures)] for name, figures in pooled)),
            "",
        ]
    parts += _beside(variants)
    return "\n".join(parts).rstrip() + "\n"


def _verdict(status: LoadTestStatus) -> str:
    return f", verdict {status.summary.verdict.value}" if status.summary and status.summary.verdict else ""


def _rows(variant: VariantResult) -> Iterable[list[str]]:
    several = len(variant.runs) > 1
    for run in variant.runs:
        for stage in run.stages:
            label = f"{stage.index} (repeat {run.repeat})" if several else str(stage.index)
            yield [label, str(stage.injectors), *exact_cells(stage), _valid(stage)]


def _valid(stage: StageResult) -> str:
    return "yes" if stage.valid == "True" else f"no: {stage.invalid_reason}" if stage.valid == "False" else "running"


def _kinds(variants: Sequence[VariantResult]) -> list[str]:
    """The failures by kind, of the stages that had some."""
    failed = [
        (variant.name, run.repeat, stage, stage.failure_kinds)
        for variant in variants
        for run in variant.runs
        for stage in run.stages
        if stage.failure_kinds
    ]
    if not failed:
        return []
    kinds = sorted({kind for *_, counts in failed for kind in counts})
    rows = [
        [name, str(repeat), str(stage.index), *(count(counts.get(kind, 0)) for kind in kinds)]
        for name, repeat, stage, counts in failed
    ]
    table = markdown_table(["Variant", "Repeat", "Stage", *kinds], rows)
    return ["## Failures by kind", "", "Stages that had failures; messages are in the records.", "", table, ""]


REDIS = ["Connections (peak)", "Connections (mean)", "CPU", "Commands/s", "Evicted keys", "Memory (peak)"]


def redis_cells(redis: RedisFigures | None) -> list[str]:
    """The cells under `REDIS`. CPU is in percent of one core, memory in MiB."""
    if redis is None:
        return [DASH] * len(REDIS)
    cpu, memory = redis.cpu_microcores, redis.memory_bytes_peak
    return [
        count(redis.connections_peak),
        count(redis.connections_mean),
        DASH if cpu is None else f"{cpu / 10_000:.2f} %",
        count(redis.ops_per_second),
        count(redis.evicted_keys),
        DASH if memory is None else f"{memory / 2**20:,.1f} MiB",
    ]


def _beside(variants: Sequence[VariantResult]) -> list[str]:
    """What was measured beside the load; nothing where nothing was."""
    rows = [(label, figures.redis) for label, figures in _each(variants) if figures.redis is not None]
    if not rows:
        return []
    table = markdown_table(["Variant", "Stage", *REDIS], ([*label, *redis_cells(redis)] for label, redis in rows))
    lines = ["## Redis", "", "CPU of one core, from the server's own counters over the window.", "", table, ""]
    return lines + _unknown(rows)


def _each(variants: Sequence[VariantResult]) -> Iterator[tuple[tuple[str, str], Figures]]:
    for variant in variants:
        for run in variant.runs:
            for stage in run.stages:
                repeat = f" (repeat {run.repeat})" if len(variant.runs) > 1 else ""
                yield (variant.name, f"{stage.index}{repeat}"), stage
        if variant.pooled is not None:
            yield (variant.name, "all"), variant.pooled


def _unknown(rows: Sequence[tuple[tuple[str, str], Measured]]) -> list[str]:
    """Why figures are missing."""
    return [
        f"Unknown, {' '.join(label)}: {one.unknown_reason}: {one.unknown_message}"
        for label, one in rows
        if one.unknown_reason
    ]


def ratio(permille: int | None) -> str:
    """A ratio in thousandths as a decimal number."""
    return DASH if permille is None else f"{permille / 1000:.3f}"
