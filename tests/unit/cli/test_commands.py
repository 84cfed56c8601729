from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from loadtest.adapters.store import encode
from loadtest.api import names
from loadtest.api.conditions import ConditionType, Reason, set_condition
from loadtest.api.figures import ResultRef
from loadtest.api.status import LoadTestStatus, Phase, Summary, VariantResult, Verdict
from loadtest.cli.main import cli
from loadtest.results.figures import pooled, stage_result
from loadtest.results.record import parse
from tests.unit.api.cases.base import WITH_RELEASE
from tests.unit.cli.conftest import Cluster
from tests.unit.core.builders import NOW, RUN, running, variants
from tests.unit.results.records import endpoint, histogram, stored

COMMANDS = set(cli.commands) - {"helm-job"}


def test_help_names_every_command_but_the_one_that_only_jobs_run() -> None:
    assert {"operator", "crd", "watch", "wait", "report", "uninstall"} <= COMMANDS
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    shown = {line.split()[0] for line in result.output.partition("Commands:")[2].splitlines() if line.strip()}
    assert shown == COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: cli {command}")


def test_help_of_wait_tells_every_exit_code() -> None:
    text = CliRunner().invoke(cli, ["wait", "--help"]).output
    for code in ("0", "3", "4", "5", "6", "7", "124"):
        assert f" {code} " in text


def test_crd_prints_the_definition_that_is_in_the_repository() -> None:
    result = CliRunner().invoke(cli, ["crd"])
    assert result.exit_code == 0
    (document,) = yaml.safe_load_all(result.output)
    assert (document["kind"], document["metadata"]["name"]) == ("CustomResourceDefinition", names.CRD_NAME)
    assert result.output == (Path(__file__).parents[3] / "crds" / f"{names.CRD_NAME}.yaml").read_text()


def test_an_operator_with_wrong_settings_says_which_and_ends() -> None:
    result = CliRunner(env={"LOADTEST_NAMESPACE": None, "LOADTEST_TOKEN_KEY_FILE": "/nowhere"}).invoke(
        cli, ["operator"]
    )
    assert result.exit_code == 2
    assert "LOADTEST_TOKEN_KEY_FILE" in result.output


def ended(phase: Phase, verdict: Verdict | None = None, restored: Any = "True", **changes: Any) -> dict[str, Any]:
    conditions = set_condition(
        [], ConditionType.TARGET_RESTORED, restored, Reason.RESTORED, "", now=NOW, observed_generation=1
    )
    summary = Summary(verdict=verdict) if verdict else None
    return running(phase=phase, conditions=conditions, summary=summary, **changes).to_wire()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (ended(Phase.SUCCEEDED, Verdict.PASS), 0),
        (ended(Phase.SUCCEEDED, Verdict.INCONCLUSIVE), 4),
        (ended(Phase.FAILED), 5),
        (ended(Phase.ABORTED), 6),
        (ended(Phase.FAILED, restored="False"), 7),
    ],
)
@pytest.mark.parametrize("command", ["wait", "watch"])
def test_wait_and_watch_end_with_the_code_of_the_run(
    cluster: Cluster, command: str, status: dict[str, Any], code: int
) -> None:
    cluster.loadtest(status=status)
    result = cluster.run(command, "test")
    assert result.exit_code == code
    assert status["phase"] in result.output


def test_wait_gives_up_after_its_time_with_a_code_of_its_own(cluster: Cluster) -> None:
    cluster.loadtest(status=running().to_wire())
    result = cluster.run("wait", "test", "-n", "performance", "--timeout", "0s")
    assert result.exit_code == 124
    assert "still Running after 0s" in result.output


@pytest.mark.parametrize("command", ["watch", "wait", "report"])
def test_a_loadtest_that_is_not_there_is_told_in_a_sentence(cluster: Cluster, command: str) -> None:
    result = cluster.run(command, "missing")
    assert result.exit_code == 1
    assert "there is no LoadTest missing in namespace performance" in result.output


def test_a_cluster_that_cannot_be_reached_is_told_in_a_sentence(cluster: Cluster) -> None:
    cluster.api.failures["GET", "loadtests"] = (503, "{}")
    result = cluster.run("wait", "test")
    assert result.exit_code == 1
    assert "HTTP 503" in result.output


@pytest.mark.parametrize("command", [["wait", "test"], ["uninstall"]])
def test_a_timeout_that_is_none_is_told_in_a_sentence(cluster: Cluster, command: list[str]) -> None:
    result = cluster.run(*command, "--timeout", "soon")
    assert result.exit_code == 2
    assert "--timeout" in result.output


def measured(cluster: Cluster) -> LoadTestStatus:
    """A LoadTest with one stage whose record is stored."""
    written = stored(endpoint(histogram([1_000, 2_000, 3_000])))
    name = names.result(RUN, 1, 0, 1)
    data = encode(written)
    result = stage_result(parse(written))
    result.result_ref = ResultRef(name=name, parts=1, sha256=hashlib.sha256(data).hexdigest())
    found: list[VariantResult] = variants(("seven", 1, [result]))
    found[0].pooled = pooled([parse(written)])
    status = running(phase=Phase.SUCCEEDED, variants=found)
    binary = {"record.json.gz": base64.b64encode(data).decode()}
    annotations = {"loadtest.eqrunner.dev/parts": "1"}
    cluster.api.put("configmaps", "performance", f"{name}-p0", binaryData=binary, metadata={"annotations": annotations})
    cluster.loadtest(status=status.to_wire(), spec=WITH_RELEASE)
    return status


def test_report_prints_the_tables_and_proves_them(cluster: Cluster) -> None:
    measured(cluster)
    result = cluster.run("report", "test", "--verify")
    assert result.exit_code == 0, result.output
    assert "### seven breakdown" in result.stdout
    assert result.stderr == "1 stage records recomputed, 0 differences.\n"


def test_report_finds_a_figure_that_does_not_follow_from_the_records(cluster: Cluster) -> None:
    status = measured(cluster)
    (variant,) = status.variants or []
    assert variant.pooled is not None
    variant.pooled.requests = 4
    variant.runs[0].stages[0].failures = 1
    cluster.loadtest(status=status.to_wire(), spec=WITH_RELEASE)
    result = cluster.run("report", "test", "--verify")
    assert result.exit_code == 1
    assert "seven, repeat 1, stage 0: failures is 1, recomputed 0" in result.output
    assert "seven, pooled: requests is 4, recomputed 3" in result.output


def test_report_misses_a_record_that_is_gone(cluster: Cluster) -> None:
    measured(cluster)
    del cluster.api.objects["configmaps", "performance", f"{names.result(RUN, 1, 0, 1)}-p0"]
    result = cluster.run("report", "test", "--verify")
    assert result.exit_code == 1
    assert "is missing" in result.output


def test_uninstall_aborts_what_runs_and_waits_until_it_has_ended(cluster: Cluster) -> None:
    cluster.loadtest("running", spec={"abort": False}, status=running().to_wire())
    cluster.loadtest("done", spec={}, status=ended(Phase.SUCCEEDED))
    cluster.loadtest("new", spec={})
    result = cluster.run("uninstall", "--timeout", "0s")
    assert result.exit_code == 7
    assert "aborting performance/running" in result.output
    assert "1 runs have not ended after 0s" in result.output
    assert {name: body["spec"].get("abort") for name, body in cluster.api.of("loadtests").items()} == {
        "running": True, "done": None, "new": None
    }  # fmt: skip
    cluster.loadtest("running", spec={"abort": True}, status=ended(Phase.ABORTED))
    result = cluster.run("uninstall")
    assert (result.exit_code, result.output) == (0, "no run is on: the operator can go\n")


def test_uninstall_names_the_targets_that_are_not_restored(cluster: Cluster) -> None:
    cluster.loadtest(status=ended(Phase.FAILED, restored="False"))
    result = cluster.run("uninstall")
    assert result.exit_code == 7
    assert "NOT RESTORED: the target of performance/test" in result.output
    assert cluster.run("uninstall", "-n", "elsewhere").exit_code == 0, "only the namespaces that were named"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_of_the_shell(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_LOADTEST_COMPLETE={shell}_complete" in result.stdout


def test_the_script_completes_commands() -> None:
    words = {"COMP_WORDS": "loadtest rep", "COMP_CWORD": "1", "_LOADTEST_COMPLETE": "bash_complete"}
    result = CliRunner().invoke(cli, env=words, prog_name="loadtest", complete_var="_LOADTEST_COMPLETE")
    assert result.stdout.strip() == "plain,report"
