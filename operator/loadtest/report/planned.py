"""A plan before it is run: its repeats and stages, how long and how many pods, and what each variant sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from loadtest.api.durations import format_duration
from loadtest.core.expand import RunPlan
from loadtest.core.measuring import least_wait_seconds
from loadtest.core.needs import FULL_PERCENT, Needs
from loadtest.report.document import Document, Section, Table, table
from loadtest.results.tables import DASH, count

MASTER = 1
"""Pods of a repeat beside its workers."""


def outline(plan: RunPlan, name: str, needed: Needs) -> dict[str, Any]:
    """The plan as a JSON object. Durations are texts, as in the spec."""
    spec = plan.spec
    return {
        "name": name,
        "target": spec.target.url,
        "variants": [
            {
                "name": variant.name,
                "values": variant.values,
                "env": variant.env,
                **({} if variant.replicas is None else {"replicas": variant.replicas}),
            }
            for variant in plan.variants
        ],
        "repeats": [
            {"position": repeat.position, "variant": repeat.variant, "repeat": repeat.repeat} for repeat in plan.repeats
        ],
        "stages": [
            {
                "index": stage.index,
                "injectors": stage.injectors,
                "users": stage.users,
                "duration": format_duration(stage.seconds),
                "pods": stage.workers + MASTER,
            }
            for stage in plan.stages
        ],
        "stageRuns": plan.stage_runs,
        "time": {key: format_duration(seconds) for key, seconds in _time(plan).items()},
        "deadline": str(spec.deadline),
        "podsAtOnce": _pods(plan),
        "needs": needed.to_json(),
        "differences": differences(plan),
    }


def _time(plan: RunPlan) -> dict[str, float]:
    """What is known beforehand, in seconds. Rollouts, pods that start and the last answers come on top."""
    windows = sum(stage.seconds for stage in plan.stages) * len(plan.repeats)
    warm_ups = plan.spec.load.warm_up.seconds * len(plan.repeats)
    ramps, running = 0.0, 0
    for stage in plan.stages:
        ramps += max(0, stage.users - running) / stage.spawn_rate
        running = stage.users
    ramps *= len(plan.repeats)
    settling = 0.0
    if (release := plan.spec.target.release) is not None:
        variants = [repeat.variant for repeat in plan.repeats]
        settling = release.settle.seconds * sum(
            1 for before, now in zip([None, *variants], variants, strict=False) if before != now
        )
    parts = {"windows": windows, "warmUps": warm_ups, "ramps": ramps, "settling": settling}
    if measuring := least_wait_seconds(plan.spec) * plan.stage_runs:
        parts["measuring"] = measuring
    return {"atLeast": sum(parts.values()), **parts}


def _measuring(time: Mapping[str, float]) -> str:
    return f", measurements that are late {format_duration(time['measuring'])}" if "measuring" in time else ""


def _pods(plan: RunPlan) -> int:
    return max(stage.workers for stage in plan.stages) + MASTER


def differences(plan: RunPlan) -> dict[str, dict[str, Any]]:
    """Chart values that are not the same in every variant: path -> variant -> value, left out where it is not set."""
    found = {variant.name: _flat(variant.values) for variant in plan.variants}
    paths = dict.fromkeys(path for values in found.values() for path in values)
    return {
        path: {name: values[path] for name, values in found.items() if path in values}
        for path in paths
        if len({_text(values, path) for values in found.values()}) > 1
    }


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= _flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found


def document(plan: RunPlan, name: str, needed: Needs) -> Document:
    """The plan for people."""
    time = _time(plan)
    several = len(plan.repeats) > 1
    lead = (
        (
            f"{len(plan.variants)} variants x {plan.spec.repeats} repeats x {len(plan.stages)} stages: "
            f"{plan.stage_runs} windows against {plan.spec.target.url}."
        ),
        (
            f"At least {format_duration(time['atLeast'])}: windows {format_duration(time['windows'])}, warm-ups "
            f"{format_duration(time['warmUps'])}, ramps {format_duration(time['ramps'])}, settling "
            f"{format_duration(time['settling'])}{_measuring(time)}. Rollouts, pods that start, and the last answers "
            f"of each window come on top; after {plan.spec.deadline} the run is aborted."
        ),
        f"At most {_pods(plan)} injector pods at once, {MASTER} of them the master.",
        _cores(needed),
    )
    return Document(
        name,
        lead,
        (
            Section("Stages", text=("The same in every repeat.",) if several else (), tables=(_stages(plan),)),
            Section("Order", tables=(_order(plan),)),
            *_values(plan),
        ),
    )


def _cores(needed: Needs) -> str:
    if needed.requests_per_second is None or needed.cores_millis is None:
        return "How much CPU the workers need is not known beforehand: nothing but the target bounds their requests."
    return (
        f"The largest stage sends at most {needed.requests_per_second:,} requests a second, for which its "
        f"{needed.worker_pods} workers need {needed.cores_millis / 1000:.1f} cores; the fullest takes "
        f"{needed.worker_cpu_percent} % of one{_advice(needed)}. By {needed.calibration.requests_per_cpu_second:,} "
        f"requests per second of CPU ({needed.calibration.source})."
    )


def _advice(needed: Needs) -> str:
    if (needed.worker_cpu_percent or 0) <= FULL_PERCENT:
        return f" (up to {needed.most_injectors_per_pod} injectors fit one worker)"
    if needed.most_injectors_per_pod:
        return f", above {FULL_PERCENT} %: lower load.injectorsPerPod to {needed.most_injectors_per_pod}"
    return f", above {FULL_PERCENT} %: one injector is too much for a worker: lower load.usersPerInjector"


def _stages(plan: RunPlan) -> Table:
    rows = [
        [
            str(stage.index),
            str(stage.injectors),
            count(stage.users),
            format_duration(stage.seconds),
            str(stage.workers + MASTER),
        ]
        for stage in plan.stages
    ]
    return table(["Stage", "Injectors", "Users", "Window", "Pods"], rows)


def _order(plan: RunPlan) -> Table:
    rows = [[str(repeat.position), repeat.variant, str(repeat.repeat)] for repeat in plan.repeats]
    return table(["Position", "Variant", "Repeat"], rows, prose=True)


def _values(plan: RunPlan) -> list[Section]:
    """What variants set, as far as they set anything."""
    names = [variant.name for variant in plan.variants]
    everything = {variant.name: _flat(variant.values) for variant in plan.variants}
    paths = dict.fromkeys(path for values in everything.values() for path in values)
    if not paths:
        return []
    differing = differences(plan)
    rows = [[path, *(_text(everything[name], path) for name in names)] for path in differing]
    same = [[path, _text(everything[names[0]], path)] for path in paths if path not in differing]
    note = f"{DASH}: as the release has it."
    found = []
    if rows:
        shown = table(["Chart value", *names], rows, prose=True)
        found.append(Section("Values that differ", text=(note,), tables=(shown,)))
    if same:
        shown = table(["Chart value", "Every variant"], same, prose=True)
        found.append(Section("Values that every variant sets", tables=(shown,)))
    return found


def _text(values: Mapping[str, Any], path: str) -> str:
    return json.dumps(values[path], ensure_ascii=False) if path in values else DASH
