from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from loadtest.api.status import LoadTestStatus, Phase, Summary, Verdict
from loadtest.cli.main import cli
from tests.local.conftest import JOURNEY, LOADTEST
from tests.unit.cli.conftest import Cluster
from tests.unit.core.builders import running

KEYS = {"launch": {"keysSecret": {"name": "launch-keys"}}}


def write(folder: Path, **spec: object) -> Path:
    path = folder / "test.yaml"
    loadtest = LOADTEST | {"spec": LOADTEST["spec"] | spec}
    path.write_text(yaml.safe_dump_all([JOURNEY, loadtest]))
    return path


def run(*arguments: str | Path, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(cli, ["run", *map(str, arguments)])


def test_a_file_without_a_loadtest_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(JOURNEY))
    result = run("--local", path, "--results", tmp_path / "results")
    assert result.exit_code == 2
    assert "exactly one document of kind: LoadTest" in result.output
    assert not (tmp_path / "results").exists()


def test_a_missing_secret_is_refused_with_field_and_remedy(tmp_path: Path) -> None:
    scenario = {"requests": LOADTEST["spec"]["scenario"]["requests"] | KEYS}
    result = run("--local", write(tmp_path, scenario=scenario), "--command", "true", "--results", tmp_path / "results")
    assert result.exit_code == 2
    assert "launch.keysSecret.name: Secret launch-keys is not in the file" in result.output
    assert "--file launch-keys/signing.pem=..." in result.output


def test_a_missing_redis_is_said_with_how_to_get_it(tmp_path: Path) -> None:
    result = run("--local", write(tmp_path), "--results", tmp_path / "results", PATH="/nowhere")
    assert result.exit_code == 2
    assert "redis-server, which keeps the sample Runner's sessions, is not on the PATH" in result.output
    assert "apt install redis-server" in result.output


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"load": {"stages": []}}, "spec.load.stages"),
        ({"baseline": "nobody"}, "baseline must be the name of one of variants: correct it"),
        (
            {"scenario": {"requests": {"configMap": {"name": "journey", "key": "other"}}}},
            "correct spec.scenario.requests.configMap.key",
        ),
        (
            {
                "variants": [
                    {"name": "a", "settings": {"threads": "1"}},
                    {"name": "b", "settings": {"threads": "1"}, "values": {"x": 1}},
                ]
            },
            "a and b differ in x, which no environment variable",
        ),
    ],
)
def test_a_spec_that_cannot_be_run_ends_with_5_and_names_field_and_remedy(
    tmp_path: Path, spec: dict[str, object], message: str
) -> None:
    result = run("--local", write(tmp_path, **spec), "--command", "true", "--results", tmp_path / "results")
    assert result.exit_code == 5, result.output
    assert message in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--command", "true"], "--command needs --local"),
        (["--results", "."], "--results needs --local"),
        (["--local", "--rerun"], "--rerun is for a cluster"),
        (["--local", "-n", "x"], "--namespace is for a cluster"),
    ],
)
def test_an_option_of_the_other_way_to_run_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run(write(tmp_path), *arguments)
    assert result.exit_code == 2
    assert message in result.output


def ended(verdict: Verdict) -> dict[str, object]:
    status: LoadTestStatus = running(phase=Phase.SUCCEEDED, summary=Summary(verdict=verdict), observed_generation=1)
    return status.to_wire()


def test_in_a_cluster_the_documents_are_applied_and_the_exit_code_is_the_results(
    tmp_path: Path, cluster: Cluster
) -> None:
    for name, plural in (("journey", "configmaps"), ("small", "loadtests")):  # the memory API patches what is there
        cluster.api.put(plural, "performance", name, metadata={"generation": 1}, status=ended(Verdict.FAIL))
    result = cluster.run("run", str(write(tmp_path)), "--rerun")
    assert result.exit_code == 3, result.output
    assert "# small" in result.output
    patches = [(path, body) for method, path, body in cluster.api.requests if method == "PATCH"]
    assert [path.split("?")[0].rsplit("/", 2)[1:] for path, _ in patches] == [
        ["configmaps", "journey"],
        ["loadtests", "small"],
    ]
    assert all("fieldManager=loadtest-cli" in path for path, _ in patches)
    assert patches[1][1]["spec"]["rerun"], "it runs again"
    assert set(cluster.api.content_types) == {"application/apply-patch+yaml", "application/json"}


def test_in_a_cluster_a_namespace_that_contradicts_the_file_is_refused(tmp_path: Path, cluster: Cluster) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(LOADTEST | {"metadata": {"name": "small", "namespace": "a"}}))
    result = cluster.run("run", str(path), "-n", "b")
    assert result.exit_code == 2
    assert "metadata.namespace of the LoadTest is a, and --namespace is b" in result.output
    assert cluster.api.requests == []
