"""What may not be loaded is refused with its reason, before anything is written at the target."""

import pytest

from tests.cluster.stand import SYSTEM, TARGET, TESTS, Stand
from tests.e2e.runs import THREADS, Json, Runs, condition, spec

VARIANTS = [{"name": "threads", "runner": THREADS}]


def refused(url: str) -> Json:
    return spec() | {"target": {"url": url}}


REFUSED: list[tuple[str, Json, str, str]] = [
    (
        "strange",
        refused(f"http://loadtest-operator.{SYSTEM}.svc:8080"),
        "NamespaceNotAllowed",
        f"annotate it with loadtest.eqrunner.dev/allowed-from={TESTS}",
    ),
    ("metadata", refused("http://169.254.169.254"), "HostNotAllowed", "link-local"),
    ("decimal", refused("http://2852039166"), "HostNotAllowed", "unusual spelling"),
    ("api-server", refused("https://kubernetes.default.svc"), "HostNotAllowed", "the API server"),
    ("outside", refused("http://www.example.org"), "HostNotAllowed", "limits.outsideHosts"),
    (
        "ceiling",
        spec(variants=VARIANTS, stages=((3, "5s"),), users=7000),
        "CeilingExceeded",
        "a stage has 21000 users (injectors times usersPerInjector), and at most 20000",
    ),
]


@pytest.mark.parametrize(("name", "body", "reason", "says"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_loadtest_that_may_not_run_is_stalled_with_its_reason(
    runs: Runs, stand: Stand, name: str, body: Json, reason: str, says: str
) -> None:
    runs.apply(name, body)
    status = runs.finished(name, seconds=60)
    stalled = condition(status, "Stalled")
    assert stalled is not None
    assert (status["phase"], stalled["status"], stalled["reason"]) == ("Failed", "True", reason)
    assert says in stalled["message"]
    assert (condition(status, "TargetRestored") or {}).get("reason") == "NotChanged"
    assert stand.leftovers(status["runId"], TARGET, TESTS, SYSTEM) == []


def test_a_consent_that_is_withdrawn_during_a_stage_ends_the_run_and_restores(runs: Runs, stand: Stand) -> None:
    runs.apply("withdrawn", spec(variants=VARIANTS, stages=((1, "5m"),)))
    status = runs.until_running("withdrawn")
    mine = f"loadtest.eqrunner.dev/run={status['runId']}"
    assert len(stand.items("networkpolicies", TESTS, mine)) == 2, "the injectors of a run are fenced in"
    try:
        stand.kubectl("annotate", "namespace", TARGET, "loadtest.eqrunner.dev/allowed-from-")
        status = runs.finished("withdrawn")
    finally:
        stand.namespace(TARGET, allowed_from=TESTS)
    stalled = condition(status, "Stalled")
    assert stalled is not None
    assert (status["phase"], stalled["reason"]) == ("Failed", "NamespaceNotAllowed")
    assert (condition(status, "TargetRestored") or {}).get("reason") == "Restored"
    stand.wait_for("the end of the NetworkPolicies", lambda: not stand.items("networkpolicies", TESTS, mine))
