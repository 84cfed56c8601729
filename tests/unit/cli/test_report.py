from __future__ import annotations

import csv
import io
import json
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
import yaml

from loadtest.adapters.store import decode, encode
from tests.unit.cli.conftest import Cluster
from tests.unit.cli.test_commands import measured
from tests.unit.core.builders import running


def test_each_format_is_written_to_the_screen_or_a_file(cluster: Cluster, tmp_path: Path) -> None:
    status = measured(cluster)
    assert cluster.run("report", "test").stdout.startswith("# test\n")
    page = tmp_path / "r.html"
    done = cluster.run("report", "test", "-o", "html", "-f", str(page))
    assert (done.exit_code, done.stdout) == (0, "")
    assert page.read_text().lstrip().startswith("<!DOCTYPE html>")
    shown = json.loads(cluster.run("report", "test", "-o", "json").stdout)
    assert shown["status"] == status.to_wire()
    (row,) = csv.DictReader(io.StringIO(cluster.run("report", "test", "-o", "csv").stdout))
    assert (row["variant"], row["repeat"], row["requests"], row["valid"]) == ("seven", "1", "3", "True")
    assert row["latencyMicros.p99"] == "3000"
    assert row["latencyMicros.p9999"] == "3000"


def test_a_saved_folder_gives_the_same_report_without_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    measured(cluster)
    folder = tmp_path / "kept"
    assert cluster.run("report", "test", "--save", str(folder)).exit_code == 0
    assert {file.name for file in folder.iterdir()} == {
        "loadtest.yaml", "records", "report.html", "report.md", "stages.csv"
    }  # fmt: skip
    first = cluster.run("report", "test", "--verify")
    cluster.api.objects.clear()
    again = cluster.run("report", str(folder), "--verify")
    assert (again.exit_code, again.output) == (0, first.output)
    assert "1 stage records recomputed, 0 differences" in again.stderr


def test_without_records_only_the_status_is_read(cluster: Cluster) -> None:
    measured(cluster)
    cluster.api.failures["GET", "configmaps"] = (503, "{}")
    result = cluster.run("report", "test", "--no-records")
    assert result.exit_code == 0, result.output
    assert "### seven breakdown" in result.stdout
    assert "## Injector health" not in result.stdout
    assert cluster.run("report", "test").exit_code == 1
    result = cluster.run("report", "test", "--no-records", "--verify")
    assert (result.exit_code, "leave out --no-records" in result.output) == (2, True)


def test_a_record_that_was_changed_in_its_folder_is_found_by_verify(cluster: Cluster, tmp_path: Path) -> None:
    measured(cluster)
    cluster.run("report", "test", "--save", str(tmp_path))
    (file,) = (tmp_path / "records").iterdir()
    body = json.loads(file.read_text())
    record = decode(b64decode(body["binaryData"]["record.json.gz"]))
    record["record"]["counters"]["launches"] += 1
    body["binaryData"]["record.json.gz"] = b64encode(encode(record)).decode()
    file.write_text(json.dumps(body))
    result = cluster.run("report", str(tmp_path), "--verify")
    assert result.exit_code == 1
    assert "the stored record has another hash than the status says" in result.stderr
    assert "launches is 3, recomputed 4" in result.stderr


def test_the_yaml_of_a_loadtest_is_enough_for_its_tables(cluster: Cluster, tmp_path: Path) -> None:
    measured(cluster)
    file = tmp_path / "loadtest.yaml"
    file.write_text(cluster.run("report", "test", "-o", "json").stdout)
    result = cluster.run("report", str(file))
    assert result.exit_code == 0
    assert "### seven breakdown" in result.stdout


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("kind: Pod\n", "is no LoadTest: give what `kubectl get loadtest NAME -o yaml` wrote"),
        ("a: [\n", "cannot be read"),
        (yaml.safe_dump({"kind": "LoadTest", "status": {"variants": [{"runs": []}]}}), "the status cannot be read"),
    ],
)
def test_a_file_that_is_no_result_is_refused_in_a_sentence(
    cluster: Cluster, tmp_path: Path, content: str, problem: str
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(content)
    result = cluster.run("report", str(file))
    assert result.exit_code == 1
    assert problem in result.output


def test_a_path_that_is_not_there_is_not_looked_for_in_the_cluster(cluster: Cluster) -> None:
    result = cluster.run("report", "results/mine")
    assert result.exit_code == 1
    assert "results/mine: there is no such file or folder" in result.output


def test_wait_prints_the_end_in_each_format_and_writes_junit(cluster: Cluster, tmp_path: Path) -> None:
    measured(cluster)
    assert "### seven breakdown" in cluster.run("wait", "test", "-o", "md").stdout
    shown = cluster.run("wait", "test", "-o", "json").stdout
    assert json.loads(shown) == yaml.safe_load(cluster.run("wait", "test", "-o", "yaml").stdout)
    file = tmp_path / "junit.xml"
    result = cluster.run("wait", "test", "--junit", str(file))
    assert (result.exit_code, result.stdout[:9]) == (0, "Succeeded")
    assert '<testsuite name="test"' in file.read_text()


def test_wait_that_gives_up_writes_an_error_into_junit(cluster: Cluster, tmp_path: Path) -> None:
    cluster.loadtest(status=running().to_wire())
    file = tmp_path / "junit.xml"
    assert cluster.run("wait", "test", "--timeout", "0s", "--junit", str(file)).exit_code == 124
    assert '<error type="Running"' in file.read_text()
