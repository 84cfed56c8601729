"""Deaths and deletions in the middle: the release comes back, the run ends right or goes on, nothing is done twice."""

import json
import time

from tests.cluster.stand import SYSTEM, TARGET, Stand
from tests.e2e.runs import THREADS, Runs, spec, stages

VARIANT = [{"name": "threads", "runner": THREADS}]


def kill_operator(stand: Stand) -> None:
    """Kill the operator's pod at once, as a lost node would."""
    stand.kubectl(
        "delete", "pod", "-n", SYSTEM, "-l", "app.kubernetes.io/name=loadtest-operator", "--grace-period=0", "--force"
    )


def helm_job_runs(stand: Stand, key: str) -> bool:
    jobs = stand.items("jobs", TARGET, f"loadtest.eqrunner.dev/key={key}")
    return any(not job["status"].get("completionTime") for job in jobs)


def revisions(stand: Stand) -> list[str]:
    return [
        f"{entry['revision']} {entry['description']}"
        for entry in json.loads(stand.helm("history", "runner", "-n", TARGET, "-o", "json"))
    ]


def test_an_operator_killed_in_helm_in_load_and_in_the_restore_changes_nothing(runs: Runs, stand: Stand) -> None:
    before = revisions(stand)
    runs.apply("killed", spec(variants=VARIANT, stages=((1, "10s"),)))
    stand.wait_for("helm applying", lambda: helm_job_runs(stand, "apply-1-1"), 60, every=0.1)
    kill_operator(stand)
    runs.until_running("killed")
    time.sleep(3)
    kill_operator(stand)
    stand.wait_for("helm restoring", lambda: helm_job_runs(stand, "restore-1"), 120, every=0.1)
    kill_operator(stand)
    status = runs.finished("killed")
    assert status["phase"] == "Succeeded", status["conditions"]
    (stage,) = stages(status)
    assert (stage["valid"], stage["attempt"]) == ("True", 1)
    new = revisions(stand)[len(before) :] if len(revisions(stand)) > len(before) else revisions(stand)[-2:]
    assert len(new) == 2, f"one upgrade and one rollback, nothing twice: {new}"
    assert stand.leftovers(status["runId"]) == []


def test_a_deletion_in_the_middle_of_a_stage_restores_first(runs: Runs, stand: Stand) -> None:
    before = stand.release("runner")
    runs.apply("deleted", spec(variants=VARIANT, stages=((1, "5m"),)))
    run = runs.until_running("deleted")["runId"]
    stand.kubectl("delete", "loadtest", "deleted", "-n", "performance", "--timeout=120s")
    assert stand.release("runner") == before
    assert stand.leftovers(run) == []
    assert stand.items("configmaps", "performance", f"loadtest.eqrunner.dev/run={run}") == [] or stand.wait_for(
        "the garbage collector",
        lambda: not stand.items("configmaps", "performance", f"loadtest.eqrunner.dev/run={run}"),
        30,
    )


def test_a_killed_worker_makes_the_stage_invalid_and_it_is_run_again(runs: Runs, stand: Stand) -> None:
    runs.apply("worker", spec(stages=((2, "8s"),)))
    run = runs.until_running("worker")["runId"]
    time.sleep(3)
    pods = stand.items("pods", "performance", f"loadtest.eqrunner.dev/run={run},loadtest.eqrunner.dev/role=worker")
    stand.kubectl("delete", "pod", pods[0]["metadata"]["name"], "-n", "performance", "--grace-period=0", "--force")
    (stage,) = stages(runs.finished("worker"))
    assert [attempt["reason"] for attempt in stage["invalidAttempts"]] == ["WorkerLost"]
    assert (stage["valid"], stage["attempt"]) == ("True", 2)


def test_a_killed_master_makes_the_stage_invalid_and_it_is_run_again(runs: Runs, stand: Stand) -> None:
    runs.apply("master", spec(stages=((1, "8s"),)))
    run = runs.until_running("master")["runId"]
    time.sleep(2)
    (pod,) = stand.items("pods", "performance", f"loadtest.eqrunner.dev/run={run},loadtest.eqrunner.dev/role=master")
    stand.kubectl("delete", "pod", pod["metadata"]["name"], "-n", "performance", "--grace-period=0", "--force")
    (stage,) = stages(runs.finished("master"))
    assert [attempt["reason"] for attempt in stage["invalidAttempts"]] == ["MasterLost"]
    assert (stage["valid"], stage["attempt"]) == ("True", 2)


def test_a_restarted_runner_pod_makes_the_stage_invalid(runs: Runs, stand: Stand) -> None:
    runs.apply("restarted", spec(stages=((1, "10s"),), wait=("0s", "0s")))
    runs.until_running("restarted")
    time.sleep(3)
    stand.kubectl("delete", "pod", "-n", TARGET, "-l", "app.kubernetes.io/name=runner", "--wait=false")
    (stage,) = stages(runs.finished("restarted"))
    assert stage["invalidAttempts"][0]["reason"] == "TargetChanged"
