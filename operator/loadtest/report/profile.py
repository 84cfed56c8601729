"""The benchmark profile: what was run, as the first table of a report."""

from __future__ import annotations

from loadtest.api.spec import LoadTestSpec
from loadtest.report import settings
from loadtest.report.document import Table, table
from loadtest.report.result import Result
from loadtest.results.tables import DASH


def profile(result: Result) -> Table:
    """Option and value, in the order of the reports that people wrote by hand."""
    rows = _load(result.spec) if result.spec is not None else []
    rows += settings.rows(result)
    if result.spec is not None:
        rows += _rest(result, result.spec)
    return table(["Option", "Value"], rows, prose=True)


def _load(spec: LoadTestSpec) -> list[tuple[str, str]]:
    load = spec.load
    injectors = [str(stage.injectors) for stage in load.stages]
    one = set(injectors) == {"1"}
    per = "" if one else " (per load injector)"
    return [
        _scenario(spec),
        ("Run time", _run_time(spec)),
        *_pace(spec, per),
        (f"Clients{per}", str(load.users_per_injector)),
        (f"Hatch rate{per}", str(load.spawn_rate_per_injector)),
        *([] if one else [("Load injectors", ", ".join(injectors))]),
    ]


def _scenario(spec: LoadTestSpec) -> tuple[str, str]:
    if spec.scenario.locustfile is not None:
        return "Locustfile", spec.scenario.locustfile.config_map.key
    return "Requests file", spec.scenario.requests.config_map.key if spec.scenario.requests else DASH


def _pace(spec: LoadTestSpec, per: str) -> list[tuple[str, str]]:
    """What says when users send: their waits, the rate of an open load, or a locustfile, which says it itself."""
    if spec.load.rate_per_injector is not None:
        return [(f"Requests per second, open load{per}", str(spec.load.rate_per_injector))]
    if spec.scenario.locustfile is not None:
        return []
    wait = spec.load.wait_time
    return [("User wait time minimum", str(wait.min)), ("User wait time maximum", str(wait.max))]


def _run_time(spec: LoadTestSpec) -> str:
    durations = [str(stage.duration) for stage in spec.load.stages]
    if len(durations) == 1:
        return durations[0]
    return f"{durations[0]} x {len(durations)}" if len(set(durations)) == 1 else ", ".join(durations)


def _rest(result: Result, spec: LoadTestSpec) -> list[tuple[str, str]]:
    found = [("Warm-up", str(spec.load.warm_up)), ("Target", result.ran_on or spec.target.url)]
    if result.status.release is not None and result.status.release.chart:
        found.append(("Chart", result.status.release.chart))
    if spec.repeats > 1:
        found += [("Repeats", str(spec.repeats)), ("Order", spec.order)]
    return found
