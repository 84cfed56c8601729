"""What may change while a run is on, and what may not until it has ended."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from loadtest.api import names
from tests.cluster.api import Api
from tests.cluster.apiserver import PrivateApiServer
from tests.unit.api.cases.base import STAGE, WITH_RELEASE, merged

COLLECTION = f"/apis/{names.API_VERSION}/namespaces/default/{names.PLURAL}"
RUNNING = {"startedAt": "2026-01-02T03:04:05Z", "phase": "Running", "runId": "0123456789abcdef"}
ENDED = RUNNING | {"finishedAt": "2026-01-02T09:04:05Z", "phase": "Succeeded"}


class LoadTest:
    """One LoadTest on the API server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.path = f"{COLLECTION}/edited"

    def create(self, spec: dict[str, Any]) -> None:
        """Create it."""
        body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": "edited"}, "spec": spec}
        code, answer = self._api.call("POST", COLLECTION, body)
        assert code == 201, answer

    def get(self) -> dict[str, Any]:
        """The object."""
        found: dict[str, Any] = self._api.get(self.path)
        return found

    def put(self, part: str, value: Any, path: str = "") -> str:
        """Replace a part of it; the message with which that is refused, or nothing."""
        code, answer = self._api.call("PUT", self.path + path, self.get() | {part: value})
        assert code in {200, 422}, answer
        return "" if code == 200 else str(json.loads(answer)["message"])

    def status(self, status: dict[str, Any]) -> None:
        """Write the status, as the operator does."""
        assert self.put("status", self.get()["status"] | status, "/status") == ""

    def delete(self) -> None:
        """Delete it."""
        self._api.call("DELETE", self.path)


@pytest.fixture
def load_test(private_server: PrivateApiServer) -> Iterator[LoadTest]:
    admin = private_server.authority.issue("edits", ["system:masters"])
    one = LoadTest(Api(private_server.url, private_server.authority.ca, admin))
    yield one
    one.delete()


EDITS: list[tuple[str, dict[str, Any]]] = [
    ("rerun", {"rerun": "again"}),
    ("deadline", {"deadline": "13h"}),
    ("artifactTTL", {"artifactTTL": "1h"}),
    ("target", {"target": {"headers": {"X-A": "b"}}}),
    ("target", {"target": {"release": {"settle": "16s"}}}),
    ("variants", {"variants": [WITH_RELEASE["variants"][0]]}),
    ("variants", {"variants": [WITH_RELEASE["variants"][0], {"name": "two-threads", "runner": {"threads": 3}}]}),
    ("variants", {"variants": [WITH_RELEASE["variants"][0], {"name": "two-threads"}]}),
    ("variants", {"variants": [WITH_RELEASE["variants"][0], {"name": "other", "runner": {"threads": 2}}]}),
    ("injector", {"injector": {"affinity": {"podAntiAffinity": {}}}}),
    ("variants", {"variants": None, "matrix": {"axes": [{"setting": "threads", "values": ["2"]}]}}),
    ("matrix", {"variants": None, "matrix": {"axes": [{"setting": "threads", "values": ["2"]}]}}),
    ("baseline", {"baseline": "two-threads"}),
    ("repeats", {"repeats": 2}),
    ("order", {"order": "Interleaved"}),
    ("load", {"load": {"stages": [STAGE]}}),
    ("load", {"load": {"stages": [STAGE, {"injectors": 15, "duration": "21m"}]}}),
    ("load", {"load": {"waitTime": {"max": "1s"}}}),
    ("injector", {"injector": {"image": "other"}}),
    ("scenario", {"scenario": {"requests": {"configMap": {"key": "other"}}}}),
]


@pytest.mark.parametrize(("field", "change"), EDITS, ids=str)
def test_what_defines_the_test_cannot_change_while_a_run_is_on(load_test: LoadTest, field: str, change: dict[str, Any]):
    load_test.create(WITH_RELEASE)
    edited = merged(WITH_RELEASE, change)
    assert load_test.put("spec", edited) == "", "before the run it may change"
    assert load_test.put("spec", WITH_RELEASE) == ""
    load_test.status(RUNNING)
    refused = load_test.put("spec", edited)
    assert f"spec.{field}: Forbidden: spec.{field} cannot change while a run is on" in refused
    assert "wait for its end, or set spec.abort to true first" in refused
    load_test.status(ENDED)
    assert load_test.put("spec", edited) == "", "after the run it may change again"


def test_removing_a_field_while_a_run_is_on_is_refused_too(load_test: LoadTest):
    load_test.create(WITH_RELEASE | {"baseline": "two-threads"})
    load_test.status(RUNNING)
    assert "spec.baseline: Forbidden" in load_test.put("spec", WITH_RELEASE)


@pytest.mark.parametrize("phase", ["Pending", "Preparing", "Running", "Restoring"])
def test_a_run_is_on_from_its_admission_to_its_end_whatever_its_phase(load_test: LoadTest, phase: str):
    load_test.create(WITH_RELEASE)
    load_test.status(RUNNING | {"phase": phase})
    assert "spec.repeats: Forbidden" in load_test.put("spec", WITH_RELEASE | {"repeats": 2})


def test_while_a_run_is_on_it_can_be_suspended_resumed_and_aborted_but_not_unaborted(load_test: LoadTest):
    load_test.create(WITH_RELEASE)
    load_test.status(RUNNING)
    for change in ({"suspend": True}, {"suspend": False}, {"suspend": True, "abort": True}, {"abort": True}):
        assert load_test.put("spec", WITH_RELEASE | change) == ""
    refused = load_test.put("spec", WITH_RELEASE | {"abort": False})
    assert "spec.abort: Forbidden: spec.abort cannot go back to false while a run is on" in refused
    load_test.status(ENDED)
    assert load_test.put("spec", WITH_RELEASE | {"abort": False}) == ""


def test_a_default_written_out_while_a_run_is_on_is_no_change(load_test: LoadTest):
    load_test.create(WITH_RELEASE)
    load_test.status(RUNNING)
    assert load_test.put("spec", merged(WITH_RELEASE, {"repeats": 1, "load": {"warmUp": "1m"}})) == ""


@pytest.mark.parametrize("values", [{"a": {"b": 2}}, {"a": None}, None], ids=str)
def test_an_edit_inside_values_is_let_through_for_the_operator_to_show_as_drift(load_test: LoadTest, values: Any):
    variant = {"name": "two-threads", "runner": {"threads": 2}}
    load_test.create(WITH_RELEASE | {"variants": [variant | {"values": {"a": {"b": 1}}}]})
    load_test.status(RUNNING)
    edited = variant if values is None else variant | {"values": values}
    assert load_test.put("spec", WITH_RELEASE | {"variants": [edited]}) == ""
    assert load_test.get()["spec"]["variants"] == [edited]


def test_the_operator_may_write_status_labels_and_finalizers_while_a_run_is_on(load_test: LoadTest):
    load_test.create(WITH_RELEASE)
    load_test.status(RUNNING)
    for finalizers in ([names.FINALIZER], []):
        metadata = load_test.get()["metadata"] | {"finalizers": finalizers, "labels": {"a": "b"}}
        assert load_test.put("metadata", metadata) == ""
    load_test.status({"phase": "Restoring"})
    assert load_test.get()["metadata"]["labels"] == {"a": "b"}


def test_a_running_loadtest_can_be_deleted(load_test: LoadTest):
    load_test.create(WITH_RELEASE)
    load_test.status(RUNNING)
    load_test.delete()
    assert load_test.get() is None
