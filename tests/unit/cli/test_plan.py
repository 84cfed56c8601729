from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from loadtest.cli.main import cli
from tests.unit.api.cases.base import WITH_RELEASE, merged

SAMPLES = sorted((Path(__file__).parents[3] / "manifests" / "samples").glob("*.yaml"))
LOADTESTS = [file for file in SAMPLES if "kind: LoadTest" in file.read_text()]


def body(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "loadtest.eqrunner.dev/v1alpha1",
        "kind": "LoadTest",
        "metadata": {"name": "test"},
        "spec": merged(WITH_RELEASE, spec),
    }


def plan(text: str, *arguments: str) -> Result:
    """`loadtest plan -` with this text; there is no cluster."""
    environment = {"KUBECONFIG": "/nowhere", "XDG_CONFIG_HOME": "/nowhere"}
    return CliRunner(env=environment).invoke(cli, ["plan", "-", *arguments], input=text)


@pytest.mark.parametrize("file", LOADTESTS, ids=lambda file: file.name)
def test_every_sample_has_a_plan(file: Path) -> None:
    result = CliRunner(env={"KUBECONFIG": "/nowhere"}).invoke(cli, ["plan", str(file), "-o", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["stageRuns"] > 0


def test_formats_tell_the_same_plan() -> None:
    text = yaml.safe_dump_all([{"kind": "ConfigMap", "metadata": {"name": "x"}}, body()])
    as_json = json.loads(plan(text, "-o", "json").stdout)
    assert yaml.safe_load(plan(text, "-o", "yaml").stdout) == as_json
    shown = plan(text)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("# test\n")
    for stage in as_json["stages"]:
        assert f"| {stage['index']} " in shown.stdout


JOURNEY = json.dumps({"schema_name": "x", "requests": [{"method": "GET", "url": f"/{n}/"} for n in range(4)]})


def test_the_requests_file_beside_the_loadtest_says_how_many_requests_there_are_for_a_wait() -> None:
    name = {"name": "census-household"}
    beside = {"kind": "ConfigMap", "metadata": name, "data": {"census_household_gb_eng.json": JOURNEY}}
    alone = json.loads(plan(yaml.safe_dump(body()), "-o", "json").stdout)["needs"]
    found = json.loads(plan(yaml.safe_dump_all([beside, body()]), "-o", "json").stdout)["needs"]
    # 15 injectors of 200 users who wait 1.5 s after every request, and not after every other one.
    assert (found["requestsPerSecond"], alone["requestsPerSecond"]) == (2_000, 4_000)


def test_a_kept_calibration_is_used_and_a_broken_one_named(tmp_path: Path) -> None:
    file = tmp_path / "loadtest" / "calibration.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"requestsPerCpuSecond": 14_000, "source": "measured here"}))
    environment = {"KUBECONFIG": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path)}
    text = yaml.safe_dump(body())
    result = CliRunner(env=environment).invoke(cli, ["plan", "-", "-o", "json"], input=text)
    assert json.loads(result.stdout)["needs"]["calibration"] == json.loads(file.read_text())
    file.write_text("{}")
    result = CliRunner(env=environment).invoke(cli, ["plan", "-"], input=text)
    assert result.exit_code == 2
    assert "run `loadtest calibrate` again" in result.output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no LoadTest: give a file with exactly one"),
        (yaml.safe_dump_all([body(), body()]), "holds 2 LoadTests"),
        ("a: [", "this is not YAML"),
        (
            yaml.safe_dump(body() | {"apiVersion": "v1"}),
            "apiVersion of the LoadTest is 'v1': write loadtest.eqrunner.dev/v1alpha1",
        ),
        (yaml.safe_dump(body() | {"metadata": {}}), "metadata.name is missing"),
        (yaml.safe_dump(body(baseline="nobody")), "baseline must be the name of one of variants"),
        (yaml.safe_dump(body(load={"stages": [{"injectors": 1, "duration": "20"}]})), "spec.load.stages.0.duration"),
        (yaml.safe_dump(body(deadline="1m")), "spec.deadline 1m is shorter than the load alone"),
    ],
)
def test_what_cannot_be_run_is_refused_with_field_and_remedy(text: str, problem: str) -> None:
    result = plan(text)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stdout == ""


def test_every_problem_of_a_spec_is_told_at_once() -> None:
    result = plan(yaml.safe_dump(body(repeats=0, load={"usersPerInjector": 0})))
    assert result.exit_code == 2
    assert "spec.repeats" in result.stderr
    assert "spec.load.usersPerInjector" in result.stderr
