"""The helm Job with a real API server, a real helm, and the rights that chart loadtest-target grants and no others."""

import http.server
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from loadtest.adapters.helm_job.entry import run
from loadtest.adapters.helm_job.values import merge
from tests.apiserver.helm_target import RUN, SNAPSHOT, USER_VALUES, HelmTarget, write_chart
from tests.cluster.apiserver import PrivateApiServer
from tests.cluster.binaries import ensure_binaries

_TWO = {"two": {"webServer": {"threads": "2"}}}
_MARK = f"loadtest run {RUN} variant two"


@pytest.fixture
def target(private_server: PrivateApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HelmTarget:
    namespace = f"runner-{time.monotonic_ns()}"
    account = f"system:serviceaccount:{namespace}:loadtest-helm"
    kubeconfig = private_server.kubeconfig_for(account, "system:serviceaccounts", "system:authenticated")
    helm = ensure_binaries("helm")["helm"]
    monkeypatch.setenv("PATH", f"{helm.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    found = HelmTarget(private_server, namespace, tmp_path, kubeconfig, variants=dict(_TWO))
    found.prepare()
    return found


def test_a_variant_is_applied_and_the_original_comes_back_byte_for_byte(target: HelmTarget) -> None:
    target.install()
    before = target.shown()

    kept = target.job("snapshot")
    assert (kept["outcome"], kept["changed"], kept["unsupported"]) == ("ok", False, [])
    assert kept["release"]["chart"] == "runner-1.0.0"
    assert target.shown() == before

    applied = target.job("apply", "two")
    assert (applied["outcome"], applied["changed"]) == ("ok", True)
    assert applied["release"]["chartSha256"] == kept["release"]["chartSha256"]
    assert target.threads() == "2"
    values = json.loads(target.helm("get", "values", "runner", "-o", "json"))
    assert values == {**USER_VALUES, "webServer": {"threads": "2"}}

    restored = target.job("restore")
    assert (restored["outcome"], restored["changed"]) == ("ok", True)
    hashes = ("valuesSha256", "manifestSha256", "chartSha256", "chart", "status")
    assert [restored["release"][key] for key in hashes] == [kept["release"][key] for key in hashes]
    assert target.shown() == before
    assert target.threads() == "7"
    assert target.history() == [
        (1, "superseded", "Install complete"),
        (2, "superseded", _MARK),
        (3, "deployed", "Rollback to 1"),
    ]


def test_an_operation_that_is_done_again_changes_nothing(target: HelmTarget) -> None:
    target.install()
    first = target.job("snapshot")
    target.job("apply", "two")
    again = target.job("snapshot")
    assert again["release"] == first["release"]
    assert target.job("apply", "two")["changed"] is False
    target.job("restore")
    assert target.job("restore")["changed"] is False
    assert len(target.history()) == 3


def test_variants_follow_each_other_and_none_leaves_a_trace_in_the_next(target: HelmTarget) -> None:
    target.variants = {"two": {"webServer": {"threads": "2"}, "extra": True}, "five": {"webServer": {"threads": "5"}}}
    target.install()
    before = target.shown()
    target.job("snapshot")
    target.job("apply", "two")
    assert target.live("service", "extra") is not None
    target.job("apply", "five")
    assert (target.threads(), target.live("service", "extra")) == ("5", None)
    assert "extra" not in json.loads(target.helm("get", "values", "runner", "-o", "json"))
    target.job("restore")
    assert target.shown() == before


def test_more_variants_than_helm_keeps_revisions_do_not_lose_the_original(target: HelmTarget) -> None:
    target.variants = {f"v{n}": {"webServer": {"threads": str(10 + n)}} for n in range(12)}
    target.install()
    target.job("snapshot")
    for variant in target.variants:
        assert target.job("apply", variant)["outcome"] == "ok"
    assert target.history()[0][0] == 1
    assert target.job("restore")["outcome"] == "ok"


@pytest.mark.parametrize("pruned", [False, True], ids=["its revision stored", "its revision pruned"])
def test_a_chart_that_never_renders_twice_alike_comes_back_as_it_was(target: HelmTarget, pruned: bool) -> None:
    target.install(values={"random": True})
    before = target.shown()
    config = target.live("configmap", "runner-config")["data"]
    target.job("snapshot")
    target.job("apply", "two")
    assert target.live("configmap", "runner-config")["data"]["token"] != config["token"]
    if pruned:
        target.kubectl("delete", "secret", "sh.helm.release.v1.runner.v1")
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before
    assert target.live("configmap", "runner-config")["data"] == config


def test_a_pruned_original_comes_back_out_of_the_snapshot(target: HelmTarget) -> None:
    target.install()
    before = target.shown()
    target.job("snapshot")
    target.job("apply", "two")
    target.kubectl("delete", "secret", "sh.helm.release.v1.runner.v1")
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before
    assert [status for _, status, _ in target.history()] == ["superseded", "superseded", "deployed"]


def _kill_helm_in_the_middle(target: HelmTarget) -> None:
    job = target.start_job("apply", "hangs")
    until = time.monotonic() + 30
    while target.live("job", "never-done") is None:
        assert time.monotonic() < until, "helm did not get to its hook"
        assert job.poll() is None, "the Job ended by itself"
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    assert target.history()[-1][1] == "pending-upgrade"


@pytest.mark.parametrize("then", ["apply", "restore"])
def test_a_killed_helm_leaves_a_pending_release_from_which_the_next_job_gets_out(target: HelmTarget, then: str) -> None:
    target.variants = {**_TWO, "hangs": {"hook": True, "extra": True}}
    target.install()
    before = target.shown()
    target.job("snapshot")
    _kill_helm_in_the_middle(target)
    if then == "apply":
        assert target.job("apply", "two")["outcome"] == "ok"
        assert target.threads() == "2"
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before
    assert target.threads() == "7"


def test_a_stopped_job_ends_helm_and_writes_its_outcome(target: HelmTarget) -> None:
    target.variants = {"hangs": {"hook": True}}
    target.install()
    before = target.shown()
    target.job("snapshot")
    job = target.start_job("apply", "hangs")
    until = time.monotonic() + 30
    while target.live("job", "never-done") is None:
        assert time.monotonic() < until, "helm did not get to its hook"
    job.terminate()
    assert job.wait(20) == 0
    outcome = target.outcome("apply-2")
    assert (outcome["outcome"], outcome["reason"]) == ("error", "HelmFailed")
    assert target.history()[-1][1] == "failed"
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before


def test_an_upgrade_that_fails_is_told_without_values_and_undone_whole(target: HelmTarget) -> None:
    target.variants = {"broken": {"replicas": -17, "extra": True}}
    target.install()
    before = target.shown()
    target.job("snapshot")
    failed = target.job("apply", "broken")
    assert (failed["outcome"], failed["reason"], failed["release"]["status"]) == ("error", "HelmFailed", "failed")
    assert "spec.replicas" in failed["message"]
    assert "-17" not in failed["message"]
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before
    assert target.live("service", "extra") is None


@pytest.mark.parametrize("operation", ["apply", "restore"])
def test_what_somebody_else_deployed_meanwhile_is_left_alone(target: HelmTarget, operation: str) -> None:
    chart = target.install()
    target.job("snapshot")
    target.job("apply", "two")
    target.helm("upgrade", "runner", str(chart), "--set", "webServer.threads=9")
    theirs = target.shown()
    outcome = target.job(operation, "two" if operation == "apply" else "")
    assert (outcome["outcome"], outcome["reason"], outcome["changed"]) == ("error", "RestoreConflict", False)
    assert outcome["release"]["revision"] == 3
    assert target.shown() == theirs
    assert len(target.history()) == 3


def test_an_original_that_somebody_else_brought_back_is_enough(target: HelmTarget) -> None:
    target.install()
    target.job("snapshot")
    target.job("apply", "two")
    target.helm("rollback", "runner", "1")
    restored = target.job("restore")
    assert (restored["outcome"], restored["changed"]) == ("ok", False)


def test_a_release_that_is_gone_needs_no_restore(target: HelmTarget) -> None:
    target.install()
    target.job("snapshot")
    target.job("apply", "two")
    target.helm("uninstall", "runner")
    applied, restored = target.job("apply", "two"), target.job("restore")
    assert (applied["outcome"], applied["reason"]) == ("error", "ReleaseNotFound")
    assert (restored["outcome"], restored["reason"], restored["changed"]) == ("ok", "ReleaseGone", False)


def test_in_a_namespace_that_is_being_deleted_nothing_is_put_back(target: HelmTarget) -> None:
    target.install()
    target.job("snapshot")
    target.job("apply", "two")
    # Without controllers a deleted namespace stays, terminating, with all that is in it.
    target.kubectl("delete", "namespace", target.namespace, "--wait=false")
    restored = target.job("restore")
    assert (restored["outcome"], restored["reason"]) == ("ok", "ReleaseGone")
    assert "being deleted" in restored["message"]


def test_without_a_snapshot_nothing_is_changed(target: HelmTarget) -> None:
    target.install()
    before = target.history()
    for operation, variant in (("apply", "two"), ("restore", "")):
        outcome = target.job(operation, variant)
        assert (outcome["outcome"], outcome["reason"]) == ("error", "SnapshotMissing")
    assert target.history() == before


def _refused(target: HelmTarget, reason: str, words: str) -> None:
    outcome = target.job("snapshot")
    assert (outcome["outcome"], outcome["reason"]) == ("error", reason)
    assert words in outcome["message"]
    assert target.live("secret", SNAPSHOT) is None


def test_a_release_that_is_not_there_is_refused(target: HelmTarget) -> None:
    _refused(target, "ReleaseNotFound", f"helm list -n {target.namespace}")


@pytest.mark.parametrize("status", ["failed", "pending-upgrade", "uninstalled"])
def test_a_release_that_is_not_deployed_is_refused(target: HelmTarget, status: str) -> None:
    target.install()
    target.edit_stored(1, status=status)
    _refused(target, "ReleaseNotDeployed", f"helm rollback runner -n {target.namespace}")


def test_a_variant_that_another_run_left_live_is_not_taken_for_an_original(target: HelmTarget) -> None:
    target.install()
    target.edit_stored(1, description="loadtest run ffffffffffffffff variant two")
    _refused(target, "RestoreConflict", "still is variant two of run ffffffffffffffff")


@pytest.mark.parametrize(
    ("kind", "mark", "tool"),
    [
        ("--labels", "helm.toolkit.fluxcd.io/name=runner", "Flux"),
        ("--annotations", "argocd.argoproj.io/tracking-id=eq:apps/Deployment:runner/runner", "Argo CD"),
    ],
)
def test_a_release_that_gitops_owns_is_refused(target: HelmTarget, kind: str, mark: str, tool: str) -> None:
    target.install()
    verb = "label" if kind == "--labels" else "annotate"
    target.kubectl(verb, "deployment", "runner", mark)
    _refused(target, "ReleaseManagedByGitOps", f"managed by {tool}")


def test_a_variant_that_cannot_be_rendered_is_refused_before_anything_changed(target: HelmTarget) -> None:
    target.variants = {**_TWO, "lacking": {"required": None, "password": "sesame99"}}
    target.install()
    _refused(target, "HelmFailed", "variant lacking would fail: helm upgrade failed")
    assert len(target.history()) == 1


def test_settings_that_the_chart_does_not_know_are_listed(target: HelmTarget) -> None:
    target.settings = [
        {"setting": "threads", "path": "webServer.threads", "variants": ["two"]},
        {"setting": "sessionBackend", "path": "session.backend", "variants": ["two"]},
        {"setting": "given", "path": "password", "variants": ["two"]},
    ]
    target.variants = {"two": {"webServer": {"threads": "2"}, "session": {"backend": "storage"}}}
    target.install()
    outcome = target.job("snapshot")
    assert outcome["outcome"] == "ok"
    assert outcome["unsupported"] == [{"setting": "sessionBackend", "path": "session.backend"}]


_SUBCHART = {
    "charts/redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 0.1.0\n",
    "charts/redis/values.yaml": "port: 6379\n",
    "charts/redis/templates/config.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: redis}\ndata: {port: '{{ .Values.port }}'}\n"
    ),
}
_DEPENDENCY = (
    "apiVersion: v2\nname: runner\nversion: 1.0.0\n"
    "dependencies: [{name: redis, version: 0.1.0, condition: redis.enabled}]\n"
)


def test_a_chart_with_subcharts_cannot_be_rebuilt(target: HelmTarget) -> None:
    target.install(write_chart(target.folder / "chart", _SUBCHART))
    _refused(target, "ChartNotRebuildable", "target.release.chart")


@pytest.fixture
def repository(target: HelmTarget) -> Iterator[str]:
    """A chart repository with chart runner 1.0.0 that has a subchart; its URL."""
    chart = write_chart(target.folder / "chart", {**_SUBCHART, "Chart.yaml": _DEPENDENCY})
    folder = target.folder / "repository"
    target.helm("package", str(chart), "--destination", str(folder))
    target.helm("repo", "index", str(folder))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keeps the test's output clean."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


def test_a_named_chart_serves_where_the_stored_one_cannot(target: HelmTarget, repository: str) -> None:
    target.chart = {"repo": repository, "name": "runner", "version": "1.0.0"}
    target.variants = {**_TWO, "no-redis": {"redis": {"enabled": False}}}
    target.settings = [{"setting": "redisPort", "path": "redis.port", "variants": ["two"]}]
    target.install(target.folder / "chart")
    before = target.shown()
    kept = target.job("snapshot")
    assert (kept["outcome"], kept["unsupported"]) == ("ok", [])
    assert target.job("apply", "two")["outcome"] == "ok"
    assert target.job("apply", "no-redis")["outcome"] == "ok"
    assert target.live("configmap", "redis") is None
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before
    assert target.live("configmap", "redis") is not None


def test_a_named_chart_that_is_not_the_releases_is_refused(target: HelmTarget, repository: str) -> None:
    target.install(
        write_chart(target.folder / "other", {"values.yaml": "required: changed\nwebServer: {}\nreplicas: 1\n"})
    )
    target.chart = {"repo": repository, "name": "runner", "version": "1.0.0"}
    _refused(target, "ChartNotRebuildable", "is not what release runner was made from")


def test_odd_values_come_through_a_variant_and_back(target: HelmTarget) -> None:
    odd: dict[str, Any] = {
        "null": None,
        "nodeSelector": {"a.b/c": "d,e", "on": "yes"},
        "numbers": [0, -1, 1.5, 1000000, 12345678901, 1e-7, 1e21],
        "text": ["1e3", "0x1F", "a\u0085b\u2028c\ufeff", "\U0001f600", "~", "", " ", "\t\"'\\"],
        "deep": {"list": [{"a": []}, {}], "empty": {}},
    }
    target.variants = {"odd": {"more": odd, "nodeSelector": None, "deep": {"empty": {"x": None}}}}
    target.install(values=odd)
    before = target.shown()
    target.job("snapshot")
    applied = target.job("apply", "odd")
    assert (applied["outcome"], applied["message"]) == ("ok", "variant odd is live as revision 2")
    assert json.loads(target.helm("get", "values", "runner", "-o", "json")) == merge(odd, target.variants["odd"])
    assert target.job("restore")["outcome"] == "ok"
    assert target.shown() == before


@pytest.mark.parametrize(
    ("base", "over"),
    [
        ({"a": {"b": 1, "c": {"d": 2}}}, {"a": {"c": {"e": None}}}),
        ({"a": {"b": 1}, "l": [1, 2]}, {"a": None, "l": []}),
        ({"a": None, "b": "text"}, {"a": {"c": 1}, "b": {"c": 1}}),
    ],
)
def test_values_are_merged_exactly_as_helm_merges_two_files(
    target: HelmTarget, base: dict[str, Any], over: dict[str, Any]
) -> None:
    chart = write_chart(target.folder / "chart")
    files = []
    for name, values in (("base", base), ("over", over)):
        files += ["--values", str(target.folder / f"{name}.json")]
        (target.folder / f"{name}.json").write_text(json.dumps(values))
    rendered = target.helm("install", "other", str(chart), *files, "--dry-run=client", "-o", "json")
    assert json.loads(rendered)["config"] == merge(base, over)


def test_a_job_that_may_not_write_its_outcome_fails(
    target: HelmTarget, private_server: PrivateApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.install()
    _, arguments = target.job_arguments("snapshot")
    monkeypatch.setenv("KUBECONFIG", str(private_server.kubeconfig_for("system:serviceaccount:elsewhere:default")))
    assert run(arguments) == 1


def test_a_job_without_a_right_says_which(target: HelmTarget) -> None:
    target.install()
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"]}]
    target.kubectl("patch", "role", "loadtest-helm", "--type", "merge", "-p", json.dumps({"rules": rules}))
    outcome = target.job("snapshot")
    assert (outcome["outcome"], outcome["reason"]) == ("error", "Forbidden")
    assert "secrets" in outcome["message"]
    assert "loadtest-target" in outcome["message"]
