from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadtest.cli.main import cli

PUBLISHED = Path(__file__).parents[1] / "results" / "locust_2020_09_22_stats.csv"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["import", "locust", *arguments])
    return result.exit_code, result.output


def test_every_statistics_file_of_the_folder_is_taken_and_nothing_else(tmp_path: Path) -> None:
    for name in ("_stats.csv", "second_stats.csv"):
        (tmp_path / name).write_text(PUBLISHED.read_text())
    for name in ("_stats_history.csv", "_failures.csv", "summary.txt"):
        (tmp_path / name).write_text("not a statistics file")
    code, output = run(str(tmp_path), "-o", "json")
    found = json.loads(output)
    assert code == 0
    assert [file["name"] for file in found["files"]] == ["_stats.csv", "second_stats.csv"]
    assert found["requests"] == 2 * 140_895


@pytest.mark.parametrize("given", ["folder", "file"])
def test_a_folder_and_a_file_give_the_same_tables(tmp_path: Path, given: str) -> None:
    file = tmp_path / "_stats.csv"
    file.write_text(PUBLISHED.read_text())
    code, output = run(str(tmp_path if given == "folder" else file))
    assert code == 0
    for line in (
        "| Questionnaire GETs  | 111.67 |",
        "| Questionnaire POSTs | 109.56 |",
        "| All requests        | 110.63 |",
    ):
        assert line in output


def test_the_two_files_of_old_versions_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a_requests.csv").write_text('Method,Name,"# requests","# failures"\nGET,/,3,0\nNone,Total,3,0\n')
    (tmp_path / "a_distribution.csv").write_text('Name,"# requests",99%\nGET /,3,10\nTotal,3,10\n')
    code, output = run(str(tmp_path), "-o", "json")
    assert (code, json.loads(output)["oldDefinition"]["gets"]) == (0, 10)


def test_a_folder_without_statistics_is_refused_with_the_remedy(tmp_path: Path) -> None:
    code, output = run(str(tmp_path))
    assert code == 2
    assert "has no *_stats.csv: name the folder in which Locust wrote its CSV files" in output


def test_a_file_that_is_no_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "_stats.csv").write_bytes(b"\xff\xfe\x00")
    code, output = run(str(tmp_path))
    assert code == 2
    assert "_stats.csv is not text in UTF-8" in output
