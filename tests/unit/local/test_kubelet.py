from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from loadtest.api import names
from loadtest.core import injector_pods, scenario
from loadtest.core.manifests import CA_DIR, KEYS_DIR, SCENARIO_DIR
from loadtest.local import kubelet
from loadtest.local.kubelet import ProcessKubelet, translated
from tests.unit.core.builders import RUN, plan, resource, running, spec

PLACES = {"/etc/loadtest/keys": Path("/run/keys"), "/tmp": Path("/run/tmp")}  # noqa: S108 - texts

REQUESTS = b'{"schema_name": "a", "requests": [{"method": "GET", "url": "/"}]}'
TMP, EMPTY = {"name": "tmp", "mountPath": "/tmp"}, {"name": "tmp", "emptyDir": {}}  # noqa: S108 - as above


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/etc/loadtest/keys", "/run/keys"),
        ("/etc/loadtest/keys/a.pem", "/run/keys/a.pem"),
        ("/etc/loadtest/keysmith", "/etc/loadtest/keysmith"),
        ("/tmp", "/run/tmp"),  # noqa: S108 - a text
        ("http://host/tmp", "http://host/tmp"),
        ("", ""),
    ],
)
def test_a_mount_path_becomes_the_folder_that_stands_for_the_volume(text: str, expected: str) -> None:
    assert translated(text, PLACES) == expected


async def until_gone(runner: ProcessKubelet, pod: dict[str, Any]) -> None:
    async with asyncio.timeout(60):
        while not runner.gone(pod):  # noqa: ASYNC110 - a process is polled, as the loop polls it
            await asyncio.sleep(0.02)


def read(path: str) -> str:
    return Path(path).read_text()


async def test_a_worker_is_given_what_its_pod_would_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod of the operator, its program replaced by one that prints its environment."""
    the_spec, the_plan = spec(), plan()
    assert the_spec.scenario.requests
    given = {the_spec.scenario.requests.config_map.key: REQUESTS}
    data = {name: content.decode() for name, content in scenario.files(the_spec, given).items()}
    objects: dict[tuple[str, str], Any] = {
        ("configmaps", names.scenario(RUN)): {"kind": "ConfigMap", "metadata": {"name": "s"}, "data": data},
    }
    (tmp_path / "logs").mkdir()
    program = tmp_path / "loadtest_injector.py"
    program.write_text("import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))")
    monkeypatch.setattr(kubelet, "INJECTOR_ROOT", tmp_path)
    pod = injector_pods.worker_pod(
        resource(the_spec, running()), the_plan, 1, 1, 0, "127.0.0.1", image="i", pull_policy="Never"
    )
    runner = ProcessKubelet(tmp_path, lambda kind, name: objects.get((kind, name)), 20_001, 20_002)
    await runner.run(pod)
    name = pod["metadata"]["name"]
    await until_gone(runner, pod)
    arguments, environment = json.loads(read(f"{tmp_path}/logs/{name}.log"))
    assert arguments == ["worker"]
    asked = {entry["name"] for entry in pod["spec"]["containers"][0]["env"]}
    assert asked <= set(environment)
    assert environment["LOADTEST_MASTER_PORT"] == "20002"
    assert environment["LOADTEST_RUN"] == RUN
    assert environment["HOME"] == str(tmp_path / "pods" / name / "tmp")
    description = json.loads(read(environment["LOADTEST_SCENARIO"]))
    assert read(description["requests"]) == REQUESTS.decode()
    for path in (SCENARIO_DIR, KEYS_DIR, CA_DIR):
        assert path not in json.dumps([environment, description])
    status = runner.status(pod)
    assert (status["phase"], status["podIP"]) == ("Succeeded", "127.0.0.1")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    await runner.close()


async def test_the_status_of_a_pod_that_failed_has_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "loadtest_injector.py").write_text("import sys; sys.exit('the scenario is wrong')")
    monkeypatch.setattr(kubelet, "INJECTOR_ROOT", tmp_path)
    pod: dict[str, Any] = {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "locust", "args": ["master"], "env": [], "volumeMounts": [TMP]}],
            "volumes": [EMPTY],
        },
    }
    runner = ProcessKubelet(tmp_path, lambda *_: None, 20_001, 20_002)
    await runner.run(pod)
    await until_gone(runner, pod)
    (state,) = runner.status(pod)["containerStatuses"]
    assert state["state"] == {
        "terminated": {"exitCode": 1, "reason": "the scenario is wrong", "message": "the scenario is wrong"}
    }
    await runner.close()
