"""Spec -> frozen plan: variants with their chart values and proofs, repeats in order, stages.

The plan is resolved once, when a run is admitted, and stored in an immutable ConfigMap: what is running never depends
on a later edit of the spec, nor on a newer version of the operator.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loadtest.api import durations
from loadtest.api.spec import IMPLICIT_VARIANT, MAX_STAGE_RUNS, LoadTestSpec, Matrix, Runner, Variant
from loadtest.core.measured_fields import unknown_figure
from loadtest.core.presets import EQ_QUESTIONNAIRE_RUNNER, PRESETS, Setting, overlay

_RUNNER_NUMBERS = frozenset({"workers", "threads", "uwsgiAsyncCores", "replicas"})


class InvalidSpec(ValueError):  # noqa: N818 - it is named for the fact, as all our errors
    """The spec cannot be run. The message names the field and the remedy."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class VariantPlan(_Frozen):
    """One variant, resolved.

    Attributes:
        values: chart values that are merged over the release's own user values.
        env: environment that every pod of the target must show while the variant is live.
        replicas: pods that the target must have, None where the variant does not say.
        paths: chart value path of each setting that the variant sets; the chart must know them all.
    """

    name: str
    values: dict[str, Any] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    replicas: int | None = None
    paths: dict[str, str] = Field(default_factory=dict)


class StagePlan(_Frozen):
    """One stage: `users` in all, on `workers` Locust workers, for `seconds`; `rate` arrivals a second in open load."""

    index: int
    injectors: int
    users: int
    spawn_rate: int
    workers: int
    seconds: float
    rate: int | None = None


class RepeatPlan(_Frozen):
    """One pass of a variant through all stages. `position` is its place in the whole run, from 1."""

    position: int
    variant: str
    repeat: int


class RunPlan(_Frozen):
    """The whole run. `spec` is the spec as admitted, with its defaults."""

    run: str
    spec: LoadTestSpec
    variants: tuple[VariantPlan, ...]
    repeats: tuple[RepeatPlan, ...]
    stages: tuple[StagePlan, ...]

    def variant(self, name: str) -> VariantPlan:
        """The variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)

    @property
    def stage_runs(self) -> int:
        """How many stages there are in all, over variants and repeats, without reruns."""
        return len(self.repeats) * len(self.stages)

    def to_json(self) -> str:
        """The plan as stored; `from_json` gives it back."""
        return json.dumps(self.model_dump(mode="json", by_alias=True, exclude_none=True), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> RunPlan:
        """Read a stored plan."""
        return cls.model_validate_json(text)


def expand(run: str, spec: LoadTestSpec) -> RunPlan:
    """Resolve `spec` into the plan of run `run`.

    Raises:
        InvalidSpec: where the spec parses, but cannot be run.
    """
    settings = settings_of(spec)
    variants = tuple(_resolve(variant, settings) for variant in _variants(spec))
    _check(spec, variants)
    names = [variant.name for variant in variants]
    return RunPlan(
        run=run,
        spec=spec,
        variants=variants,
        repeats=tuple(
            RepeatPlan(position=position, variant=variant, repeat=repeat)
            for position, (variant, repeat) in enumerate(order(names, spec.repeats, spec.order), start=1)
        ),
        stages=tuple(_stages(spec)),
    )


def order(names: list[str], repeats: int, how: str) -> Iterator[tuple[str, int]]:
    """Variant and repeat number in the order of execution.

    Sequential finishes a variant before the next. Interleaved runs every variant once per repeat, and rotates which
    one goes first, so that no variant always has the same neighbour in time.
    """
    if how == "Interleaved":
        for repeat in range(1, repeats + 1):
            first = (repeat - 1) % len(names)
            yield from ((name, repeat) for name in names[first:] + names[:first])
    else:
        yield from itertools.product(names, range(1, repeats + 1))


def settings_of(spec: LoadTestSpec) -> dict[str, Setting]:
    """Settings by name: the preset's, then the release's own, which win."""
    release = spec.target.release
    if release is None:
        return {}
    settings = {setting.name: setting for setting in PRESETS.get(release.preset or "", ())}
    for own in release.settings or ():
        number = settings[own.name].number if own.name in settings else own.name == "replicas"
        settings[own.name] = Setting(own.name, tuple(own.paths), own.env, dict(own.values or {}), number)
    return settings


def _variants(spec: LoadTestSpec) -> Iterator[Variant]:
    if spec.matrix is not None:
        yield from _matrix(spec.matrix)
    elif spec.variants:
        yield from spec.variants
    else:
        yield Variant(name=IMPLICIT_VARIANT)


def _matrix(matrix: Matrix) -> Iterator[Variant]:
    """Every combination of the axes' values but the excluded ones, the last axis changing fastest."""
    axes = matrix.axes
    combinations = math.prod(len(axis.values) for axis in axes)
    if combinations > MAX_STAGE_RUNS:
        raise InvalidSpec(
            f"spec.matrix has {combinations} combinations, and at most {MAX_STAGE_RUNS} stages can be run in all: "
            "leave out values or axes, or split it into several LoadTests"
        )
    for entry in matrix.exclude or ():
        unknown = sorted(set(entry) - {axis.setting for axis in axes})
        if unknown:
            raise InvalidSpec(
                f"spec.matrix.exclude names {unknown[0]!r}, which is no axis: name settings of spec.matrix.axes"
            )
    for values in itertools.product(*(axis.values for axis in axes)):
        chosen = {axis.setting: value for axis, value in zip(axes, values, strict=True)}
        if any(all(chosen[key] == value for key, value in entry.items()) for entry in matrix.exclude or ()):
            continue
        yield Variant(name=_matrix_name(chosen), settings=chosen)


def _matrix_name(chosen: Mapping[str, str]) -> str:
    words = "-".join(f"{setting}-{value}" for setting, value in chosen.items())
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:40].rstrip("-")


def words_of(spec: LoadTestSpec) -> dict[str, dict[str, str]]:
    """What each variant sets, in the spec's own words: variant -> setting -> word.

    Raises:
        InvalidSpec: where the matrix cannot be expanded.
    """
    return {variant.name: _words(variant) for variant in _variants(spec)}


def _words(variant: Variant) -> dict[str, str]:
    """Setting name -> word, from `runner` and `settings` of one variant."""
    runner = variant.runner.model_dump(by_alias=True, exclude_none=True) if variant.runner else {}
    return {name: str(word) for name, word in (runner | dict(variant.settings or {})).items()}


def _resolve(variant: Variant, settings: Mapping[str, Setting]) -> VariantPlan:
    values: dict[str, object] = {}
    env: dict[str, str] = {}
    paths: dict[str, str] = {}
    replicas: int | None = None
    words = _words(variant)
    for name, word in words.items():
        setting = settings.get(name)
        if setting is None:
            raise InvalidSpec(
                f"spec.variants[{variant.name}] sets {name!r}, which no preset and no "
                f"spec.target.release.settings maps to the chart: add {{name: {name}, paths: [...]}} there, or write "
                "the chart's value under `values`"
            )
        _check_number(variant.name, setting, word)
        try:
            value = setting.chart_value(word)
        except ValueError as error:
            raise InvalidSpec(f"spec.variants[{variant.name}].{name}: {word!r} is not a whole number") from error
        for path in setting.paths:
            overlay(path, value, values)
            paths[path] = name
        if setting.env is not None:
            env[setting.env] = str(value)
        if setting.name == "replicas":
            replicas = int(str(value))  # as the chart is given it: a word may have been translated
    if words.get("workerClass") == "gevent" and words.get("datastoreTransport") == "grpc":
        raise InvalidSpec(
            f"spec.variants[{variant.name}]: gevent and gRPC do not work together: "
            "use workerClass gthread, or datastoreTransport http (in a matrix: exclude the pair)"
        )
    _reject_control_keys(variant.name, variant.values or {})
    return VariantPlan(
        name=variant.name, values=merged(values, variant.values or {}), env=env, replicas=replicas, paths=paths
    )


def _check_number(variant: str, setting: Setting, word: str) -> None:
    """A word for one of the Runner's numbers, from `settings` or a matrix, must be what `runner` would take."""
    if setting not in EQ_QUESTIONNAIRE_RUNNER or setting.name not in _RUNNER_NUMBERS:
        return
    where = f"spec.variants[{variant}].{setting.name}"
    if not (word.isascii() and word.isdigit()):
        raise InvalidSpec(f"{where}: {word!r} is not a whole number: give what runner.{setting.name} would take")
    try:
        Runner.model_validate({setting.name: int(word)})
    except ValidationError as error:
        why = error.errors(include_url=False, include_input=False)[0]["msg"].lower()
        raise InvalidSpec(f"{where} is {word}: {why}") from error


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid over it, maps merged by key and everything else replaced, as helm merges values files."""
    result = dict(base)
    for key, value in over.items():
        mine = result.get(key)
        result[key] = merged(mine, value) if isinstance(mine, dict) and isinstance(value, Mapping) else value
    return result


def _reject_control_keys(variant: str, values: object) -> None:
    """Numbers that JSON has no word for would reach helm as something else than was written."""
    if isinstance(values, float) and not math.isfinite(values):
        raise InvalidSpec(f"spec.variants[{variant}].values holds {values}: only finite numbers can be chart values")
    if isinstance(values, Mapping):
        for value in values.values():
            _reject_control_keys(variant, value)
    elif isinstance(values, list):
        for value in values:
            _reject_control_keys(variant, value)


def _stages(spec: LoadTestSpec) -> Iterator[StagePlan]:
    load = spec.load
    for index, stage in enumerate(load.stages):
        yield StagePlan(
            index=index,
            injectors=stage.injectors,
            users=stage.injectors * load.users_per_injector,
            spawn_rate=stage.injectors * min(load.spawn_rate_per_injector, load.users_per_injector),
            workers=math.ceil(stage.injectors / load.injectors_per_pod),
            seconds=stage.duration.seconds,
            rate=stage.injectors * load.rate_per_injector if load.rate_per_injector is not None else None,
        )


def _check(spec: LoadTestSpec, variants: tuple[VariantPlan, ...]) -> None:
    names = [variant.name for variant in variants]
    if not variants:
        raise InvalidSpec("spec.matrix excludes every combination: nothing is left to run")
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise InvalidSpec(
            f"two variants are named {duplicate!r} after cutting to 40 characters: shorten the axis values"
        )
    if spec.baseline and spec.baseline not in names:
        raise InvalidSpec(f"spec.baseline {spec.baseline!r} is not a variant: name one of {', '.join(names[:20])}")
    stage_runs = len(variants) * spec.repeats * len(spec.load.stages)
    if stage_runs > MAX_STAGE_RUNS:
        raise InvalidSpec(
            f"{len(variants)} variants x {spec.repeats} repeats x {len(spec.load.stages)} stages are {stage_runs} "
            f"stages, and at most {MAX_STAGE_RUNS} fit into one status: split the LoadTest"
        )
    if message := unknown_figure(spec):
        raise InvalidSpec(message)
    _check_deadline(spec, len(variants))


def _check_deadline(spec: LoadTestSpec, variants: int) -> None:
    """A run that cannot end in time would be aborted after hours: better to say so at once."""
    load = sum(stage.duration.seconds for stage in spec.load.stages) + spec.load.warm_up.seconds
    total = load * variants * spec.repeats
    if total > spec.deadline.seconds:
        raise InvalidSpec(
            f"spec.deadline {spec.deadline} is shorter than the load alone, {durations.format_duration(total)}: "
            "raise spec.deadline"
        )
