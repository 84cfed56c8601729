"""The pictures of a report. Nothing in them is a mean of percentiles: what is drawn is of one histogram each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadtest.api.figures import Figures
from loadtest.api.status import RunResult, VariantResult
from loadtest.report import series
from loadtest.report.document import Band, Chart, Line, Mark, Table, table
from loadtest.report.result import Result
from loadtest.report.tables import stage_figures, stages, valid_stages
from loadtest.results.tables import DASH
from loadtest_injector.histogram import Histogram

_CURVE = (
    "10", "20", "30", "40", "50", "60", "70", "80", "85", "90", "92.5", "95", "97", "98", "99", "99.5", "99.7", "99.9",
    "99.95", "99.97", "99.99", "99.995", "99.999",
)  # fmt: skip
"""Where the percentile curve has its points."""

_CURVE_TICKS = tuple(
    (1 / (1 - float(text) / 100), f"{text} %") for text in ("50", "90", "99", "99.9", "99.99", "99.999")
)

Text = Callable[[float | None], str]
Stored = Mapping[str, Any]


def plain(value: float | None) -> str:
    """A figure in a chart's table."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"  # noqa: PLR2004 - three digits, and no less than the unit


def values_table(heading: str, lines: Sequence[Line], x_text: Text = plain, y_text: Text = plain) -> Table:
    """The table behind a chart: one row for each place on the x axis, in order, one column for each line."""
    found = [dict(line.points) for line in lines]
    places = sorted({x for points in found for x in points})
    rows = [[x_text(x), *(y_text(points.get(x)) for points in found)] for x in places]
    return table([heading, *(line.label for line in lines)], rows)


def over_time(result: Result, run: RunResult) -> list[Chart]:
    """One repeat over its windows' time: throughput and failures, users, percentiles. Empty without its records."""
    found: list[series.Block] = []
    users: list[tuple[float, float | None]] = []
    connections: list[tuple[float, float | None]] = []
    bands: list[Band] = []
    begin = 0.0
    for stage in run.stages:
        read = result.digest(stage)
        if read is None or not read.blocks:
            continue
        end = begin + read.blocks[-1].end
        found += [block.later(begin) for block in read.blocks]
        connections += [(begin + at, clients) for at, clients in read.redis]
        users += [(begin, stage.users), (end, stage.users)]
        bands.append(Band(begin, end, f"{stage.injectors} inj."))
        begin = end
    if not found:
        return []

    def line(label: str, style: int, value: Callable[[series.Block], float | None]) -> Line:
        return Line(label, tuple((block.middle, value(block)) for block in found), style)

    rates = [
        line("requests/s", 0, lambda block: block.requests_per_second),
        line("failures/s", 1, lambda block: block.failures_per_second),
    ]
    times = [
        line(f"p{percent}", style, lambda block, percent=percent: block.millis.get(percent))  # type: ignore[misc] # a default binds the loop's value
        for style, percent in enumerate(series.PERCENTS)
    ]
    shared: dict[str, Any] = {"x_label": "seconds of the windows", "bands": tuple(bands)}
    drawn = [
        Chart(
            "Requests and failures, in blocks of 10 s",
            y_label="per second",
            lines=tuple(rates),
            table=_timed(rates),
            **shared,
        ),
        Chart("Users", y_label="users", lines=(Line("users", tuple(users)),), table=_users(bands, users), **shared),
        Chart(
            "Response time, in blocks of 10 s",
            y_label="milliseconds",
            lines=tuple(times),
            table=_timed(times),
            **shared,
        ),
    ]
    if connections:
        redis = (Line("connected clients", tuple(connections)),)
        drawn.append(Chart("Redis connections", y_label="clients", lines=redis, table=_timed(redis), **shared))
    return drawn


def _timed(lines: Sequence[Line]) -> Table:
    return values_table("Seconds", lines)


def _users(bands: Sequence[Band], users: Sequence[tuple[float, float | None]]) -> Table:
    rows = [[f"{band.start:,.0f} to {band.end:,.0f}", plain(users[2 * number][1])] for number, band in enumerate(bands)]
    return table(["Seconds", "users"], rows)


def against_injectors(
    result: Result,
    title: str,
    y_label: str,
    value: Callable[[Figures], float | None],
    marks: Sequence[Mark] = (),
) -> Chart | None:
    """A figure against the injectors of a stage, a line for each variant; None where nothing was measured.

    Where a variant has several repeats, the line goes through their pooled histograms and the repeats are dots; without
    the records there are dots alone.
    """
    lines: list[Line] = []
    for style, variant in enumerate(result.variants):
        through: list[tuple[float, float | None]] = []
        dots: list[tuple[float, float | None]] = []
        for index, injectors in stages(result):
            together = stage_figures(result, variant, index)
            repeats = valid_stages(variant, index)
            if len(together) == 1:
                through.append((injectors, value(together[0])))
            if len(repeats) > 1:
                dots += [(injectors, value(repeat)) for repeat in repeats]
        if any(y is not None for _, y in through):
            lines.append(Line(variant.name, tuple(sorted(through)), style))
        if any(y is not None for _, y in dots):
            lines.append(Line(f"{variant.name}, repeats", tuple(dots), style, dots=True))
    if not lines:
        return None
    return Chart(
        title,
        "injectors",
        y_label,
        tuple(lines),
        _by_injectors(lines),
        marks=tuple(marks),
        x_ticks=tuple((float(injectors), str(injectors)) for injectors in sorted({n for _, n in stages(result)})),
    )


def _by_injectors(lines: Sequence[Line]) -> Table:
    """As `values_table`, with all repeats of one place in one cell."""
    places = sorted({x for line in lines for x, _ in line.points})
    rows = [
        [plain(x), *(" / ".join(plain(y) for at, y in line.points if at == x) or DASH for line in lines)]
        for x in places
    ]
    return table(["Injectors", *(line.label for line in lines)], rows)


def percentile_curve(result: Result, index: int | None, title: str) -> Chart | None:
    """Response time at each percentile, on logarithmic axes; of one stage, or of all valid in every variant."""
    lines = []
    chosen = [index] if index is not None else shared_stages(result)
    for style, variant in enumerate(result.variants):
        histogram = _successes(result, variant, chosen)
        if histogram is None or not histogram.count:
            continue
        points = [
            (1 / (1 - float(percent) / 100), (histogram.percentile(percent) or 0) / 1000)
            for percent in _CURVE
            if histogram.count * (1 - float(percent) / 100) >= 1
        ]
        drawn = tuple((x, y) for x, y in points if y > 0)
        if drawn:
            lines.append(Line(variant.name, drawn, style))
    if not lines:
        return None
    last = max(x for line in lines for x, _ in line.points)
    percents = {1 / (1 - float(text) / 100): f"{text} %" for text in _CURVE}
    return Chart(
        title,
        "percentile",
        "milliseconds",
        tuple(lines),
        values_table("Percentile", lines, x_text=lambda x: percents[x] if x is not None else DASH),
        x_log=True,
        y_log=True,
        x_ticks=tuple(tick for tick in _CURVE_TICKS if tick[0] <= last),
    )


def shared_stages(result: Result) -> list[int]:
    """The stages that are valid, at least once, in every variant: only these make the same load."""
    return [index for index, _ in stages(result) if all(valid_stages(variant, index) for variant in result.variants)]


def _successes(result: Result, variant: VariantResult, indexes: Sequence[int]) -> Histogram | None:
    """The requests of these stages, all repeats; None where a record is missing."""
    merged = Histogram()
    for index in indexes:
        for stage in valid_stages(variant, index):
            read = result.digest(stage)
            if read is None:
                return None
            merged.merge(read.successes)
    return merged


def injector_health(result: Result) -> Chart | None:
    """The highest CPU of any worker in each block, a line for each repeat of each variant; None without records."""
    lines: list[Line] = []
    bands: list[Band] = []
    for variant in result.variants:
        for run in variant.runs:
            begin = 0.0
            points: list[tuple[float, float | None]] = []
            mine: list[Band] = []
            for stage in run.stages:
                read = result.digest(stage)
                if read is None:
                    continue
                cpu = read.health.cpu_percent_blocks
                points += [(begin + block.middle, value) for block, value in zip(read.blocks, cpu, strict=False)]
                end = begin + (read.blocks[-1].end if read.blocks else 0)
                mine.append(Band(begin, end, f"{stage.injectors} inj."))
                begin = end
            bands = mine if len(mine) > len(bands) else bands
            if points:
                label = f"{variant.name}, repeat {run.repeat}" if len(variant.runs) > 1 else variant.name
                lines.append(Line(label, tuple(points), len(lines)))
    if not lines:
        return None
    return Chart(
        "CPU of the busiest injector pod, in blocks of 10 s",
        "seconds of the windows",
        "percent of a core",
        tuple(lines),
        values_table("Seconds", lines),
        bands=tuple(bands),
        marks=(Mark(90, "a stage above 90 % is invalid", level=True),),
    )
