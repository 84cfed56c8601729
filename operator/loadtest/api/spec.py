"""`spec` of a LoadTest: the whole investigation, as the user writes it.

The parts live in modules of their own and are importable from here too.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from loadtest.api.comparison import BaselineRef
from loadtest.api.durations import Duration
from loadtest.api.fields import ConfigMapKey, SecretName, VariantName
from loadtest.api.injector import (
    Injector,
    Launch,
    LocustfileScenario,
    PullSecret,
    RequestsScenario,
    Resources,
    Scenario,
    Toleration,
)
from loadtest.api.load import Load, Stage, WaitTime
from loadtest.api.measurements import AT_MOST_ONE_EACH, MAX_MEASUREMENTS, Measurement
from loadtest.api.model import ListMap, Rule, SpecModel, between
from loadtest.api.objectives import MAX_OBJECTIVES, Objective, Percentage
from loadtest.api.target import Chart, Release, Selector, Setting, Target, Tls
from loadtest.api.variants import MAX_VARIANTS, RUNNER_SETTINGS, Axis, Matrix, Runner, Variant

__all__ = [
    "IMPLICIT_VARIANT",
    "MAX_STAGE_RUNS",
    "Axis",
    "BaselineRef",
    "Chart",
    "ConfigMapKey",
    "Injector",
    "Launch",
    "Load",
    "LoadTestSpec",
    "LocustfileScenario",
    "Matrix",
    "Measurement",
    "Objective",
    "PullSecret",
    "Release",
    "RequestsScenario",
    "Resources",
    "Runner",
    "Scenario",
    "SecretName",
    "Selector",
    "Setting",
    "Stage",
    "Target",
    "Tls",
    "Toleration",
    "Variant",
    "WaitTime",
    "test_defining",
]

MAX_STAGE_RUNS = 200
"""Most variants x repeats x stages: a stage takes some 1.1 kB of status, and an object must stay well under 1.5 MiB."""

IMPLICIT_VARIANT = "current"
"""Name of the one variant of a target without release: the target as it is."""


def _stage_runs(spec: Any) -> int:
    variants = len(spec.variants) if spec.variants is not None else 1
    return int(variants * spec.repeats * len(spec.load.stages))


def _known_settings(spec: Any) -> set[str]:
    """The settings that the release's map can place."""
    release = spec.target.release
    return {setting.name for setting in release.settings or ()} | set(RUNNER_SETTINGS if release.preset else ())


_RELEASE = "self.target.release"
_IS_KNOWN = (
    f"(has({_RELEASE}.preset) && NAME in [{', '.join(repr(name) for name in RUNNER_SETTINGS)}]) || "
    f"(has({_RELEASE}.settings) && {_RELEASE}.settings.exists(s, s.name == NAME))"
)


class LoadTestSpec(SpecModel):
    """What to measure. While a run is on, only suspend and abort may change."""

    rules = (
        Rule(
            "!has(self.target.release) || has(self.variants) != has(self.matrix)",
            "with target.release, exactly one of variants and matrix is needed: remove one or add one",
            lambda spec: spec.target.release is None or (spec.variants is None) != (spec.matrix is None),
        ),
        Rule(
            "has(self.target.release) || !(has(self.variants) || has(self.matrix))",
            "variants and matrix need target.release, which they change: add target.release or remove them",
            lambda spec: spec.target.release is not None or (spec.variants is None and spec.matrix is None),
        ),
        Rule(
            f"!has({_RELEASE}) || !has(self.variants) || has({_RELEASE}.preset) || has({_RELEASE}.settings) || "
            "!self.variants.exists(v, has(v.runner))",
            "a variant has runner, but nothing says where the chart keeps these settings: add "
            "target.release.preset eq-questionnaire-runner, or target.release.settings",
            lambda spec: (
                spec.target.release is None
                or spec.target.release.preset is not None
                or spec.target.release.settings is not None
                or all(variant.runner is None for variant in spec.variants or ())
            ),
            field=".variants",
        ),
        Rule(
            f"!has({_RELEASE}) || !has(self.variants) || self.variants.all(v, !has(v.settings) || "
            f"v.settings.all(name, {_IS_KNOWN.replace('NAME', 'name')}))",
            "a variant sets a setting that neither target.release.settings nor the preset has: "
            "add it to target.release.settings, with its paths",
            lambda spec: (
                spec.target.release is None
                or all(set(variant.settings or ()) <= _known_settings(spec) for variant in spec.variants or ())
            ),
            field=".variants",
        ),
        Rule(
            f"!has({_RELEASE}) || !has(self.matrix) || "
            f"self.matrix.axes.all(a, {_IS_KNOWN.replace('NAME', 'a.setting')})",
            "matrix varies a setting that neither target.release.settings nor the preset has: "
            "add it to target.release.settings, with its paths",
            lambda spec: (
                spec.target.release is None
                or spec.matrix is None
                or {axis.setting for axis in spec.matrix.axes} <= _known_settings(spec)
            ),
            field=".matrix",
        ),
        Rule(
            "!has(self.baseline) || !has(self.variants) || self.variants.exists(v, v.name == self.baseline)",
            "baseline must be the name of one of variants: correct it or leave it out",
            lambda spec: (
                spec.baseline is None
                or spec.variants is None
                or spec.baseline in [variant.name for variant in spec.variants]
            ),
            field=".baseline",
        ),
        Rule(
            "!(has(self.baseline) && has(self.baselineRef))",
            "baseline and baselineRef exclude each other: remove one of them",
            lambda spec: spec.baseline is None or spec.baseline_ref is None,
            field=".baselineRef",
        ),
        Rule(
            f"!has(self.baseline) || has(self.target.release) || self.baseline == '{IMPLICIT_VARIANT}'",
            f"baseline must be {IMPLICIT_VARIANT}, the only variant of a target without target.release: leave it out",
            lambda spec: spec.baseline in (None, IMPLICIT_VARIANT) or spec.target.release is not None,
            field=".baseline",
        ),
        Rule(
            "self.load.mode != 'Open' || has(self.scenario.requests)",
            "load.mode Open is for scenario.requests: a locustfile paces its users itself, so leave the mode Closed "
            "and say the pace in the file (wait_time)",
            lambda spec: spec.load.mode != "Open" or spec.scenario.requests is not None,
            field=".load.mode",
        ),
        Rule(
            "!has(self.measurements) || !self.measurements.exists(one, has(one.pods)) || "
            "has(self.target.release) || has(self.target.selector)",
            "a measurement of pods needs to know the target's pods: add target.selector, or remove the measurement",
            lambda spec: (
                not any(one.pods is not None for one in spec.measurements or ())
                or spec.target.release is not None
                or spec.target.selector is not None
            ),
            field=".measurements",
        ),
        Rule(
            "!has(self.measurements) || !self.measurements.exists(one, has(one.pods)) || "
            "(has(self.injector) && has(self.injector.masterServiceAccount))",
            "a measurement of pods needs injector.masterServiceAccount, which may list pods of metrics.k8s.io in the "
            "target's namespace: add it, or remove the measurement",
            lambda spec: (
                not any(one.pods is not None for one in spec.measurements or ())
                or spec.injector.master_service_account is not None
            ),
            field=".injector",
        ),
        Rule(
            "(has(self.variants) ? size(self.variants) : 1) * self.repeats * size(self.load.stages)"
            f" <= {MAX_STAGE_RUNS}",
            f"variants x repeats x load.stages is more than {MAX_STAGE_RUNS}: take variants, repeats or stages away, "
            "or make several LoadTests",
            lambda spec: _stage_runs(spec) <= MAX_STAGE_RUNS,
        ),
        Rule(
            "!has(self.objectives) || self.objectives.all(o, !has(o.measurement) || "
            "(has(self.measurements) && self.measurements.exists(m, m.name == o.measurement.name)))",
            "objectives names a measurement that measurements does not have: add it there, or correct the name",
            lambda spec: (
                {objective.measurement.name for objective in spec.objectives or () if objective.measurement}
                <= {measurement.name for measurement in spec.measurements or ()}
            ),
            field=".objectives",
        ),
        Rule(
            "!has(self.objectives) || self.objectives.all(o, !has(o.stages) || "
            "o.stages.all(stage, stage < size(self.load.stages)))",
            "objectives names a stage that load.stages does not have: stages are counted from 0",
            lambda spec: all(
                stage < len(spec.load.stages) for objective in spec.objectives or () for stage in objective.stages or ()
            ),
            field=".objectives",
        ),
    )

    suspend: StrictBool = Field(
        default=False,
        description="Finish the stage, then wait until this is false again; the variant stays applied. May change "
        "while a run is on.",
    )
    abort: StrictBool = Field(
        default=False,
        description="Stop the run now, restore the target and keep what was measured. May change from false to true "
        "while a run is on.",
    )
    rerun: Annotated[StrictStr, Field(max_length=63)] = Field(
        default="", description="Any new text starts a new run of the same spec, once the last one has ended."
    )
    deadline: Annotated[Duration, between("deadline", "1m", "168h")] = Field(
        default=Duration("12h"), description="Longest time of a whole run; then it is aborted and the target restored."
    )
    artifact_ttl: Annotated[Duration, between("artifactTTL", "1s", "9000h")] = Field(
        default=Duration("168h"),
        alias="artifactTTL",
        description="How long pods and stored results are kept after the end of a run. The LoadTest itself stays.",
    )
    target: Target = Field(description="What is loaded, and the Helm release that is changed for the variants.")
    variants: Annotated[tuple[Variant, ...], Field(min_length=1, max_length=MAX_VARIANTS), ListMap("name")] | None = (
        Field(
            default=None,
            description="Sets of settings of the target, run in turn against the same stages. A target without "
            f"release has one variant, {IMPLICIT_VARIANT}, which is not written here.",
        )
    )
    matrix: Matrix | None = Field(
        default=None, description="Instead of variants: every combination of the values of several settings."
    )
    baseline: VariantName | None = Field(
        default=None, description="Name of the variant that the others are compared with; the first if left out."
    )
    repeats: Annotated[StrictInt, Field(ge=1, le=50)] = Field(
        default=1, description="How often each variant passes through all stages."
    )
    order: Literal["Sequential", "Interleaved"] = Field(
        default="Sequential",
        description="Sequential: all repeats of a variant, then the next variant. Interleaved: every variant once per "
        "repeat, with the first variant rotating from repeat to repeat.",
    )
    load: Load = Field(description="How much load, in which stages.")
    injector: Injector = Field(default=Injector(), description="The pods that make the load.")
    scenario: Scenario = Field(description="What each user does.")
    objectives: (
        Annotated[tuple[Objective, ...], Field(min_length=1, max_length=MAX_OBJECTIVES), ListMap("name")] | None
    ) = Field(default=None, description="What each stage is asked to reach; the verdict says whether it did.")
    measurements: (
        Annotated[
            tuple[Measurement, ...],
            Field(max_length=MAX_MEASUREMENTS),
            ListMap("name"),
            AT_MOST_ONE_EACH,
        ]
        | None
    ) = Field(default=None, description="What is measured beside the load, through each stage's window.")
    equivalence_margin: Percentage | None = Field(
        default=None,
        description="Differences to the baseline up to this share, such as 3%, do not matter: variants that are shown "
        "to be within it are Equivalent. Without it nothing is.",
    )
    baseline_ref: BaselineRef | None = Field(
        default=None,
        description="Compare with a variant of an earlier LoadTest instead of with one of this one. Its figures are "
        "copied into the status when this run is admitted; stages of the same load are compared.",
    )


def test_defining(spec: LoadTestSpec) -> dict[str, Any]:
    """The part of a spec that decides what is measured, as a JSON object.

    That is all but `rerun`, which counts by itself, and `suspend`, `abort`, `deadline` and `artifactTTL`, which bound a
    run without changing what it measures: editing them after the end starts no new run.

    Fields at their default are left out, so that a newer version's additional fields do not make an ended LoadTest
    look edited, which would start a new run.
    """
    return spec.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        exclude={"suspend", "abort", "rerun", "deadline", "artifact_ttl"},
    )


test_defining.__test__ = False  # type: ignore[attr-defined] # pytest takes every test_* that it sees for a test
