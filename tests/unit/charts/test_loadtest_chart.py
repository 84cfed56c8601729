"""Chart loadtest as it renders."""

import json
from typing import Any

import pytest

from loadtest.api.spec import LoadTestSpec
from tests.unit.api.cases.base import WITH_RELEASE
from tests.unit.charts.rendering import CHARTS, NAMESPACE, helm, of_kind, render

_CHART = "loadtest"
_LAUNCH = {"keysSecret": {"name": "launch-keys"}}
_WITHOUT_SCENARIO = {key: value for key, value in WITH_RELEASE.items() if key != "scenario"}
_REQUESTS = '{"requests": [{"method": "GET", "url": "/{{ not a template }}"}]}\n'


def _loadtest(values: dict[str, Any]) -> dict[str, Any]:
    (found,) = of_kind(render(_CHART, values), "LoadTest")
    return found


def test_the_chart_is_well_formed() -> None:
    done = helm("lint", "--strict", str(CHARTS / _CHART), "--set-json", f"spec={json.dumps(WITH_RELEASE)}")
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


def test_the_spec_is_the_one_of_the_values() -> None:
    found = _loadtest({"spec": WITH_RELEASE})
    assert found["metadata"]["name"] == "test"
    assert found["metadata"]["namespace"] == NAMESPACE
    assert found["spec"] == WITH_RELEASE | {"rerun": "1"}
    LoadTestSpec.model_validate(found["spec"])


@pytest.mark.parametrize(("rerun", "expected"), [("", "1"), ("build-7", "build-7"), (7, "7")])
def test_each_release_revision_runs_again_unless_a_build_is_named(rerun: object, expected: str) -> None:
    assert _loadtest({"spec": WITH_RELEASE, "rerun": rerun})["spec"]["rerun"] == expected


def test_a_requests_file_becomes_a_config_map_and_the_scenario() -> None:
    values = {"spec": _WITHOUT_SCENARIO, "name": "stress", "requests": {"content": _REQUESTS, "launch": _LAUNCH}}
    objects = render(_CHART, values)
    (stored,) = of_kind(objects, "ConfigMap")
    assert (stored["metadata"]["name"], stored["data"]) == ("stress-requests", {"requests.json": _REQUESTS})
    (found,) = of_kind(objects, "LoadTest")
    assert found["spec"]["scenario"] == {
        "requests": {"configMap": {"name": "stress-requests", "key": "requests.json"}, "launch": _LAUNCH}
    }
    LoadTestSpec.model_validate(found["spec"])


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "spec is empty: give the LoadTest's spec under `spec`"),
        ({"spec": WITH_RELEASE, "requests": {"content": "{}"}}, "both requests.content and spec.scenario are given"),
        ({"spec": WITH_RELEASE | {"rerun": "2"}}, "rerun"),
        ({"spec": WITH_RELEASE, "specs": {}}, "specs"),
        ({"spec": WITH_RELEASE, "name": "Not A Name"}, "name"),
    ],
)
def test_values_that_make_no_loadtest_are_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        render(_CHART, values)
