"""The laptop engine with the sample Runner: two ways to serve, sessions in Redis and in Datastore."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from loadtest.api.status import LoadTestStatus
from tests.local.conftest import Run

JOURNEY = {
    "schema_name": "test_checkbox",
    "requests": [
        {"method": "GET", "url": "/questionnaire/mandatory-checkbox/"},
        {"method": "POST", "url": "/questionnaire/mandatory-checkbox/", "data": {"mandatory-checkbox-answer": "Ham"}},
        {"method": "GET", "url": "/submitted/thank-you/"},
    ],
}
THREADS = {
    "workerClass": "gthread",
    "workers": 1,
    "threads": 4,
    "datastoreTransport": "grpc",
    "sessionBackend": "redis",
}
ASYNC = {"workerClass": "gevent", "workers": 1, "datastoreTransport": "http", "sessionBackend": "datastore"}


def sample(loadtest: dict[str, Any]) -> None:
    spec = loadtest["spec"]
    spec["target"]["release"]["preset"] = "eq-questionnaire-runner"
    del spec["target"]["release"]["settings"]
    spec["target"]["sendSecureCookiesOverHttp"] = True
    spec["variants"] = [{"name": "threads", "runner": THREADS}, {"name": "async", "runner": ASYNC}]
    spec["load"]["usersPerInjector"] = 8
    spec["scenario"]["requests"]["launch"] = {"keysSecret": {"name": "made-for-the-run"}}
    spec["measurements"] = [{"name": "redis", "redis": {"address": "redis.runner.svc:6379"}}]


def test_each_variant_is_served_as_it_says_and_every_request_is_in_the_runners_log(
    start: Callable[..., Run],
) -> None:
    run = start(sample, journey=JOURNEY, command=None)
    assert run.end() == 0, run.screen
    run.assert_nothing_is_left()
    status = LoadTestStatus.model_validate(run.loadtest()["status"])
    stages = {variant.name: variant.runs[0].stages[0] for variant in status.variants or ()}
    for position, (name, worker) in enumerate((("threads", "gthread"), ("async", "gevent")), 1):
        log = (run.results / "logs" / f"target-{position}.log").read_text()
        assert f"Using worker: {worker}" in log
        served = Counter(json.loads(line)["window"] for line in log.splitlines() if line.startswith("{"))
        stage = stages[name]
        assert (stage.valid, stage.failures) == ("True", 0), stage
        assert stage.requests
        assert stage.launches
        assert served[f"{status.run_id}/{position}/0/{stage.attempt}/window"] == stage.requests
    redis = {name: stage.redis for name, stage in stages.items()}
    assert redis["threads"]
    assert redis["async"]
    assert redis["threads"].connections_peak, "sessions are in Redis, by the address of this machine"
    assert redis["async"].connections_peak == 0, "sessions are in Datastore"
