"""Edits, suspend, abort, rerun, a busy target: what may change while a run is on, and what happens after its end."""

from tests.cluster.stand import Stand
from tests.e2e.runs import THREADS, Runs, condition, running_stage, spec, stages

VARIANT = [{"name": "threads", "runner": THREADS, "values": {"annotations": {"note": "one"}}}]


def test_only_suspend_and_abort_may_change_while_a_run_is_on(runs: Runs, stand: Stand) -> None:
    before = stand.release("runner")
    runs.apply("edited", spec(variants=VARIANT, stages=((1, "30s"), (2, "10m"))))
    runs.until_running("edited")

    said = runs.patch("edited", {"load": {"usersPerInjector": 5}}, check=False)
    assert "load" in said
    assert "while a run is on" in said

    runs.apply("second", spec(variants=[{"name": "other", "runner": {"threads": 3}}]))
    busy = runs.until("second", "a busy target", lambda s: (condition(s, "Ready") or {}).get("reason") == "TargetBusy")
    assert busy["phase"] == "Pending"
    assert "performance/edited" in (condition(busy, "Ready") or {})["message"]

    drifted = [{**VARIANT[0], "values": {"annotations": {"note": "two"}}}]
    runs.patch("edited", {"variants": drifted, "suspend": True})
    shown = runs.until("edited", "SpecDrifted", lambda s: condition(s, "SpecDrifted"))
    assert (condition(shown, "SpecDrifted") or {})["reason"] == "SpecEdited"

    suspended = runs.until("edited", "suspended", lambda s: (condition(s, "Ready") or {}).get("reason") == "Suspended")
    assert suspended["summary"]["stage"] == "1/2"
    assert running_stage(suspended) is None
    assert stand.release("runner") != before, "the variant stays applied"

    runs.patch("edited", {"abort": True})
    aborted = runs.until("edited", "aborted", lambda s: s["phase"] == "Aborted")
    assert (condition(aborted, "Stalled") or {})["reason"] == "Aborted"
    assert stages(aborted)[0]["valid"] == "True", "what was measured is kept"

    second = runs.finished("second")
    assert second["phase"] == "Succeeded", "the second ran when the target was free"
    assert stand.release("runner") == before


def test_after_the_end_a_new_rerun_or_an_edit_starts_a_new_run(runs: Runs) -> None:
    runs.apply("again", spec(stages=((1, "3s"),)))
    first = runs.finished("again")
    runs.patch("again", {"rerun": "two"})
    second = runs.finished("again")
    assert second["runId"] != first["runId"]
    runs.patch("again", {"load": {"usersPerInjector": 3}})
    third = runs.finished("again")
    assert third["runId"] != second["runId"]
    assert stages(third)[0]["users"] == 3


def test_a_missing_requests_file_is_stalled_with_field_and_remedy(runs: Runs) -> None:
    runs.apply("missing", spec(journey="nowhere"))
    status = runs.finished("missing", 30)
    stalled = condition(status, "Stalled") or {}
    assert (status["phase"], stalled["reason"]) == ("Failed", "ScenarioNotFound")
    assert "spec.scenario.requests.configMap" in stalled["message"]


def test_a_missing_release_is_stalled_with_its_name(runs: Runs) -> None:
    runs.apply("nobody", spec(variants=[{"name": "a", "runner": {"threads": 3}}], release={"name": "nobody"}))
    status = runs.finished("nobody", 60)
    stalled = condition(status, "Stalled") or {}
    assert (status["phase"], stalled["reason"]) == ("Failed", "ReleaseNotFound"), status["conditions"]
    assert "nobody" in stalled["message"]
