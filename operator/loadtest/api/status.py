"""`status` of a LoadTest: how far the run is, and what it measured."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from loadtest.api.capacity import VariantCapacity
from loadtest.api.comparison import StageComparison, VariantComparison
from loadtest.api.conditions import Condition, ConditionStatus, ConditionType, Reason
from loadtest.api.figures import (
    Figures,
    Interval,
    InvalidAttempt,
    Latency,
    LatencyIntervals,
    MethodFigures,
    OldDefinition,
    ResultRef,
    ShortLatency,
    StageResult,
    Validity,
    WarmUp,
)
from loadtest.api.model import ListMap, StatusModel, Timestamp
from loadtest.api.objectives import OnMiss

__all__ = [
    "TERMINAL",
    "BaselineResult",
    "BaselineRun",
    "BaselineStage",
    "Condition",
    "Ending",
    "Figures",
    "Interval",
    "InvalidAttempt",
    "Latency",
    "LatencyIntervals",
    "LoadTestStatus",
    "MethodFigures",
    "ObjectiveResult",
    "OldDefinition",
    "Phase",
    "PlanRef",
    "Progress",
    "ReleaseStatus",
    "ResultRef",
    "RunResult",
    "ShortLatency",
    "StageComparison",
    "StageResult",
    "Summary",
    "Validity",
    "VariantCapacity",
    "VariantComparison",
    "VariantResult",
    "Verdict",
    "WarmUp",
    "initial_status",
]


class Phase(StrEnum):
    """How far a run is, in one word for people; the operator never acts on it."""

    PENDING = "Pending"
    PREPARING = "Preparing"
    RUNNING = "Running"
    RESTORING = "Restoring"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    ABORTED = "Aborted"


TERMINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED})
"""The phases of an ended run."""


class Verdict(StrEnum):
    """What the figures say, which is another thing than how the run ended."""

    PASS = "Pass"  # noqa: S105 - a verdict, no password
    MISS = "Miss"
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"


class PlanRef(StatusModel):
    """The resolved plan of the run, frozen when it was admitted."""

    name: str = Field(description="Name of the immutable ConfigMap that holds the plan.")
    sha256: str = Field(description="SHA-256 of the plan, in hexadecimal.")


class Ending(StatusModel):
    """How the run is to end, decided before the target is restored."""

    phase: Phase = Field(description="The phase that the run will end in.")
    reason: str = Field(description="Why, in one word.")
    message: str = Field(default="", description="Why, in a sentence.")
    verdict: Verdict | None = Field(default=None, description="What the figures said when this was decided.")


class ReleaseStatus(StatusModel):
    """The Helm release: as it was before the run, and as it is to be now."""

    name: str = Field(description="Name of the Helm release.")
    namespace: str = Field(description="Namespace of the Helm release.")
    chart: str | None = Field(default=None, description="Name and version of its chart.")
    revision: int | None = Field(default=None, description="Revision before the run.")
    values_sha256: str | None = Field(default=None, description="SHA-256 of its user values before the run.")
    manifest_sha256: str | None = Field(default=None, description="SHA-256 of its manifest before the run.")
    intended_variant: str | None = Field(
        default=None, description="The variant that is to be live; stored before helm runs, gone after the restore."
    )
    live_revision: int | None = Field(default=None, description="Revision last seen.")


class Progress(StatusModel):
    """How far the run is."""

    variant: str | None = Field(default=None, description="Variant that is being measured.")
    repeat: int | None = Field(default=None, description="Which repeat of the variant, counted from 1.")
    stage: int | None = Field(default=None, description="Which stage of load.stages, counted from 0.")
    stages: int | None = Field(default=None, description="Stages of the whole run: variants x repeats x load.stages.")
    percent: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="Share of the whole run's time that is over, in percent."
    )
    started_at: Timestamp | None = Field(default=None, description="When the present stage's window began.")
    estimated_completion: Timestamp | None = Field(default=None, description="When the run is expected to end.")
    position: int | None = Field(
        default=None, description="Place of this repeat in the run's whole order, counted from 1 over all variants."
    )
    attempt: int | None = Field(default=None, description="Which attempt at the stage, counted from 1.")
    activity: str | None = Field(default=None, description="What is happening now, in a few words.")


class Summary(StatusModel):
    """What the columns of `kubectl get loadtests` show."""

    stage: str | None = Field(
        default=None, description="Stages of the run that are finished or skipped, of all, such as 3/15."
    )
    requests_per_second: int | None = Field(
        default=None, description="Requests per second of the stage that runs, or of the last one."
    )
    p99_millis: int | None = Field(
        default=None, description="99th percentile of the stage that runs, or of the last one, in milliseconds."
    )
    failures: int | None = Field(default=None, description="Failed requests of all valid stages so far.")
    verdict: Verdict | None = Field(default=None, description="What the figures say.")


class RunResult(StatusModel):
    """One repeat of a variant: one pass through all stages."""

    repeat: int = Field(description="Which repeat of the variant, counted from 1.")
    position: int = Field(description="Its place in the run's whole order, counted from 1 over all variants.")
    stages: Annotated[list[StageResult], ListMap("index")] = Field(
        default_factory=list, description="The stages that were run."
    )
    stopped_by: str | None = Field(
        default=None, description="Name of the objective with onMiss StopVariant that ended this repeat early."
    )
    skipped_stages: list[int] | None = Field(
        default=None, description="Stages that were not run because of it, counted from 0."
    )


class ObjectiveResult(StatusModel):
    """One objective, over all valid stages that it is about."""

    name: str = Field(description="Name of the objective.")
    on_miss: OnMiss = Field(description="What a miss means.")
    met: Validity = Field(
        description="True: met wherever it could be judged. False: missed at least once. Unknown: a variant has more "
        "stages that are invalid or too small to judge it than others, or none was measured yet."
    )
    stages: int = Field(description="Stages that were judged, over all variants and repeats.")
    missed_stages: int = Field(description="Those that missed it.")
    unknown_stages: int = Field(
        description="Valid stages that cannot judge it: too few requests, or not measured; not among stages."
    )
    message: str = Field(default="", description="The first miss, or why it is not known, in a sentence.")


class VariantResult(StatusModel):
    """What was measured of one variant."""

    name: str = Field(description="Name of the variant.")
    pooled: Figures | None = Field(
        default=None, description="Requests of all valid stages and repeats, pooled; absent until there are some."
    )
    runs: Annotated[list[RunResult], ListMap("repeat")] = Field(
        default_factory=list, description="The repeats that were begun."
    )


class BaselineStage(StatusModel):
    """A valid stage of an earlier LoadTest: what a comparison needs of it, and no more."""

    index: int = Field(description="Which stage of load.stages, counted from 0.")
    requests: int = Field(description="Requests that began in the window, failed ones too.")
    failures: int = Field(description="Requests that failed.")
    requests_per_second_milli: int = Field(description="Thousandths of a request per second.")
    latency_micros: Latency | None = Field(
        default=None, description="Response times of the successful requests, in microseconds."
    )


class BaselineRun(StatusModel):
    """One repeat of an earlier LoadTest."""

    repeat: int = Field(description="Which repeat of the variant, counted from 1.")
    stages: Annotated[list[BaselineStage], ListMap("index")] = Field(description="Its valid stages of the same load.")


class BaselineResult(StatusModel):
    """What spec.baselineRef named, as it was when this run was admitted: its stages of the same load, in short."""

    load_test: str = Field(description="Name of the LoadTest.")
    variant: str = Field(description="Name of its variant.")
    run_id: str = Field(description="Which run of it.")
    runs: Annotated[list[BaselineRun], ListMap("repeat")] = Field(description="Its repeats, with their valid stages.")


class LoadTestStatus(StatusModel):
    """How far the run is, and what it measured. Written by the operator alone."""

    phase: Phase = Field(default=Phase.PENDING, description="How far the run is, in one word.")
    observed_generation: int = Field(
        default=-1, description="Generation of the LoadTest that the operator last looked at; -1 before the first."
    )
    run_id: str | None = Field(
        default=None, description="Identity of the run: a hash of uid, test-defining spec and rerun."
    )
    started_at: Timestamp | None = Field(default=None, description="When the run was admitted.")
    finished_at: Timestamp | None = Field(
        default=None, description="When the run had ended and the target was restored, or given up."
    )
    conditions: Annotated[list[Condition], ListMap("type")] = Field(
        default_factory=list, description="What is true of the LoadTest; see the list of types and reasons."
    )
    plan: PlanRef | None = Field(default=None, description="The resolved plan, frozen when the run was admitted.")
    ending: Ending | None = Field(default=None, description="How the run is to end, once that is decided.")
    release: ReleaseStatus | None = Field(default=None, description="The Helm release that is changed and put back.")
    progress: Progress | None = Field(default=None, description="How far the run is.")
    summary: Summary | None = Field(default=None, description="What the columns of kubectl get loadtests show.")
    variants: Annotated[list[VariantResult], ListMap("name")] | None = Field(
        default=None, description="What was measured, per variant."
    )
    objectives: Annotated[list[ObjectiveResult], ListMap("name")] | None = Field(
        default=None, description="The objectives of the spec, and whether they were met so far."
    )
    comparison: Annotated[list[VariantComparison], ListMap("variant")] | None = Field(
        default=None, description="Each variant beside the baseline; made once, at the end of the run."
    )
    capacity: Annotated[list[VariantCapacity], ListMap("variant")] | None = Field(
        default=None, description="How far each variant scales; made with the comparison."
    )
    baseline: BaselineResult | None = Field(default=None, description="The figures of spec.baselineRef.")


def initial_status() -> dict[str, Any]:
    """The status that the API server gives every new LoadTest: kstatus reads it as in progress from the first instant.

    Without it a LoadTest would have no status until the operator has seen it, which kstatus takes for "done".
    """
    created = datetime.fromtimestamp(0, UTC)

    def condition(type_: ConditionType, status: ConditionStatus) -> dict[str, Any]:
        return Condition(
            type=type_,
            status=status,
            reason=Reason.CREATED,
            message="Waiting for the operator.",
            last_transition_time=created,
        ).to_wire()

    return {
        "observedGeneration": -1,
        "phase": Phase.PENDING.value,
        "conditions": [condition(ConditionType.READY, "Unknown"), condition(ConditionType.RECONCILING, "True")],
    }
