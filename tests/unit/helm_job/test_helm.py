"""Helm's command lines, and helm as a child process."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from loadtest.adapters.helm_job.errors import JobError, Reason
from loadtest.adapters.helm_job.helm import Helm, Target, pull
from loadtest.adapters.helm_job.request import NamedChart

_TARGET = Target("runner", "eq", 300)
_COMMON = ["--namespace", "eq", "--timeout", "300s"]
_FLAGS = ["--reset-values", "--values", "/in/v.json", "--history-max", "0"]


def test_an_upgrade_resets_values_keeps_all_history_and_does_not_wait() -> None:
    command = _TARGET.upgrade(Path("/in/chart.tgz"), Path("/in/v.json"), "loadtest run 1 variant x")
    assert command == [
        *["upgrade", "runner", "/in/chart.tgz", *_COMMON, *_FLAGS],
        *["--description", "loadtest run 1 variant x"],
    ]


def test_a_rehearsal_is_the_same_upgrade_without_doing_it() -> None:
    command = _TARGET.render(Path("/in/chart.tgz"), Path("/in/v.json"))
    assert command == [
        *["upgrade", "runner", "/in/chart.tgz", *_COMMON, *_FLAGS],
        *["--dry-run=server", "--output", "json"],
    ]


def test_a_rollback_names_the_revision_and_keeps_all_history() -> None:
    assert _TARGET.rollback(3) == ["rollback", "runner", "3", *_COMMON, "--history-max", "0"]


@pytest.mark.parametrize(
    ("chart", "command"),
    [
        (
            NamedChart("https://charts.test/eq", "runner", "1.0.0"),
            ["pull", "runner", "--repo", "https://charts.test/eq", "--version", "1.0.0", "--destination", "/in/p"],
        ),
        (
            NamedChart("oci://charts.test/eq/", "runner", "1.0.0"),
            ["pull", "oci://charts.test/eq/runner", "--version", "1.0.0", "--destination", "/in/p"],
        ),
    ],
)
def test_a_named_chart_is_pulled_from_its_repository(chart: NamedChart, command: list[str]) -> None:
    assert pull(chart, Path("/in/p")) == command


def _fake(folder: Path, program: str, hidden: tuple[str, ...] = ()) -> Helm:
    """A Helm whose program is a few lines of Python."""
    path = folder / "helm"
    path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{program}\n")
    path.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HELM_NAMESPACE": "leaked", "KUBECONFIG": "/k"}
    return Helm(environment, folder / "scratch", hidden)


def test_helm_gets_writable_folders_and_none_of_its_own_settings_from_outside(tmp_path: Path) -> None:
    helm = _fake(tmp_path, "print(sorted((k, v) for k, v in os.environ.items() if k[:4] in ('HELM', 'HOME', 'KUBE')))")
    scratch = str(tmp_path / "scratch")
    assert eval(helm.run(["list"], 10)) == [  # noqa: S307  our own program's output
        ("HELM_CACHE_HOME", f"{scratch}/helm/cache"),
        ("HELM_CONFIG_HOME", f"{scratch}/helm/config"),
        ("HELM_DATA_HOME", f"{scratch}/helm/data"),
        ("HOME", scratch),
        ("KUBECONFIG", "/k"),
    ]


def test_a_failing_helm_is_reported_without_values(tmp_path: Path) -> None:
    helm = _fake(tmp_path, "sys.exit('Error: bad password hunter22')", ("hunter22",))
    with pytest.raises(JobError) as caught:
        helm.run(["upgrade"], 10)
    assert (caught.value.reason, caught.value.message) == (
        Reason.HELM_FAILED,
        "helm upgrade failed: Error: bad password (hidden)",
    )


def test_a_helm_that_hangs_is_killed_after_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadtest.adapters.helm_job.helm._GRACE_SECONDS", 0)
    with pytest.raises(JobError, match="did not end within 1 s and was killed"):
        _fake(tmp_path, "time.sleep(60)").run(["upgrade"], 1)


def test_output_that_is_not_json_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="did not print JSON"):
        _fake(tmp_path, "print('<html>')").run_json(["upgrade"], 10)


def _terminate_when_there(marker: Path) -> threading.Thread:
    def wait_and_kill() -> None:
        until = time.monotonic() + 10
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    return thread


def test_stopping_the_pod_asks_an_upgrade_to_end(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    program = (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('Error: context canceled'))\n"
        f"open({str(marker)!r}, 'w').close()\ntime.sleep(30)"
    )
    helm = _fake(tmp_path, program)
    thread = _terminate_when_there(marker)
    with pytest.raises(JobError, match="context canceled"):
        helm.run(["upgrade"], 20)
    thread.join()


def test_stopping_the_pod_lets_a_rollback_finish(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    helm = _fake(tmp_path, f"open({str(marker)!r}, 'w').close()\ntime.sleep(1)\nprint('done')")
    thread = _terminate_when_there(marker)
    assert helm.run(["rollback"], 20) == "done\n"
    thread.join()
