from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loadtest_injector.scenario import Locustfile, Scenario, ScenarioError, load_scenario
from loadtest_injector.settings import SettingsError, master_settings, worker_settings

SCENARIO = {
    "kind": "requests",
    "host": "http://runner.runner.svc:80",
    "headers": {"X-A": "b"},
    "sendSecureCookiesOverHttp": True,
    "ca": "/etc/ca.crt",
    "waitTime": {"minSeconds": 1, "maxSeconds": 2.0},
    "requestTimeoutSeconds": 30,
    "launch": {"keys": "/etc/loadtest/keys", "claims": {"roles": ["dumper"]}},
}


def write(directory: Path, changes: dict[str, Any], requests: Any = None) -> Path:
    file = directory / "requests.json"
    file.write_text(json.dumps(requests or {"schema_name": "s", "requests": [{"method": "GET", "url": "/"}]}))
    path = directory / "scenario.json"
    path.write_text(json.dumps(SCENARIO | {"requests": str(file)} | changes))
    return path


def test_a_scenario_is_read_with_its_requests_file(tmp_path: Path):
    scenario = load_scenario(write(tmp_path, {}))
    assert isinstance(scenario, Scenario)
    assert (scenario.host, scenario.wait_min, scenario.wait_max) == ("http://runner.runner.svc:80", 1, 2)
    assert scenario.journey.schema_name == "s"
    assert scenario.send_secure_cookies_over_http is True
    assert scenario.ca == Path("/etc/ca.crt")
    assert scenario.launch is not None
    assert scenario.launch.claims == {"roles": ["dumper"]}


def test_a_locustfile_is_named_with_its_host(tmp_path: Path):
    path = write(tmp_path, {"kind": "locustfile", "locustfile": "/etc/shop.py", "waitTime": None})
    scenario = load_scenario(path)
    assert isinstance(scenario, Locustfile)
    assert (scenario.file, scenario.host) == (Path("/etc/shop.py"), "http://runner.runner.svc:80")
    assert (scenario.ca, scenario.send_secure_cookies_over_http) == (Path("/etc/ca.crt"), True)


def test_ca_and_launch_may_be_null(tmp_path: Path):
    scenario = load_scenario(write(tmp_path, {"ca": None, "launch": None, "headers": None}))
    assert isinstance(scenario, Scenario)
    assert (scenario.ca, scenario.launch, scenario.headers) == (None, None, {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "urls"}, "kind"),
        ({"kind": "locustfile"}, "locustfile: must be text"),
        ({"kind": "locustfile", "locustfile": "/a.py", "host": "runner"}, "host: must be"),
        ({"requests": "/nowhere"}, "requests: the file cannot be read"),
        ({"requests": 5}, "requests: must be text"),
        ({"host": "runner"}, "host: must be"),
        ({"host": "ftp://runner"}, "host: must be"),
        ({"host": "http://runner:99999"}, "host: must be"),
        ({"host": "http://runner/?a=b"}, "host: must be"),
        ({"headers": {"a": 1}}, "headers: must be"),
        ({"waitTime": None}, "waitTime: must be"),
        ({"waitTime": {"minSeconds": 0.5, "maxSeconds": 1}}, "waitTime.minSeconds: must be a whole number"),
        ({"waitTime": {"minSeconds": 1, "maxSeconds": float("inf")}}, "waitTime.maxSeconds: must be a whole number"),
        ({"waitTime": {"minSeconds": 1}}, "waitTime.maxSeconds: must be a whole number"),
        ({"waitTime": {"minSeconds": 2, "maxSeconds": 1}}, "minSeconds is above"),
        ({"requestTimeoutSeconds": 0}, "requestTimeoutSeconds"),
        ({"sendSecureCookiesOverHttp": "yes"}, "sendSecureCookiesOverHttp"),
        ({"launch": {"claims": {}}}, "keys: must be text"),
        ({"launch": {"keys": "/k", "claims": []}}, "launch: must be"),
    ],
)
def test_a_wrong_scenario_is_refused_by_the_name_of_its_field(tmp_path: Path, changes: Any, message: Any):
    with pytest.raises(ScenarioError, match=message):
        load_scenario(write(tmp_path, changes))


def test_a_wrong_requests_file_is_told_with_its_entry(tmp_path: Path):
    path = write(tmp_path, {}, {"schema_name": "s", "requests": [{"method": "GET", "url": "/{x}/"}]})
    with pytest.raises(ScenarioError, match=r"requests: requests\[0\]: \{x\}"):
        load_scenario(path)


def test_a_scenario_that_is_not_json_is_refused(tmp_path: Path):
    (tmp_path / "scenario.json").write_text("{")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path / "scenario.json")


MASTER = {
    "LOADTEST_RUN": "0123456789abcdef",
    "LOADTEST_REPEAT": "2",
    "LOADTEST_TOKEN_SHA256": "AB" * 32,
    "LOADTEST_LOAD_DEADLINE_SECONDS": "3600.5",
}
WORKER = {
    "LOADTEST_RUN": "0123456789abcdef",
    "LOADTEST_REPEAT": "2",
    "LOADTEST_MASTER_HOST": "master",
    "LOADTEST_WORKER_NAME": "pod-0",
    "LOADTEST_LOAD_DEADLINE_SECONDS": "3600",
}


def test_the_masters_settings_have_the_documented_defaults():
    settings = master_settings(MASTER)
    assert (settings.repeat, settings.token_sha256) == (2, "ab" * 32)
    assert (settings.control_port, settings.bind_port, settings.bind_host) == (8090, 5557, "*")
    assert (settings.load_deadline_seconds, settings.results_hold_seconds) == (3600.5, 86_400)


def test_a_workers_settings_have_the_documented_defaults():
    settings = worker_settings(WORKER)
    assert (settings.name, settings.master_port, settings.cpu_limit_millis) == ("pod-0", 5557, 0)
    assert settings.scenario == Path("/etc/loadtest/scenario/scenario.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOADTEST_RUN", ""),
        ("LOADTEST_REPEAT", "0"),
        ("LOADTEST_REPEAT", "x"),
        ("LOADTEST_TOKEN_SHA256", "z" * 64),
        ("LOADTEST_TOKEN_SHA256", "ab"),
        ("LOADTEST_CONTROL_PORT", "70000"),
        ("LOADTEST_LOAD_DEADLINE_SECONDS", ""),
        ("LOADTEST_LOAD_DEADLINE_SECONDS", "nan"),
        ("LOADTEST_RESULTS_HOLD_SECONDS", "-1"),
    ],
)
def test_a_wrong_variable_of_the_master_is_named(name: Any, value: Any):
    with pytest.raises(SettingsError, match=name):
        master_settings(MASTER | {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("LOADTEST_WORKER_NAME", ""), ("LOADTEST_MASTER_HOST", ""), ("LOADTEST_CPU_LIMIT_MILLIS", "1.5")],
)
def test_a_wrong_variable_of_a_worker_is_named(name: Any, value: Any):
    with pytest.raises(SettingsError, match=name):
        worker_settings(WORKER | {name: value})
