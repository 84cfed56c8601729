from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadtest.adapters.kube import Missing
from loadtest.api import names
from loadtest.local.api import LocalApi
from loadtest.ports import Outdated

Json = dict[str, Any]


class Pods:
    """A kubelet whose pods end when they are told to."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ending: set[str] = set()
        self.ended: set[str] = set()

    async def run(self, pod: Json) -> None:
        self.started.append(pod["metadata"]["name"])

    def status(self, pod: Json) -> Json:
        return {"phase": "Running"}

    def end(self, pod: Json) -> None:
        self.ending.add(pod["metadata"]["name"])

    def gone(self, pod: Json) -> bool:
        return pod["metadata"]["name"] in self.ended


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def named(name: str, **labels: str) -> Json:
    return {"metadata": {"name": name, "labels": labels}}


async def test_an_object_is_created_once_and_found_by_its_labels(tmp_path: Path) -> None:
    api = LocalApi(tmp_path, Pods())
    assert await api.create("configmaps", "n", named("a", role="x") | {"data": {"k": "1"}})
    assert not await api.create("configmaps", "n", named("a", role="y"))
    assert await api.create("configmaps", "n", named("b", role="y"))
    found = await api.list("configmaps", "n", {"role": "x"})
    assert [body["data"] for body in found] == [{"k": "1"}]
    assert await api.list("configmaps", "elsewhere") == []
    assert await api.get("configmaps", "n", "c") is None
    await api.delete_all("configmaps", "n", ["a", "c"])
    assert [body["metadata"]["name"] for body in await api.list("configmaps", "n")] == ["b"]


async def test_a_write_on_top_of_an_older_version_is_refused(tmp_path: Path) -> None:
    api = LocalApi(tmp_path, Pods())
    first = api.add(names.PLURAL, "n", named("t") | {"spec": {"a": 1}, "status": {"x": 1, "y": 1}})
    stale = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "status": {"x": 2, "y": None}}
    second = await api.patch(names.PLURAL, "n", "t", stale, status=True)
    assert second["status"] == {"x": 2}
    with pytest.raises(Outdated):
        await api.patch(names.PLURAL, "n", "t", stale, status=True)
    with pytest.raises(Missing):
        await api.patch(names.PLURAL, "n", "other", {}, status=True)


async def test_the_generation_counts_edits_of_the_spec_and_not_of_the_status(tmp_path: Path) -> None:
    api = LocalApi(tmp_path, Pods())
    api.add(names.PLURAL, "n", named("t") | {"spec": {"abort": False}})
    body = await api.patch(names.PLURAL, "n", "t", {"status": {"x": 1}}, status=True)
    assert body["metadata"]["generation"] == 1
    body = await api.patch(names.PLURAL, "n", "t", {"spec": {"abort": True}})
    assert body["metadata"]["generation"] == 2


async def test_a_pod_is_there_until_its_process_has_gone(tmp_path: Path) -> None:
    pods = Pods()
    api = LocalApi(tmp_path, pods)
    for _ in range(2):
        await api.create("pods", "n", named("p"))
    assert pods.started == ["p"], "created twice, it is started once"
    (pod,) = await api.list("pods", "n")
    assert pod["status"] == {"phase": "Running"}
    await api.delete("pods", "n", "p", grace=1)
    (pod,) = await api.list("pods", "n")
    assert pod["metadata"]["deletionTimestamp"]
    assert pods.ending == {"p"}
    pods.ended.add("p")
    assert await api.list("pods", "n") == []


async def test_what_a_run_made_is_kept_and_what_the_user_gave_is_not(tmp_path: Path) -> None:
    api = LocalApi(tmp_path, Pods())
    api.add(names.PLURAL, "n", named("t") | {"spec": {"a": 1}})
    await api.create("configmaps", "n", named("given"))
    await api.create("configmaps", "n", named("kept", **{names.LABEL_RUN: "r"}) | {"data": {"k": "v"}})
    await api.create("configmaps", "n", named("dropped", **{names.LABEL_RUN: "r"}))
    await api.delete("configmaps", "n", "dropped")
    files = {str(path.relative_to(tmp_path)): path.read_text() for path in files_of(tmp_path)}
    assert set(files) == {"loadtest.yaml", "records/kept.json"}
    assert yaml.safe_load(files["loadtest.yaml"])["spec"] == {"a": 1}
    assert json.loads(files["records/kept.json"])["data"] == {"k": "v"}


async def test_what_this_machine_does_not_have_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Missing):
        await LocalApi(tmp_path, Pods()).request("GET", "apis/metrics.k8s.io/v1beta1/namespaces/n/pods")
