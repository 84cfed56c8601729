"""Types and reasons of conditions, each with its meaning, and the rule by which conditions change.

`Ready`, `Reconciling` and `Stalled` are what kstatus reads (Flux, Helm and Argo CD with it): Reconciling and Stalled
are only there while they are true, and a LoadTest that ended badly is Stalled, since Ready=False alone reads as "still
in progress".
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field

from loadtest.api.model import StatusModel, Timestamp

ConditionStatus = Literal["True", "False", "Unknown"]

MAX_MESSAGE = 1024
"""Longest message of a condition, in characters; a status has to stay small."""


class _Documented(StrEnum):
    """A word of the wire with its meaning, from which the reference page is made."""

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        """Keep the meaning beside the word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member


class ConditionType(_Documented):
    """What a condition is about."""

    READY = "Ready", "True when the run has ended and its result can be relied on. Sums up all the others."
    RECONCILING = "Reconciling", "True while the operator works on the LoadTest; else absent."
    STALLED = (
        "Stalled",
        "True when the operator cannot go on, or the run ended badly, until the spec changes; else absent.",
    )
    TARGET_APPLIED = "TargetApplied", "True while the intended variant is proven live from the pods of the target."
    INJECTORS_READY = "InjectorsReady", "True while exactly the expected injectors are connected."
    RESULTS_PUBLISHED = "ResultsPublished", "True when the records of all finished stages are stored."
    TARGET_RESTORED = "TargetRestored", "True when the release is proven to be as it was before the run."
    SPEC_DRIFTED = "SpecDrifted", "True when the spec no longer says what the running plan was made from; else absent."


class Reason(_Documented):
    """Why a condition is as it is."""

    # Before a run
    CREATED = "Created", "The operator has not looked at the LoadTest yet."
    ADMITTED = "Admitted", "The plan is frozen and the run has begun."
    INVALID_SPEC = "InvalidSpec", "The spec contradicts itself or asks for what cannot be; the message says what."
    PLAN_TOO_LARGE = "PlanTooLarge", "The resolved plan has too many stages, or too large values, to be stored."
    FORBIDDEN = "Forbidden", "The API server refused the operator or the helm Job a right; the message names it."
    NAMESPACE_NOT_ALLOWED = (
        "NamespaceNotAllowed",
        "The target's namespace does not name the LoadTest's namespace in its annotation allowed-from.",
    )
    HOST_NOT_ALLOWED = "HostNotAllowed", "The target's host may not be loaded; the message says why."
    CEILING_EXCEEDED = "CeilingExceeded", "More users, rate or duration than whoever installed the operator allows."
    TARGET_BUSY = "TargetBusy", "Another LoadTest holds the target; this one starts when it is done."
    SUSPENDED = "Suspended", "suspend is true: the run waits, with the variant applied."

    PREPARING = "Preparing", "Lease and snapshot of the target are being taken."
    PLAN_MISSING = "PlanMissing", "The ConfigMap of the frozen plan is gone, so the run cannot go on."

    # The scenario
    SCENARIO_NOT_FOUND = "ScenarioNotFound", "A ConfigMap, Secret or key that the scenario names does not exist."
    INVALID_SCENARIO = "InvalidScenario", "The requests file or locustfile cannot be used; the message names the place."

    BASELINE_NOT_FOUND = (
        "BaselineNotFound",
        "The LoadTest that baselineRef names is not there, has no ended run, or no valid stage of the same load.",
    )

    # The release
    SETTING_NOT_SUPPORTED = "SettingNotSupported", "The chart has no value for a setting that a variant sets."
    RELEASE_NOT_FOUND = "ReleaseNotFound", "There is no such Helm release in the namespace."
    RELEASE_NOT_DEPLOYED = "ReleaseNotDeployed", "The release's last revision failed or is pending; repair it first."
    RELEASE_MANAGED_BY_GITOPS = (
        "ReleaseManagedByGitOps",
        "Flux or Argo CD owns the release and would undo each variant.",
    )
    CHART_NOT_REBUILDABLE = "ChartNotRebuildable", "The stored chart is not whole (subcharts): name release.chart."
    SNAPSHOT_MISSING = "SnapshotMissing", "The stored release is gone, so the target cannot be restored from it."
    APPLYING = "Applying", "Helm is applying a variant."
    HELM_FAILED = "HelmFailed", "Helm could not apply or restore; the message is Helm's."
    ROLLING_OUT = "RollingOut", "The target's pods are being replaced."
    ROLLOUT_TIMEOUT = "RolloutTimeout", "The target's pods were not all ready within release.rolloutTimeout."
    VARIANT_LIVE = "VariantLive", "Every pod of the target has the intended configuration."
    VARIANT_NOT_LIVE = "VariantNotLive", "The target's pods do not show the settings of the variant."
    TARGET_CHANGED = "TargetChanged", "The target's pods or release were changed by somebody else."
    RELEASE_GONE = "ReleaseGone", "The release was deleted during the run: nothing is left to restore."
    TARGET_GONE = "TargetGone", "The release or its namespace was deleted."

    # Injectors and stages
    STARTING_INJECTORS = "StartingInjectors", "Injector pods are being started."
    INJECTORS_CONNECTED = "InjectorsConnected", "Exactly the expected injectors are connected."
    INJECTORS_NOT_READY = "InjectorsNotReady", "Injectors did not connect in time."
    IMAGE_PULL_FAILED = "ImagePullFailed", "An injector's image cannot be pulled."
    UNSCHEDULABLE = "Unschedulable", "No node has room for an injector pod."
    QUOTA_EXCEEDED = "QuotaExceeded", "A quota of the namespace forbids an injector pod."
    MASTER_LOST = "MasterLost", "The Locust master ended or cannot be reached; the stage is run again."
    STAGE_RUNNING = "StageRunning", "A stage is loading the target."
    STAGE_INVALID = "StageInvalid", "A stage's result cannot be relied on; it is run again within its bound."
    COLLECTING = "Collecting", "The record of a stage is being fetched and stored."
    RECORDS_STORED = "RecordsStored", "The records of all finished stages are stored."

    # The end
    COMPLETED = "Completed", "Every stage was run and the target is as it was."
    OBJECTIVE_MISSED = "ObjectiveMissed", "The run is whole, and missed an objective with onMiss Report or StopVariant."
    OBJECTIVE_FAILED = "ObjectiveFailed", "The run missed an objective with onMiss Fail."
    INCONCLUSIVE = "Inconclusive", "Too many stages are invalid, or too small for an objective, to say anything."
    ABORTED = "Aborted", "abort was set."
    DEADLINE_EXCEEDED = "DeadlineExceeded", "The run took longer than deadline."
    DELETED = "Deleted", "The LoadTest is being deleted; the target is restored first."
    LEASE_LOST = "LeaseLost", "Somebody else took the target's Lease; the release is not touched any more."
    OPERATOR_ERROR = "OperatorError", "The operator met something it did not expect; it tries again, ever less often."

    # Restore
    RESTORING = "Restoring", "The release is being put back."
    RESTORED = "Restored", "Values, manifest and pods of the release are as they were."
    NOT_CHANGED = "NotChanged", "The run did not change the target."
    RESTORE_CONFLICT = "RestoreConflict", "Somebody deployed meanwhile: neither our variant nor the original is live."
    RESTORE_FAILED = "RestoreFailed", "The release could not be put back; it is tried again, ever less often."
    RESTORE_GIVEN_UP = "RestoreGivenUp", "A person set the annotation that gives up the restore."
    RESTORE_VERIFICATION_FAILED = "RestoreVerificationFailed", "The release was put back but is not what it was."

    # Drift
    SPEC_EDITED = "SpecEdited", "The spec was edited during the run; the edit counts once the run has ended."


def reason_of(word: str) -> Reason:
    """The reason of a word that came over the wire; OperatorError for one that this version does not know."""
    return next((reason for reason in Reason if reason.value == word), Reason.OPERATOR_ERROR)


class Condition(StatusModel):
    """One condition, shaped as in all of Kubernetes."""

    type: Annotated[str, Field(max_length=316)] = Field(description="What the condition is about.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(max_length=128)] = Field(description="Why, in one word.")
    message: Annotated[str, Field(max_length=32768)] = Field(default="", description="Why, in a sentence.")
    last_transition_time: Timestamp = Field(description="When status last changed.")
    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the LoadTest for which this was found."
    )


def find_condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of a type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Whether the condition of a type is there and True."""
    found = find_condition(conditions, type_)
    return found is not None and found.status == "True"


def set_condition(
    conditions: Sequence[Condition],
    type_: str,
    status: ConditionStatus,
    reason: str,
    message: str,
    *,
    now: datetime,
    observed_generation: int,
) -> list[Condition]:
    """The conditions with one set; the given ones stay as they are.

    `lastTransitionTime` becomes `now` (to the second, as in all of Kubernetes) only when the status changes. A message
    that is too long is cut and ends with an ellipsis. The order of the conditions is kept; a new one comes last.
    """
    before = find_condition(conditions, type_)
    unchanged = before is not None and before.status == status
    after = Condition(
        type=str(type_),
        status=status,
        reason=str(reason),
        message=message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…",
        last_transition_time=before.last_transition_time if before and unchanged else now.replace(microsecond=0),
        observed_generation=observed_generation,
    )
    if before is None:
        return [*conditions, after]
    return [after if condition.type == type_ else condition for condition in conditions]


def remove_condition(conditions: Sequence[Condition], type_: str) -> list[Condition]:
    """The conditions without one type: how Reconciling, Stalled and SpecDrifted end."""
    return [condition for condition in conditions if condition.type != type_]
