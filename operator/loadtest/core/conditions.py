"""The conditions of a status: while a run is on, and when it has ended. Pure."""

from __future__ import annotations

from loadtest.api.conditions import (
    Condition,
    ConditionStatus,
    ConditionType,
    Reason,
    find_condition,
    remove_condition,
    set_condition,
)
from loadtest.api.status import LoadTestStatus, Phase, Summary
from loadtest.core.decision import Decision, active
from loadtest.core.observed import Observed


class _Conditions:
    """The conditions of one status, set at one time for one generation."""

    def __init__(self, o: Observed, status: LoadTestStatus) -> None:
        self._o, self._status = o, status

    def put(self, type_: str, value: ConditionStatus, reason: str, message: str) -> None:
        """Set one."""
        now, generation = self._o.now, self._o.resource.generation
        self._status.conditions = set_condition(
            self._status.conditions, type_, value, reason, message, now=now, observed_generation=generation
        )

    def drop(self, *types: str) -> None:
        """Remove some."""
        for type_ in types:
            self._status.conditions = remove_condition(self._status.conditions, type_)

    def find(self, type_: str) -> Condition | None:
        """Look one up."""
        return find_condition(self._status.conditions, type_)


def set_conditions(o: Observed, decision: Decision, status: LoadTestStatus) -> None:
    """Write what the decision says into the conditions; at the end of a run, into phase and verdict too."""
    conditions = _Conditions(o, status)
    for fact in decision.facts:
        conditions.put(fact.type, fact.status, fact.reason, fact.message)
    if decision.intended_variant is not None:
        conditions.put(ConditionType.TARGET_APPLIED, "False", Reason.APPLYING, decision.message)
    if decision.started is not None:
        conditions.put(ConditionType.TARGET_APPLIED, "True", Reason.VARIANT_LIVE, Reason.VARIANT_LIVE.meaning)
        connected = Reason.INJECTORS_CONNECTED
        conditions.put(ConditionType.INJECTORS_READY, "True", connected, connected.meaning)
    _drift(o, decision, status, conditions)
    if decision.finished or decision.refuse is not None:
        _conclude(o, status, conditions)
    elif decision.phase != "Terminal":
        conditions.drop(ConditionType.STALLED)
        conditions.put(ConditionType.READY, "Unknown", decision.reason, decision.message)
        conditions.put(ConditionType.RECONCILING, "True", decision.reason, decision.message)


def _drift(o: Observed, decision: Decision, status: LoadTestStatus, conditions: _Conditions) -> None:
    """Show an edit that the API server could not refuse."""
    if active(status) and status.run_id != o.resource.desired_run and not decision.finished:
        message = "the spec was edited: the run goes on as it was admitted, and the edit starts a new run after its end"
        conditions.put(ConditionType.SPEC_DRIFTED, "True", Reason.SPEC_EDITED, message)
    else:
        conditions.drop(ConditionType.SPEC_DRIFTED)


def _conclude(o: Observed, status: LoadTestStatus, conditions: _Conditions) -> None:
    """Phase, verdict, and the conditions that kstatus reads, at the end of a run."""
    ending = status.ending
    if ending is None:  # pragma: no cover - a run without an ending is not finished
        raise AssertionError("a finished run has an ending")
    restored = conditions.find(ConditionType.TARGET_RESTORED)
    unrestored = restored is not None and restored.status == "False"
    status.phase = Phase.FAILED if unrestored else ending.phase
    status.finished_at = status.finished_at or o.now.replace(microsecond=0)
    status.summary = status.summary or Summary()
    if ending.phase is not Phase.FAILED or unrestored:
        status.summary.verdict = ending.verdict
    if status.release is not None and not unrestored:
        status.release.intended_variant = None
    if status.progress is not None:
        status.progress.activity = status.progress.estimated_completion = None
    reason, message = ending.reason, ending.message
    if restored is not None and unrestored:
        reason, message = restored.reason, f"the target is not restored: {restored.message}"
    good = status.phase is Phase.SUCCEEDED and ending.reason in {Reason.COMPLETED, Reason.OBJECTIVE_MISSED}
    conditions.drop(ConditionType.RECONCILING, ConditionType.TARGET_APPLIED, ConditionType.INJECTORS_READY)
    conditions.put(ConditionType.READY, "True" if good else "False", reason, message)
    if good:
        conditions.drop(ConditionType.STALLED)
    else:
        conditions.put(ConditionType.STALLED, "True", reason, message)
    if any(stage.result_ref for variant in status.variants or () for run in variant.runs for stage in run.stages):
        conditions.put(ConditionType.RESULTS_PUBLISHED, "True", Reason.RECORDS_STORED, Reason.RECORDS_STORED.meaning)
