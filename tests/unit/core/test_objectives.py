from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.figures import Figures, StageResult
from loadtest.api.measured import RedisFigures
from loadtest.api.objectives import Objective
from loadtest.core.expand import InvalidSpec, RunPlan
from loadtest.core.objectives import is_met, judge, mark_skipped, results, tally
from tests.unit.core.builders import SMALL, latency, plan, running, stage, variants


def objective(name: str = "p99", on_miss: str = "Report", **kind: Any) -> dict[str, Any]:
    kind = kind or {"latency": {"percentile": "99", "below": "1s"}}
    return {"name": name, "onMiss": on_miss, **kind}


def planned(*objectives: dict[str, Any]) -> RunPlan:
    return plan(SMALL | {"objectives": list(objectives)})


def figures(requests: int = 100_000, failures: int = 0, p99: int = 999_999, rate: int = 2_400_000) -> Figures:
    return Figures(
        requests=requests, failures=failures, latency_micros=latency(p99, p9999=p99), requests_per_second_milli=rate
    )


LATENCY = {"latency": {"percentile": "99", "below": "1s"}}
RATIO = {"failureRatio": {"below": "0.1%"}}
CONNECTIONS = {"measurement": {"name": "cache", "field": "connectionsPeak", "below": 500}}
COMMANDS = {"measurement": {"name": "cache", "field": "opsPerSecond", "above": 90}}
RATE = {"throughput": {"above": "2399.5/s"}}


@pytest.mark.parametrize(
    ("kind", "measured", "met"),
    [
        (LATENCY, figures(p99=999_999), True),
        (LATENCY, figures(p99=1_000_000), False),
        (LATENCY, figures(requests=368), True),
        (LATENCY, figures(requests=367), None),
        (LATENCY, figures(requests=367, p99=9_000_000), None),
        (LATENCY, figures(requests=400, failures=33), None),
        (LATENCY, Figures(requests=400, failures=400), None),
        (LATENCY, Figures(), None),
        ({"latency": {"percentile": "99.99", "below": "1s"}}, figures(requests=36_886), None),
        ({"latency": {"percentile": "99.99", "below": "1s"}}, figures(requests=36_887), True),
        (RATIO, figures(100_000, 99), True),
        (RATIO, figures(100_000, 100), False),
        (RATIO, figures(3_688, 0), True),
        (RATIO, figures(3_687, 0), None),
        (RATIO, figures(100, 1), None),
        (RATIO, figures(100, 2), False),
        (RATIO, figures(1, 1), False),
        (RATIO, Figures(), None),
        ({"failureRatio": {"below": "100%"}}, figures(1, 0), True),
        ({"failureRatio": {"below": "100%"}}, figures(1, 1), False),
        (RATE, figures(rate=2_399_501), True),
        (RATE, figures(rate=2_399_500), False),
        (RATE, Figures(), None),
        (CONNECTIONS, Figures(redis=RedisFigures(name="cache", connections_peak=499)), True),
        (CONNECTIONS, Figures(redis=RedisFigures(name="cache", connections_peak=500)), False),
        (CONNECTIONS, Figures(redis=RedisFigures(name="cache", unknown_reason="Unreachable")), None),
        (CONNECTIONS, Figures(redis=RedisFigures(name="another", connections_peak=1)), None),
        (CONNECTIONS, Figures(), None),
        (COMMANDS, Figures(redis=RedisFigures(name="cache", ops_per_second=91)), True),
        (COMMANDS, Figures(redis=RedisFigures(name="cache", ops_per_second=90)), False),
    ],
)
def test_figures_meet_an_objective_or_miss_it_or_cannot_tell(
    kind: dict[str, Any], measured: Figures, met: bool | None
) -> None:
    assert is_met(Objective.model_validate(objective(**kind)), measured) is met


def measured(index: int, valid: str = "True", requests: int = 100_000, p99: int = 1_385_000) -> StageResult:
    return stage(index, valid, requests=requests, failures=0, latency_micros=latency(p99))


def test_a_stage_says_what_it_missed_and_what_it_cannot_tell() -> None:
    of = planned(
        objective("p99"),
        objective("p9999", latency={"percentile": "99.99", "below": "1s"}),
        objective("errors", **RATIO),
        objective("later", stages=[1], **LATENCY),
    )
    entry = measured(0, requests=5_000)
    judge(of, entry)
    assert (entry.missed_objectives, entry.unknown_objectives) == (["p99"], ["p9999"])
    judge(of, last := measured(1))
    assert last.missed_objectives == ["p99", "later"]


def test_an_invalid_stage_misses_nothing() -> None:
    judge(planned(objective()), entry := measured(0, "False"))
    assert (entry.missed_objectives, entry.unknown_objectives) == (None, None)


def judged(of: RunPlan, *entries: StageResult) -> list[StageResult]:
    for entry in entries:
        judge(of, entry)
    return list(entries)


def test_the_stages_after_a_miss_that_stops_the_variant_are_shown_as_skipped() -> None:
    of = planned(objective(on_miss="StopVariant"))
    (variant,) = variants(("seven", 1, judged(of, measured(0))))
    mark_skipped(of, variant.runs[0])
    assert (variant.runs[0].stopped_by, variant.runs[0].skipped_stages) == ("p99", [1])
    (variant,) = variants(("seven", 1, judged(of, measured(0, p99=1000))))
    mark_skipped(of, variant.runs[0])
    assert (variant.runs[0].stopped_by, variant.runs[0].skipped_stages) == (None, None)


def test_a_miss_at_the_last_stage_skips_nothing() -> None:
    of = planned(objective(on_miss="StopVariant"))
    (variant,) = variants(("seven", 1, judged(of, measured(0, p99=1000), measured(1))))
    mark_skipped(of, variant.runs[0])
    assert (variant.runs[0].stopped_by, variant.runs[0].skipped_stages) == ("p99", None)


def test_the_first_miss_is_told_with_its_figure() -> None:
    of = planned(objective())
    found = variants(("seven", 1, judged(of, measured(0, p99=1000), measured(1))))
    (result,) = results(of, running(variants=found)) or []
    assert (result.met, result.stages, result.missed_stages, result.unknown_stages) == ("False", 2, 1, 0)
    assert result.message == ("variant seven, repeat 1, stage 1 (1 injectors): p99 1385.0 ms, objective p99 below 1s")


@pytest.mark.parametrize(
    ("entries", "met", "undecided"),
    [
        ([], "Unknown", False),
        ([stage(0, "Unknown")], "Unknown", False),
        ([measured(0, p99=1)], "True", False),
        ([measured(0, p99=1), measured(1, requests=10)], "True", False),
        ([measured(0, requests=10), measured(1, requests=10)], "Unknown", True),
        ([measured(0, "False"), measured(1, requests=10)], "Unknown", True),
        ([measured(0), measured(1, requests=10)], "False", False),
    ],
)
def test_an_objective_is_unknown_where_more_stages_cannot_tell_than_can(
    entries: list[StageResult], met: str, undecided: bool
) -> None:
    of = planned(objective())
    found = variants(("seven", 1, judged(of, *[entry.model_copy() for entry in entries])))
    (result,) = results(of, running(variants=found)) or []
    assert result.met == met
    assert tally(of.spec.objectives[0], found[0]).undecided == undecided  # type: ignore[index] # it has one


def test_a_spec_without_objectives_has_no_results() -> None:
    assert results(plan(SMALL), running()) is None


CACHE = {"measurements": [{"name": "cache", "redis": {"address": "redis.runner.svc:6379"}}]}


def test_a_miss_of_a_measurement_is_told_with_its_figure() -> None:
    of = plan(SMALL | CACHE | {"objectives": [objective("connections", **CONNECTIONS)]})
    entry = measured(0)
    entry.redis = RedisFigures(name="cache", connections_peak=645)
    found = variants(("seven", 1, judged(of, entry)))
    (result,) = results(of, running(variants=found)) or []
    assert result.message.endswith("cache connectionsPeak 645, objective cache connectionsPeak below 500")


def test_a_misspelt_figure_is_refused_before_anything_is_run() -> None:
    wrong = {"measurement": {"name": "cache", "field": "connections", "below": 500}}
    with pytest.raises(InvalidSpec, match="name one of connectionsMean, connectionsPeak, cpuMicrocores"):
        plan(SMALL | CACHE | {"objectives": [objective("connections", **wrong)]})
