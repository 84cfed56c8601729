from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cluster
from tests.unit.cli.test_commands import measured
from tests.unit.cli.test_import_locust import PUBLISHED


@pytest.fixture
def past(tmp_path: Path) -> str:
    folder = tmp_path / "past"
    folder.mkdir()
    (folder / "_stats.csv").write_text(PUBLISHED.read_text())
    return str(folder)


def test_a_loadtest_is_compared_with_published_csvs(cluster: Cluster, past: str) -> None:
    measured(cluster)
    result = cluster.run("compare", past, "test")
    assert result.exit_code == 0, result.output
    assert "## test: seven and past" in result.stdout
    (row,) = [line for line in result.stdout.splitlines() if line.startswith("| GETs (99th)")]
    assert [cell.strip() for cell in row.split("|")[2:4]] == ["111.67", "3.00"]
    found = json.loads(cluster.run("compare", past, past, "-o", "json").stdout)
    first, second = found["oldDefinition"]
    assert first == second
    assert first[0]["millis"]["All requests (99th)"] == pytest.approx(110.62682848930055, abs=1e-12)
    assert found["verdict"] == "Indicative"


def test_a_page_is_written_to_a_file(cluster: Cluster, past: str, tmp_path: Path) -> None:
    page = tmp_path / "c.html"
    assert cluster.run("compare", past, past, "-o", "html", "-f", str(page)).exit_code == 0
    assert page.read_text().lstrip().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["test", "test", "--variant", "seven=two"], "test has no variant 'two'"),
        (["test", "test", "--variant", "=two"], "--variant =two: write NAME, or FIRST=SECOND"),
    ],
)
def test_what_cannot_be_compared_ends_with_code_2_and_a_sentence(
    cluster: Cluster, arguments: list[str], problem: str
) -> None:
    measured(cluster)
    result = cluster.run("compare", *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr
