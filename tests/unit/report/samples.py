"""Results to report on, with records as injectors store them."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from loadtest.api.figures import ResultRef, StageResult
from loadtest.api.spec import LoadTestSpec
from loadtest.api.status import LoadTestStatus, Phase, RunResult, Summary, VariantResult, Verdict
from loadtest.report.result import Result
from loadtest.results.figures import pooled, stage_result
from loadtest.results.record import Record, parse
from loadtest_injector.histogram import Histogram
from tests.unit.core.builders import RUN
from tests.unit.results.records import stored
from tests.unit.results.test_measured import FIELDS, point

MEDIANS = {"two-threads": 55_000, "three-threads": 60_000, "seven-threads": 59_000}
"""Micros of the fastest stage of each variant."""


def spec(**changes: Any) -> LoadTestSpec:
    """The investigation of threads at scale, in small."""
    body: dict[str, Any] = {
        "target": {
            "url": "http://runner.runner.svc:80",
            "release": {"name": "runner", "namespace": "runner", "preset": "eq-questionnaire-runner"},
        },
        "variants": [
            {"name": name, "runner": {"workerClass": "gthread", "workers": 7, "threads": threads, "replicas": 50}}
            for name, threads in (("two-threads", 2), ("three-threads", 3), ("seven-threads", 7))
        ],
        "baseline": "seven-threads",
        "load": {"stages": [{"injectors": count, "duration": "35s"} for count in (10, 15, 20)]},
        "scenario": {"requests": {"configMap": {"name": "census", "key": "census_household_gb_eng.json"}}},
    }
    return LoadTestSpec.model_validate(body | changes)


@cache
def record(seed: int, median: int, injectors: int, position: int, stage: int, seconds: int = 35) -> dict[str, Any]:
    """A stored record whose blocks and histograms are of the same requests, three methods and outcomes of them."""
    rng = random.Random(seed)  # noqa: S311 - the same numbers each time
    whole: dict[tuple[str, str, str], Histogram] = {}
    blocks: dict[tuple[int, str, str], Histogram] = {}
    failed = 0
    for number in range(-(-seconds // 10)):
        share = min(10, seconds - 10 * number) / 10
        for _ in range(int(injectors * 12 * share)):
            method, name = rng.choice((("GET", "/a/"), ("GET", "/b/"), ("POST", "/b/")))
            outcome = "failure" if rng.random() < 0.002 else "success"
            failed += outcome == "failure"
            micros = int(median * rng.lognormvariate(0, 0.4) * (1 + (injectors / 20) ** 4))
            whole.setdefault((method, name, outcome), Histogram()).add(micros)
            blocks.setdefault((number, method, outcome), Histogram()).add(micros)
    return stored(
        *(
            {"method": method, "name": name, "outcome": outcome, "contentBytes": 9_763 * one.count, **one.to_json()}
            for (method, name, outcome), one in whole.items()
        ),
        repeat=position,
        stage=stage,
        order={
            "injectors": injectors,
            "users": injectors * 200,
            "context": {"pods": {}},
            "measurements": [{"name": "cache", "redis": {"host": "redis", "port": 6379}}],
        },
        series=[
            {
                "name": "cache",
                "kind": "redis",
                "fields": FIELDS,
                "points": [
                    point(second + 0.5, connections=10 * injectors + second, cpu=5_000 * second, commands=90 * second)
                    for second in range(seconds)
                ],
                "problems": [],
                "expected": seconds,
            }
        ],
        window={"startedAt": "2026-01-01T12:00:00.000000+00:00", "durationMicros": seconds * 1_000_000},
        blocks=[
            {"block": number, "method": method, "outcome": outcome, "contentBytes": 0, **one.to_json()}
            for (number, method, outcome), one in blocks.items()
        ],
        failures=[{"method": "GET", "name": "/a/", "kind": "reset", "message": "reset", "count": failed}]
        if failed
        else [],
        workers=[
            {
                "name": f"w{number}",
                "gaps": 0,
                "cpuPercentMax": 31.5 + number + injectors,
                "cpuPercentBlocks": [20.0 + number + injectors + block for block in range(-(-seconds // 10))],
                "latenessMicrosP99": 800 + number,
                "clockUncertaintyMicros": 120,
            }
            for number in range(2)
        ],
    )


@cache
def _parsed(*arguments: int) -> Record:
    return parse(record(*arguments))


def result(of: LoadTestSpec | None = None, *, records: bool = True, seconds: int = 35) -> Result:
    """A whole run of `of`, measured from made-up requests."""
    of = of or spec()
    kept: dict[str, dict[str, Any]] = {}
    variants = []
    position = 0
    for variant in of.variants or ():
        runs, all_records = [], []
        for repeat in range(1, of.repeats + 1):
            position += 1
            stages: list[StageResult] = []
            for index, stage in enumerate(of.load.stages):
                arguments = (
                    100 * position + index,
                    MEDIANS.get(variant.name, 50_000),
                    stage.injectors,
                    position,
                    index,
                    seconds,
                )
                made = record(*arguments)
                name = f"ldt-{RUN}-r{position}-s{index}-a1"
                kept[name] = made
                all_records.append(_parsed(*arguments))
                entry = stage_result(all_records[-1])
                entry.result_ref = ResultRef(name=name, sha256="0" * 64)
                stages.append(entry)
            runs.append(RunResult(repeat=repeat, position=position, stages=stages))
        variants.append(VariantResult(name=variant.name, runs=runs, pooled=pooled(all_records)))
    status = LoadTestStatus(phase=Phase.SUCCEEDED, run_id=RUN, variants=variants, summary=Summary(verdict=Verdict.PASS))
    return Result("gunicorn-threads-at-scale", "performance", of, status, kept if records else {})
