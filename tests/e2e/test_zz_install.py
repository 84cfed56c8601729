"""Installing and removing the operator itself; last, because it takes the operator away and brings it back."""

import json

from tests.cluster.stand import ROOT, SAMPLES, SYSTEM, TARGET, TESTS, Stand
from tests.e2e.runs import THREADS, Runs, spec, stages

CHART = str(ROOT / "charts" / "loadtest-operator")


def test_uninstalling_the_operator_during_a_run_restores_first_and_keeps_the_crd(runs: Runs, stand: Stand) -> None:
    before = stand.release("runner")
    runs.apply("uninstalled", spec(variants=[{"name": "threads", "runner": THREADS}], stages=((1, "5m"),)))
    runs.until_running("uninstalled")
    stand.helm("uninstall", "loadtest-operator", "-n", SYSTEM, "--timeout", "5m")
    assert stand.release("runner") == before
    assert runs.status("uninstalled")["phase"] == "Aborted"
    assert "loadtests.loadtest.eqrunner.dev" in stand.kubectl("get", "crd", "-o", "name")
    stand.kubectl("delete", "loadtest", "uninstalled", "-n", TESTS, "--timeout=20s")


def test_the_operator_runs_with_the_rights_of_one_namespace_alone(runs: Runs, stand: Stand) -> None:
    values = ["-f", str(SAMPLES / "operator-values.yaml"), "--set", f"watchNamespaces={{{TESTS}}}"]
    stand.helm("upgrade", "--install", "loadtest-operator", CHART, "-n", SYSTEM, *values)
    stand.kubectl("rollout", "status", "deployment/loadtest-operator", "-n", SYSTEM, "--timeout=180s")
    bindings = json.loads(stand.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    subjects = [subject for binding in bindings for subject in binding.get("subjects") or ()]
    assert not [s for s in subjects if s.get("namespace") == SYSTEM], "no right outside its namespaces"
    runs.apply("single", spec(variants=[{"name": "threads", "runner": THREADS}], stages=((1, "3s"),)))
    status = runs.finished("single")
    assert status["phase"] == "Succeeded", status["conditions"]
    assert stages(status)[0]["valid"] == "True"
    assert stand.leftovers(status["runId"], TARGET, TESTS) == []
    stand.operator()
