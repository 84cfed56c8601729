"""What the figures are judged by: objectives, and how sure the percentiles are."""

from __future__ import annotations

from loadtest.api.figures import Interval, LatencyIntervals
from loadtest.api.spec import Objective
from loadtest.report.document import Section, table
from loadtest.report.result import Result
from loadtest.results.tables import DASH, millis

_MET = {"True": "met", "False": "MISSED", "Unknown": "unknown"}


def objectives(result: Result) -> Section | None:
    """Each objective, and whether it was met; None where there are none."""
    asked = {objective.name: objective for objective in (result.spec.objectives if result.spec else None) or ()}
    rows = [
        [
            each.name,
            _says(asked.get(each.name)),
            each.on_miss,
            _MET[each.met],
            f"{each.stages - each.missed_stages} of {each.stages}",
            each.message,
        ]
        for each in result.status.objectives or ()
    ]
    if not rows:
        return None
    header = ["Objective", "Asked", "On a miss", "Result", "Stages that met it", "Reason"]
    skipped = [
        f"{variant.name}, repeat {run.repeat}: stages {', '.join(map(str, run.skipped_stages))} were skipped, because "
        f"{run.stopped_by} was missed"
        for variant in result.variants
        for run in variant.runs
        if run.skipped_stages
    ]
    return Section("Objectives", bullets=tuple(skipped), tables=(table(header, rows, prose=True),))


def _says(objective: Objective | None) -> str:
    return objective.says() if objective is not None else DASH


def sampling(result: Result) -> Section | None:
    """Between which values the percentiles lie, 95 of 100 times, as far as the number of requests goes."""
    rows = [
        [variant.name, str(run.repeat), str(stage.injectors), *_between(stage.latency_interval_micros)]
        for variant, run, stage in result.stages()
        if stage.latency_interval_micros is not None
    ]
    if not rows:
        return None
    return Section(
        "How sure the percentiles are",
        text=(
            (
                "95 % intervals in milliseconds, of these requests taken as a sample; n/a where there are too few of "
                "them. They say nothing of how much another run would differ: only repeats do."
            ),
        ),
        tables=(table(["Variant", "Repeat", "Injectors", "50th", "95th", "99th", "99.9th"], rows),),
        folded=True,
    )


def _between(found: LatencyIntervals) -> list[str]:
    return [_interval(each) for each in (found.p50, found.p95, found.p99, found.p999)]


def _interval(found: Interval | None) -> str:
    return "n/a" if found is None else f"{millis(found.low)} to {millis(found.high)}"
