"""What was measured beside the load: the environment observations of a report, as tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadtest.api.figures import Figures, StageResult
from loadtest.api.measured import Measured, PodsFigures, RedisFigures
from loadtest.api.status import RunResult, VariantResult
from loadtest.report import charts
from loadtest.report.document import Chart, Section, table
from loadtest.report.result import Result
from loadtest.report.settings import Naming
from loadtest.report.tables import measured, stages
from loadtest.results.tables import DASH, count

UNKNOWN = "unknown"

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


def environment(result: Result, names: Naming) -> Section | None:
    """Pace of each variant, and what was measured beside it; None where there is nothing to tell."""
    chosen = measured(result)
    bullets = [line for variant, figures in chosen if (line := _pace(variant, figures))]
    rows = _rows(chosen)
    if not bullets and not rows:
        return None
    header = ["Metric", *(names.titles[variant.name] for variant, _ in chosen)]
    return Section(
        "Environment observations",
        bullets=(*bullets, *_unknown(result)),
        tables=(table(header, rows),) if rows else (),
        charts=_charts(result),
        sections=(_redis(result),) if _has_redis(result) else (),
    )


def _pace(variant: VariantResult, figures: Figures) -> str:
    said = [_pods(figures.runner)] if figures.runner is not None and figures.runner.pods is not None else []
    if figures.requests_per_second is not None:
        said.append(f"~{count(figures.requests_per_second)} rps")
    if figures.launches is not None and figures.submissions is not None:
        said.append(f"~{count(figures.launches)} launches and ~{count(figures.submissions)} submissions")
    seconds = sum(stage.duration_millis or 0 for run in variant.runs for stage in run.stages if stage.valid == "True")
    across = f" (across {seconds / 60_000:,.3g} mins)" if seconds else ""
    return f"{variant.name}: {', '.join(said)}{across}" if said else ""


def _pods(found: PodsFigures) -> str:
    available = found.cpu_millicores_available
    return f"{count(found.pods)} instances" + ("" if available is None else f" ({available / 1000:,.4g} cores)")


def _rows(chosen: Sequence[tuple[VariantResult, Figures]]) -> list[list[str]]:
    """A row for each thing that was measured in any variant."""
    found = []
    if any(figures.redis for _, figures in chosen):
        found.append(["Redis connected clients", *(redis(each, "connections_peak") for _, each in chosen)])
        found.append(["Redis CPU", *(redis_cpu(each.redis) for _, each in chosen)])
    if any(figures.runner for _, figures in chosen):
        total = _available(chosen)
        of = "of available" if total is None else f"of {total / 1000:,.4g}"
        found.append([f"Runner cores used ({of})", *(cores(each.runner, each_of=total is None) for _, each in chosen)])
        found.append(["Requests/s for each core used", *(_rate_text(each) for _, each in chosen)])
        found.append(["Target memory, highest of a pod", *(memory(each.runner) for _, each in chosen)])
    queries = {query.name: None for _, figures in chosen for query in figures.measurements or ()}
    return found + [[f"{name}, mean (highest)", *(query_cell(each, name) for _, each in chosen)] for name in queries]


def _available(chosen: Sequence[tuple[VariantResult, Figures]]) -> int | None:
    """What the target's pods may count on, where that is the same in every variant."""
    found = {figures.runner.cpu_millicores_available for _, figures in chosen if figures.runner is not None}
    return found.pop() if len(found) == 1 else None


def rate_per_core(figures: Figures) -> float | None:
    """Requests per second for each core that the target's pods used; None where that is not known."""
    rate, pods = figures.requests_per_second_milli, figures.runner
    return None if rate is None or pods is None or not pods.cpu_millicores else rate / pods.cpu_millicores


def _rate_text(figures: Figures) -> str:
    rate = rate_per_core(figures)
    if rate is None:
        return UNKNOWN if figures.runner is not None and figures.runner.unknown_reason else DASH
    return f"{rate:,.1f}"


def cores(found: PodsFigures | None, *, each_of: bool) -> str:
    """CPU of the target's pods in cores; `each_of`: beside what they may count on."""
    if found is None or found.cpu_millicores is None:
        return UNKNOWN if found is not None and found.unknown_reason else DASH
    available = found.cpu_millicores_available
    of = f" of {available / 1000:.2f}" if each_of and available is not None else ""
    return f"{found.cpu_millicores / 1000:.2f}{of}"


def memory(found: PodsFigures | None) -> str:
    """Most memory of a single pod, in MiB."""
    if found is None or found.memory_bytes_peak is None:
        return UNKNOWN if found is not None and found.unknown_reason else DASH
    return f"{found.memory_bytes_peak / 2**20:,.1f} MiB"


def query_cell(figures: Figures, name: str) -> str:
    """Mean and highest value of a named query."""
    found = next((query for query in figures.measurements or () if query.name == name), None)
    if found is None or found.mean_milli is None or found.max_milli is None:
        return UNKNOWN if found is not None and found.unknown_reason else DASH
    return f"{found.mean_milli / 1000:,.3f} ({found.max_milli / 1000:,.3f})"


def redis(figures: Figures, field: str) -> str:
    """One count of the Redis server: a dash where it was not measured, and a word where that did not succeed."""
    if figures.redis is None:
        return DASH
    return UNKNOWN if figures.redis.unknown_reason else count(getattr(figures.redis, field))


def redis_cpu(found: RedisFigures | None) -> str:
    """CPU of the Redis server in percent of one core."""
    if found is None or found.cpu_microcores is None:
        return UNKNOWN if found is not None and found.unknown_reason else DASH
    return f"{found.cpu_microcores / 10_000:.2f}%"


def _has_redis(result: Result) -> bool:
    return any(stage.redis is not None for _, _, stage in result.stages())


def _redis(result: Result) -> Section:
    rows = [
        [_label(variant, run), str(stage.injectors), *redis_cells(stage.redis)]
        for variant, run, stage in result.stages()
        if stage.redis is not None
    ]
    text = ("CPU of one core, from the server's own counters over the window.",)
    return Section("Redis, stage by stage", text, tables=(table(["Variant", "Injectors", *REDIS], rows),))


def _unknown(result: Result) -> list[str]:
    """Why figures are missing."""
    return [
        f"{_label(variant, run)}, {stage.injectors} injectors: {one.name} is unknown: "
        f"{one.unknown_reason}: {one.unknown_message}"
        for variant, run, stage in result.stages()
        for one in _each(stage)
        if one.unknown_reason
    ]


def _each(stage: StageResult) -> list[Measured]:
    return list(stage.measured())


def _label(variant: VariantResult, run: RunResult) -> str:
    return f"{variant.name}, repeat {run.repeat}" if len(variant.runs) > 1 else variant.name


def _charts(result: Result) -> tuple[Chart, ...]:
    if len(stages(result)) < 2:  # noqa: PLR2004 - one stage makes no line
        return ()
    wanted: tuple[tuple[str, str, Callable[[Figures], float | None]], ...] = (
        (
            "Redis connections against injectors",
            "connections at the peak",
            lambda figures: figures.redis.connections_peak if figures.redis else None,
        ),
        (
            "Redis CPU against injectors",
            "percent of a core",
            lambda figures: (
                figures.redis.cpu_microcores / 10_000
                if figures.redis and figures.redis.cpu_microcores is not None
                else None
            ),
        ),
        ("Requests per second for each core used", "requests per second and core", rate_per_core),
        (
            "Runner cores used against injectors",
            "cores",
            lambda figures: (
                figures.runner.cpu_millicores / 1000
                if figures.runner and figures.runner.cpu_millicores is not None
                else None
            ),
        ),
    )
    found = (charts.against_injectors(result, title, label, value) for title, label, value in wanted)
    return tuple(chart for chart in found if chart is not None)


def extra_columns(result: Result) -> list[tuple[str, Callable[[Figures], str]]]:
    """Columns that the table of results has behind the requests, where they were measured."""
    if any(figures.redis for _, figures in measured(result)):
        return [("Redis Connections (peak)", lambda figures: redis(figures, "connections_peak"))]
    return []
