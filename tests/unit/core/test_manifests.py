from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.adapters.helm_job import request as helm_request_file
from loadtest.adapters.locust import token, token_sha256
from loadtest.api import names
from loadtest.core import injector_pods, manifests, scenario
from loadtest.core.expand import RunPlan
from loadtest_injector.scenario import Locustfile, Scenario, load_scenario
from loadtest_injector.settings import master_settings, worker_settings
from tests.unit.api.cases.base import BARE
from tests.unit.core.builders import RUN, bare_plan, plan, resource, spec

Json = dict[str, Any]
KEY = b"a key that nobody should ever see"
STATE: Json = {"metadata": {"name": names.state(RUN), "uid": "state-uid"}}
IMAGES = {"image": "injector:1", "pull_policy": "IfNotPresent"}
RICH: Json = {
    "target": {
        "url": "https://runner.runner.svc",
        "tls": {"caConfigMap": {"name": "ca", "key": "ca.crt"}},
        "headers": {"X-Team": "performance"},
    },
    "scenario": {"requests": {"launch": {"keysSecret": {"name": "launch-keys"}, "claims": {"region_code": "GB-WLS"}}}},
    "injector": {
        "image": "own/injector:2",
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1500m", "memory": "1Gi"}},
        "nodeSelector": {"pool": "load"},
        "tolerations": [{"key": "load", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "registry"}],
    },
}


def master(of: RunPlan, position: int = 1, generation: int = 1) -> Json:
    sha256 = token_sha256(KEY, of.run)
    return injector_pods.master_pod(resource(of.spec), of, position, generation, token_sha256=sha256, **IMAGES)


def worker(of: RunPlan, position: int = 1, generation: int = 1, index: int = 0) -> Json:
    return injector_pods.worker_pod(resource(of.spec), of, position, generation, index, "10.0.0.1", **IMAGES)


def job(of: RunPlan, op: str = "apply", key: str = "apply-1-1", variant: str = "seven-threads") -> Json:
    return manifests.helm_job(
        resource(of.spec), of, op, key, variant,
        state=STATE, image="operator:1", pull_policy="Never", account="loadtest-helm", lease_seconds=1200,
    )  # fmt: skip


def pod_specs(of: RunPlan) -> dict[str, Json]:
    specs = {"master": master(of)["spec"], "worker": worker(of)["spec"]}
    return specs | ({"helm": job(of)["spec"]["template"]["spec"]} if of.spec.target.release else {})


@pytest.mark.parametrize("of", [plan(), plan(RICH), bare_plan(), bare_plan(RICH)])
def test_every_pod_meets_pod_security_restricted(of: RunPlan) -> None:
    for name, pod in pod_specs(of).items():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] > 0, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
        assert all(set(volume) - {"name"} <= {"configMap", "secret", "emptyDir"} for volume in pod["volumes"]), name
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert not any("hostPort" in port for port in container.get("ports", [])), name


@pytest.mark.parametrize("of", [plan(), plan(RICH)])
def test_every_mount_has_its_volume_and_writes_go_to_an_empty_directory(of: RunPlan) -> None:
    for name, pod in pod_specs(of).items():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
        assert set(mounts) == set(volumes), name
        assert all(mount.get("readOnly") for mount in mounts.values() if "emptyDir" not in volumes[mount["name"]]), name
        assert mounts["tmp"]["mountPath"] == "/tmp", name  # noqa: S108 - in the pod


def test_injectors_get_no_token_of_a_service_account_and_no_hints_of_other_services() -> None:
    for pod in (master(plan(RICH)), worker(plan(RICH))):
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["enableServiceLinks"] is False
        assert "serviceAccountName" not in pod["spec"]


def test_helm_jobs_run_as_the_account_that_the_targets_owner_granted() -> None:
    spec_ = job(plan())["spec"]["template"]["spec"]
    assert (spec_["serviceAccountName"], spec_["restartPolicy"]) == ("loadtest-helm", "Never")
    assert job(plan())["spec"]["backoffLimit"] == 0


def test_no_object_of_the_cluster_shows_the_token_or_its_key() -> None:
    of = plan(RICH)
    secrets = {token(KEY, RUN), KEY.decode(), KEY.hex()}
    bodies = [master(of), worker(of), job(of), manifests.helm_request(resource(of.spec), of, STATE)]
    for body in bodies:
        text = json.dumps(body)
        assert not any(secret in text for secret in secrets)
        assert "secretKeyRef" not in text
    shown = {entry["name"]: entry["value"] for entry in master(of)["spec"]["containers"][0]["env"]}
    assert shown["LOADTEST_TOKEN_SHA256"] == hashlib.sha256(token(KEY, RUN).encode()).hexdigest()
    assert "TOKEN" not in json.dumps(worker(of)), "workers need no control port"


def test_launch_keys_and_authorities_are_mounted_into_workers_alone() -> None:
    of = plan(RICH)
    volumes = {volume["name"]: volume for volume in worker(of)["spec"]["volumes"]}
    assert volumes["keys"]["secret"]["secretName"] == "launch-keys"
    assert volumes["ca"]["configMap"]["name"] == "ca"
    assert {volume["name"] for volume in master(of)["spec"]["volumes"]} == {"scenario", "tmp"}


def test_what_the_spec_says_of_injectors_reaches_their_pods() -> None:
    for pod in (master(plan(RICH)), worker(plan(RICH))):
        assert pod["spec"]["nodeSelector"] == {"pool": "load"}
        assert pod["spec"]["tolerations"] == [{"key": "load", "operator": "Exists"}]
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        assert pod["spec"]["containers"][0]["image"] == "own/injector:2"
    container = worker(plan(RICH))["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"cpu": "1500m", "memory": "1Gi"}
    limit = next(entry for entry in container["env"] if entry["name"] == "LOADTEST_CPU_LIMIT_MILLIS")
    assert limit["valueFrom"]["resourceFieldRef"] == {
        "containerName": container["name"], "resource": "limits.cpu", "divisor": "1m"
    }  # fmt: skip
    assert "LOADTEST_CPU_LIMIT_MILLIS" not in json.dumps(worker(plan())), (
        "without a limit there is none to compare with"
    )


def environment(pod: Json) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in pod["spec"]["containers"][0]["env"] if "value" in entry}


def test_injectors_understand_what_their_pods_tell_them() -> None:
    told = master_settings(environment(master(plan(), 3)))
    assert (told.run, told.repeat, told.control_port, told.bind_port) == (RUN, 3, 8090, 5557)
    of = plan()
    worker_ = worker_settings(environment(worker(of, 3, 2, 7)))
    assert (worker_.run, worker_.repeat, worker_.master_host, worker_.master_port) == (RUN, 3, "10.0.0.1", 5557)
    assert worker_.name == names.worker(RUN, 3, 2, 7) == worker(of, 3, 2, 7)["metadata"]["name"]


def write_scenario(folder: Path, of: RunPlan, requests: str) -> Path:
    """The mounted ConfigMap, with its paths moved into `folder`."""
    given = {"census_household_gb_eng.json": requests.encode()}
    for name, content in scenario.files(of.spec, given).items():
        (folder / name).write_text(content.decode().replace(manifests.SCENARIO_DIR, str(folder)))
    return folder / manifests.SCENARIO_FILE


def test_injectors_understand_the_scenario_that_the_operator_writes(tmp_path: Path) -> None:
    requests = json.dumps({"schema_name": "test", "requests": [{"method": "GET", "url": "/questionnaire/"}]})
    rich = load_scenario(write_scenario(tmp_path, plan(RICH), requests))
    assert isinstance(rich, Scenario)
    assert rich.host == "https://runner.runner.svc"
    assert (rich.wait_min, rich.wait_max, rich.request_timeout_seconds) == (1, 2, 60)
    assert rich.headers == {"X-Team": "performance"}
    assert rich.launch is not None
    assert (rich.launch.keys, rich.launch.claims) == (Path(manifests.KEYS_DIR), {"region_code": "GB-WLS"})
    assert rich.ca == Path("/etc/loadtest/ca/ca.crt")
    plain = load_scenario(write_scenario(tmp_path, bare_plan({"target": {"url": "http://runner:80/"}}), requests))
    assert isinstance(plain, Scenario)
    assert (plain.host, plain.launch, plain.ca) == ("http://runner:80", None, None)


def test_injectors_understand_the_locustfile_that_the_operator_names(tmp_path: Path) -> None:
    of = plan(RICH | {"scenario": {"requests": None, "locustfile": {"configMap": {"name": "shop", "key": "shop.py"}}}})
    given = scenario.files(of.spec, {"shop.py": b"x = 1", "data.csv": b"\xff"})
    (tmp_path / "scenario.json").write_bytes(given["scenario.json"])
    read = load_scenario(tmp_path / "scenario.json")
    assert isinstance(read, Locustfile)
    assert read.file == Path(manifests.SCENARIO_DIR, "shop.py")
    assert (read.host, read.headers) == ("https://runner.runner.svc", {"X-Team": "performance"})
    assert read.ca == Path("/etc/loadtest/ca/ca.crt")
    assert given.keys() == {"scenario.json", "shop.py", "data.csv"}
    assert "keys" not in {volume["name"] for volume in worker(of)["spec"]["volumes"]}


def test_helm_jobs_understand_the_request_that_the_operator_writes(tmp_path: Path) -> None:
    of = plan({"target": {"release": {"chart": {"repo": "https://x.example/y", "name": "runner", "version": "1.0.0"}}}})
    body = manifests.helm_request(resource(of.spec), of, STATE)
    (tmp_path / "request.json").write_text(body["data"]["request.json"])
    read = helm_request_file.load(tmp_path / "request.json")
    assert (read.run, read.owner, read.release, read.namespace) == (RUN, "performance/test", "runner", "runner")
    assert read.chart is not None
    assert read.variants["two-threads"]["webServer"] == {"type": "gunicorn-threads", "workers": "7", "threads": "2"}
    assert {(setting.setting, setting.path) for setting in read.settings} >= {
        ("threads", "webServer.threads"), ("replicas", "autoscaler.maxReplicas")
    }  # fmt: skip
    assert (read.lease, read.holder) == ("loadtest-runner", f"performance/test/uid-1/{RUN}")
    document = json.loads(body["data"]["request.json"])
    threads = next(entry for entry in document["settings"] if entry["setting"] == "threads")
    assert threads["variants"] == ["seven-threads", "two-threads"]


@pytest.mark.parametrize(
    ("op", "key", "variant", "command"),
    [
        ("snapshot", "snapshot-1", "", "loadtest helm-job snapshot --key snapshot-1"),
        ("apply", "apply-2-1", "two", "loadtest helm-job apply --key apply-2-1 --variant two"),
        ("restore", "restore-3", "", "loadtest helm-job restore --key restore-3"),
        ("dead-man", "dead-man-1", "", "loadtest helm-job dead-man --key dead-man-1 --silence 1200"),
    ],
)
def test_the_command_of_a_helm_job(op: str, key: str, variant: str, command: str) -> None:
    body = job(plan(), op, key, variant)
    assert " ".join(body["spec"]["template"]["spec"]["containers"][0]["command"]) == command
    assert body["metadata"]["name"] == names.helm_job(RUN, key)


def test_the_dead_man_job_stays_as_long_as_the_run_and_is_made_anew_when_its_pod_is_lost() -> None:
    standing_by, restoring = (
        job(plan(), "dead-man", "dead-man-1", "")["spec"],
        job(plan(), "restore", "restore-1", "")["spec"],
    )
    assert "activeDeadlineSeconds" not in standing_by
    assert standing_by["backoffLimit"] == 1000
    assert restoring["backoffLimit"] == 0
    assert standing_by["template"]["spec"]["securityContext"] == restoring["template"]["spec"]["securityContext"]


def owned() -> list[tuple[Json, str]]:
    """Objects, and the kind of their owner."""
    of, me = plan(), resource(spec())
    return [
        (master(of), "LoadTest"),
        (worker(of), "LoadTest"),
        (manifests.config_map(me, RUN, "x", {}, "plan"), "LoadTest"),
        (manifests.state_config_map(me, of, "runner"), ""),
        (manifests.helm_request(me, of, STATE), "ConfigMap"),
        (job(of), "ConfigMap"),
    ]


@pytest.mark.parametrize(("body", "owner"), owned())
def test_owner_references_never_cross_namespaces(body: Json, owner: str) -> None:
    """The garbage collector deletes an object whose owner is named from another namespace."""
    meta = body["metadata"]
    references = meta.get("ownerReferences", [])
    assert [reference["kind"] for reference in references] == ([owner] if owner else [])
    assert meta["namespace"] == ("performance" if owner == "LoadTest" else "runner")
    assert meta["labels"].items() >= names.labels(RUN, "uid-1").items()
    assert meta["annotations"][names.ANNOTATION_OWNER] == "performance/test"
    if owner == "LoadTest":
        assert references[0]["uid"] == "uid-1"


def test_a_target_beside_the_loadtest_gets_no_owner_reference_either() -> None:
    of = plan({"target": {"release": {"namespace": "performance"}}})
    body = manifests.state_config_map(resource(of.spec), of, "performance")
    assert "ownerReferences" not in body["metadata"], "the state must outlive the LoadTest until the target is restored"


@given(st.integers(1, 200), st.integers(1, 301), st.integers(0, 999), st.integers(1, 9), st.integers(0, 49))
def test_names_and_labels_have_at_most_63_characters(
    position: int, generation: int, index: int, attempt: int, stage: int
) -> None:
    of = plan()
    bodies = [
        master(of, position, generation),
        worker(of, position, generation, index),
        job(of, "apply", names.apply_key(position, attempt), "v" * 40),
    ]
    for body in bodies:
        assert len(body["metadata"]["name"]) <= 63
        assert all(len(value) <= 63 for value in body["metadata"]["labels"].values())
    assert len(names.result(RUN, position, stage, attempt, 99)) <= 63


def test_every_injector_has_a_name_of_its_own() -> None:
    of = plan()
    bodies = [worker(of, p, g, i) for p in (1, 11) for g in (1, 11) for i in (1, 11)]
    bodies += [master(of, p, g) for p in (1, 11) for g in (1, 11)]
    assert len({body["metadata"]["name"] for body in bodies}) == len(bodies)


@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        ({"load": {"warmUp": "1m", "maxStageReruns": 0}}, 60 + 2 * (1200 + 60 + 120) + 1800),
        ({"load": {"warmUp": "0s", "maxStageReruns": 1}}, 2 * 2 * (1200 + 60 + 120) + 1800),
        ({"deadline": "2h", "load": {"maxStageReruns": 5}}, 7200 + 600),
    ],
)
def test_injectors_stop_by_themselves_in_time(change: Json, seconds: int) -> None:
    of = plan(change)
    assert injector_pods.load_deadline_seconds(of) == seconds
    assert environment(master(of))["LOADTEST_LOAD_DEADLINE_SECONDS"] == str(seconds)
    assert environment(worker(of))["LOADTEST_LOAD_DEADLINE_SECONDS"] == str(seconds)


@pytest.mark.parametrize(
    ("change", "base", "place"),
    [
        ({}, None, ("runner", "loadtest-runner")),
        ({"target": {"url": "http://runner:80"}}, BARE, ("operators", names.host_lease("runner:80"))),
        ({"target": {"url": "http://RUNNER:80"}}, BARE, ("operators", names.host_lease("runner:80"))),
        ({"target": {"url": "http://runner:81"}}, BARE, ("operators", names.host_lease("runner:81"))),
    ],
)
def test_the_lease_is_beside_the_release_or_by_the_host(
    change: Json, base: Json | None, place: tuple[str, str]
) -> None:
    of = spec(change, base) if base else spec(change)
    assert manifests.lease_place(of, "operators") == place
