"""CPU and memory of the target's pods, as the cluster's metrics API tells them."""

import json

from tests.cluster.stand import TESTS, Stand
from tests.e2e.runs import Runs, spec, stages

ACCOUNT = "loadtest-measure"


def test_the_pods_are_measured_through_the_whole_window(runs: Runs, stand: Stand) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": TESTS}}
    stand.apply(json.dumps(account | {"automountServiceAccountToken": False}))
    body = spec(stages=((1, "20s"),), users=10)
    body["measurements"] = [{"name": "runner", "pods": {}}]
    body["injector"] = body.get("injector", {}) | {"masterServiceAccount": ACCOUNT}
    runs.apply("measured-pods", body)
    status = runs.finished("measured-pods")
    (stage,) = stages(status)
    runner = stage["runner"]
    assert (status["phase"], stage["valid"]) == ("Succeeded", "True"), stage
    assert "unknownReason" not in runner, runner
    assert (runner["pods"], runner["restarts"], runner["cpuMillicoresAvailable"]) == (1, 0, 100)
    assert runner["cpuMillicores"] > 0
    assert runner["memoryBytesPeak"] > 32 * 2**20
