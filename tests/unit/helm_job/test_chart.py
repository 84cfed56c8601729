"""A chart rebuilt from a stored release, and its digest."""

import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from loadtest.adapters.helm_job.chart import digest, has_subcharts, same, title, write_archive
from tests.unit.helm_job.releases import CHART


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _with(**changes: Any) -> dict[str, Any]:
    return {**CHART, **changes}


def test_a_rebuilt_chart_holds_every_file_byte_for_byte(tmp_path: Path) -> None:
    chart = _with(
        schema=_data('{"type": "object"}'),
        files=[{"name": "files/page.html", "data": _data("<p>\r\n")}, {"name": ".helmignore", "data": _data("files/")}],
    )
    with tarfile.open(write_archive(chart, tmp_path)) as archive:
        found = {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]
    assert json.loads(found.pop("chart/Chart.yaml")) == chart["metadata"]
    assert json.loads(found.pop("chart/values.yaml")) == chart["values"]
    assert found == {
        "chart/values.schema.json": b'{"type": "object"}',
        "chart/templates/a.yaml": b"kind: A\n",
        "chart/files/page.html": b"<p>\r\n",
        "chart/.helmignore": b"files/",
    }


@pytest.mark.parametrize(
    ("chart", "manifest", "expected"),
    [
        (CHART, "", False),
        (CHART, "---\n# Source: runner/templates/a.yaml\n", False),
        (CHART, "---\n# Source: runner/charts/redis/templates/a.yaml\n", True),
        (CHART, "data: '# Source: runner/charts/redis/'\n", False),
        (_with(metadata={"name": "runner", "dependencies": [{"name": "redis"}]}), "", True),
        (_with(metadata={"name": "runner", "dependencies": []}), "", False),
        (_with(lock={"dependencies": [{"name": "redis"}]}), "", True),
    ],
)
def test_subcharts_are_seen_in_dependencies_lock_and_manifest(chart: Any, manifest: str, expected: bool) -> None:
    assert has_subcharts(chart, manifest) is expected


@pytest.mark.parametrize(
    "other",
    [
        _with(metadata={**CHART["metadata"], "version": "1.0.1"}),
        _with(values={"webServer": {"workers": "4"}, "nodeSelector": None}),
        _with(templates=[{"name": "templates/a.yaml", "data": _data("kind: B\n")}]),
        _with(templates=[{"name": "templates/b.yaml", "data": _data("kind: A\n")}]),
        _with(files=[{"name": "page.html", "data": ""}]),
        _with(schema=_data("{}")),
    ],
)
def test_any_difference_of_a_chart_changes_its_digest(other: Any) -> None:
    assert digest(other) != digest(CHART)


def test_the_order_of_files_does_not_matter_to_the_digest() -> None:
    files = [{"name": "b", "data": "Yg=="}, {"name": "a", "data": "YQ=="}]
    assert digest(_with(files=files)) == digest(_with(files=files[::-1]))


_ON = _with(
    metadata={**CHART["metadata"], "dependencies": [{"name": "redis", "enabled": True}]},
    values={"redis": {"port": 6379}},
)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (CHART, CHART, True),
        (CHART, _with(values={"webServer": {}}), False),
        (_ON, CHART, True),
        (CHART, _ON, True),
        (_ON, {**_ON, "values": {}}, True),
        (_ON, {**_ON, "templates": []}, False),
        (_ON, _with(metadata={**CHART["metadata"], "version": "2.0.0"}), False),
    ],
)
def test_what_subcharts_add_to_the_stored_chart_does_not_make_it_another(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


def test_a_chart_is_titled_as_helm_lists_it() -> None:
    assert title(CHART) == "runner-1.0.0"
