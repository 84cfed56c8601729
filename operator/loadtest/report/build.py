"""A result -> the document of its report."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from loadtest.api.figures import Figures, StageResult
from loadtest.api.status import RunResult, VariantResult
from loadtest.report import beside, capacity, charts, compared, judged, spread, tables
from loadtest.report.arrivals import arrivals
from loadtest.report.decision import decision
from loadtest.report.document import Chart, Document, Mark, Section, Table, table
from loadtest.report.profile import profile
from loadtest.report.result import Result
from loadtest.report.settings import Naming, naming
from loadtest.results.tables import DASH, count, millis

EXACT_NOTE = (
    "In milliseconds, over all valid stages and repeats. Percentiles are exact, of all successful requests; failed "
    "ones are counted apart."
)
OLD_NOTE = (
    "The same tables as past reports have them: request-weighted means of the percentiles of each endpoint, failed "
    "requests among them. They are no percentiles of anything; use them to compare with those reports, and for nothing "
    "else."
)


LONG = {
    "Benchmark profile",
    "How sure the percentiles are",
    "Environment observations",
    "Injector health",
    "By the old definition",
}
"""Sections that are too much for a screen."""


def brief(made: Document) -> Document:
    """What fits on a screen: without long sections, and of the others without what is folded or one variant's alone."""
    return replace(made, sections=tuple(_brief(each) for each in made.sections if each.title not in LONG))


def _brief(section: Section) -> Section:
    kept = (each for each in section.sections if not each.folded and not each.title.endswith(" breakdown"))
    return replace(section, sections=tuple(kept))


def document(result: Result) -> Document:
    """The whole report."""
    names = naming(result)
    sections = [
        decision(result),
        _profile(result),
        _results(result, names),
        arrivals(result),
        judged.objectives(result),
        compared.section(result.status.comparison),
        capacity.section(result),
        judged.sampling(result),
        spread.section(result),
        beside.environment(result, names),
        _curves(result),
        _over_time(result),
        _health(result),
        _doubts(result),
        _old(result, names),
    ]
    return Document(result.name, tuple(_lead(result)), tuple(each for each in sections if each is not None))


def _lead(result: Result) -> list[str]:
    status = result.status
    verdict = f", verdict {status.summary.verdict.value}" if status.summary and status.summary.verdict else ""
    found = [f"Run {status.run_id or 'not started'}: {status.phase.value}{verdict}.{_when(result)}"]
    if result.spec is not None and result.spec.target.send_secure_cookies_over_http:
        found.append("Secure cookies were sent over plain http (spec.target.sendSecureCookiesOverHttp).")
    if result.spec is not None and result.spec.load.mode == "Closed":
        found.append(
            "Closed load: each user waits for an answer before it goes on, so a slow target gets fewer requests. Read "
            "percentiles together with requests per second."
        )
    return found


def _when(result: Result) -> str:
    begun = [stage.started_at for _, _, stage in result.stages() if stage.started_at is not None]
    return f" First window {_time(min(begun))}." if begun else ""


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _profile(result: Result) -> Section:
    return Section("Benchmark profile", tables=(profile(result),))


def _results(result: Result, names: Naming) -> Section | None:
    if not tables.measured(result):
        return Section("Results", text=("No stage is valid.",)) if result.variants else None
    breakdowns = tuple(
        Section(f"{names.titles[variant.name]} breakdown", tables=(tables.breakdown(variant, tables.EXACT),))
        for variant in result.variants
    )
    return Section(
        "Results",
        text=(EXACT_NOTE,),
        tables=(
            tables.results(result, names, tables.EXACT, beside.extra_columns(result)),
            tables.counts(result),
            tables.percentiles(result),
            tables.by_metric(result, names, tables.EXACT),
        ),
        charts=_load_charts(result),
        sections=(
            Section(
                "99th percentile timings per load stage",
                tables=(tables.per_stage(result, names, tables.EXACT),),
            ),
            *breakdowns,
        ),
    )


def _load_charts(result: Result) -> tuple[Chart, ...]:
    """Percentiles and throughput against injectors, where there is more than one stage."""
    if len(tables.stages(result)) < 2:  # noqa: PLR2004 - one stage makes no line
        return ()

    def percentile(field: str) -> Chart | None:
        def value(figures: Figures) -> float | None:
            return getattr(figures.latency_micros, field) / 1000 if figures.latency_micros else None

        name = f"{field[1:]}th percentile"
        return charts.against_injectors(
            result, f"{name} against injectors", "milliseconds", value, _bounds(result, field[1:])
        )

    def rate(figures: Figures) -> float | None:
        milli = figures.requests_per_second_milli
        return None if milli is None else milli / 1000

    found = [percentile(field) for field in ("p50", "p95", "p99")]
    found.append(
        charts.against_injectors(result, "Throughput against injectors", "requests per second", rate, _knees(result))
    )
    return tuple(chart for chart in found if chart is not None)


def _knees(result: Result) -> list[Mark]:
    """Where each variant's throughput bends."""
    bends: dict[int, list[str]] = {}
    for one in result.status.capacity or ():
        if one.knee_injectors is not None:
            bends.setdefault(one.knee_injectors, []).append(one.variant)
    return [Mark(at, f"knee of {', '.join(names)}") for at, names in sorted(bends.items())]


def _bounds(result: Result, percentile: str) -> list[Mark]:
    """The objectives of a percentile."""
    asked = (result.spec.objectives if result.spec else None) or ()
    return [
        Mark(one.latency.below.millis, f"objective {one.name}", level=True)
        for one in asked
        if one.latency is not None and one.latency.percentile == percentile
    ]


def _curves(result: Result) -> Section | None:
    whole = charts.percentile_curve(result, None, "All stages that are valid in every variant")
    if whole is None:
        return None
    several = len(tables.stages(result)) > 1
    each = [
        charts.percentile_curve(result, index, f"Stage {index}: {injectors} injectors")
        for index, injectors in (tables.stages(result) if several else ())
    ]
    inner = Section("Stage by stage", charts=tuple(chart for chart in each if chart is not None), folded=True)
    return Section("Percentile curve", charts=(whole,), sections=(inner,) if inner.charts else ())


def _over_time(result: Result) -> Section | None:
    passes = [(variant, run) for variant in result.variants for run in variant.runs]
    found = [
        Section(_pass(variant, run), charts=tuple(drawn), folded=number > 0)
        for number, (variant, run) in enumerate(passes)
        if (drawn := charts.over_time(result, run))
    ]
    return Section("Over time", sections=tuple(found)) if found else None


def _pass(variant: VariantResult, run: RunResult) -> str:
    return f"{variant.name}, repeat {run.repeat}" if len(variant.runs) > 1 else variant.name


def _health(result: Result) -> Section | None:
    rows = []
    for variant, run, stage in result.stages():
        read = result.digest(stage)
        if read is None:
            continue
        found = read.health
        rows.append(
            [
                _pass(variant, run),
                str(stage.injectors),
                str(found.workers),
                DASH if found.cpu_percent_max is None else f"{found.cpu_percent_max:.1f}",
                millis(found.delay_micros_p99),
                millis(found.clock_uncertainty_micros),
                count(found.gaps),
            ]
        )
    if not rows:
        return None
    header = ["Variant", "Injectors", "Pods", "CPU % (highest 10 s)", "Own delay p99", "Clock +-", "Parts missing"]
    drawn = charts.injector_health(result)
    return Section(
        "Injector health",
        text=("Of the worst pod of each stage; times in milliseconds. A stage above 90 % CPU is invalid.",),
        tables=(table(header, rows),),
        charts=(drawn,) if drawn is not None else (),
    )


def _doubts(result: Result) -> Section | None:
    """What cannot be relied on, and failures."""
    bullets = [_invalid(variant, run, stage) for variant, run, stage in result.stages() if stage.valid == "False"]
    for variant, run, stage in result.stages():
        bullets += [
            f"{_pass(variant, run)}, stage {stage.index}, attempt {attempt.attempt} was run again: "
            f"{attempt.reason}: {attempt.message}"
            for attempt in stage.invalid_attempts or ()
        ]
    kinds = _failures(result)
    if not bullets and kinds is None:
        return None
    return Section("Failures and invalid stages", bullets=tuple(bullets), tables=(kinds,) if kinds else ())


def _invalid(variant: VariantResult, run: RunResult, stage: StageResult) -> str:
    return (
        f"{_pass(variant, run)}, stage {stage.index} ({stage.injectors} injectors) is INVALID: "
        f"{stage.invalid_reason}: {stage.invalid_message}"
    )


def _failures(result: Result) -> Table | None:
    rows = [
        [variant.name, kind, count(number), count(figures.requests)]
        for variant, figures in tables.measured(result)
        for kind, number in sorted((figures.failure_kinds or {}).items())
    ]
    return table(["Variant", "Kind", "Failures", "Of requests"], rows) if rows else None


def _old(result: Result, names: Naming) -> Section | None:
    if not any(figures.old_definition for _, figures in tables.measured(result)):
        return None
    breakdowns = tuple(
        Section(
            f"{names.titles[variant.name]} breakdown, old definition", tables=(tables.breakdown(variant, tables.OLD),)
        )
        for variant in result.variants
    )
    return Section(
        "By the old definition",
        text=(OLD_NOTE,),
        tables=(
            tables.by_metric(result, names, tables.OLD),
            tables.by_method(result, tables.OLD),
            tables.results(result, names, tables.OLD, beside.extra_columns(result)),
        ),
        sections=(
            Section(
                "99th percentile timings per load stage, old definition",
                tables=(tables.per_stage(result, names, tables.OLD),),
            ),
            *breakdowns,
        ),
        folded=True,
    )
