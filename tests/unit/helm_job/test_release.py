"""The stored form of a release."""

import base64
import gzip
import json
from typing import Any

import pytest

from loadtest.adapters.helm_job import release as releases
from loadtest.adapters.helm_job import snapshot as snapshots
from tests.unit.helm_job.releases import CHART, release, request


def _secret(packed: bytes) -> dict[str, Any]:
    twice = base64.b64encode(base64.b64encode(packed)).decode()
    return {"metadata": {"labels": {"team": "eq"}}, "data": {"release": twice}}


def test_a_release_is_read_from_gzip_in_two_layers_of_base64() -> None:
    body = {"name": "runner", "version": 7, "info": {"status": "deployed"}, "config": {"a": 1}, "manifest": "kind: A\n"}
    found = releases.from_secret(_secret(gzip.compress(json.dumps(body).encode())))
    assert (found.name, found.revision, found.status) == ("runner", 7, "deployed")
    assert (found.user_values, found.manifest, found.labels) == ({"a": 1}, "kind: A\n", {"team": "eq"})


def test_a_release_of_an_old_helm_is_read_uncompressed() -> None:
    found = releases.from_secret(_secret(json.dumps({"name": "runner", "version": 1}).encode()))
    assert (found.status, found.user_values, found.manifest) == ("unknown", {}, "")


@pytest.mark.parametrize(
    "secret",
    [
        {"metadata": {}, "data": {}},
        {"metadata": {}, "data": None},
        {"metadata": {}, "data": {"release": "not base64"}},
        _secret(b"not json"),
        _secret(b"[]"),
        _secret(b"{}"),
        _secret(gzip.compress(b"{}")[:-4]),
    ],
)
def test_what_is_not_a_release_is_refused(secret: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a stored Helm release"):
        releases.from_secret(secret)


def test_a_revision_that_is_put_back_reads_as_the_same_revision_superseded() -> None:
    original = release(revision=4, labels={"team": "eq", "status": "deployed", "createdAt": "1"})
    secret = releases.to_secret(original, "runner", releases.SUPERSEDED)
    again = releases.from_secret(secret)
    assert secret["type"] == "helm.sh/release.v1"
    assert secret["metadata"]["name"] == "sh.helm.release.v1.runner.v4"
    assert again.labels == {
        "team": "eq",
        "createdAt": "1",
        "name": "runner",
        "owner": "helm",
        "status": "superseded",
        "version": "4",
    }
    assert again.status == "superseded"
    assert again.body == {**original.body, "info": {**original.body["info"], "status": "superseded"}}


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"revision": 9}, True),
        ({"status": "superseded"}, True),
        ({"description": "Rollback to 3"}, True),
        ({"values": {"webServer": {"threads": "3"}}}, False),
        ({"manifest": "kind: A"}, False),
    ],
)
def test_the_same_content_means_values_and_manifest_whatever_the_revision(changes: dict[str, Any], same: bool) -> None:
    assert release(**changes).same_content(release()) is same


def test_a_summary_tells_hashes_and_no_value() -> None:
    text = json.dumps(release().summary())
    assert "hunter22" not in text
    assert release().summary()["chart"] == "runner-1.0.0"


def _snapshot_secret() -> dict[str, Any]:
    state = {"metadata": {"name": "ldt-0123456789abcdef-state", "uid": "u1", "labels": {"run": "x"}}}
    return snapshots.to_secret(release(labels={"team": "eq"}), request(), state)


def test_a_snapshot_gives_back_the_release_as_stored_with_its_labels() -> None:
    kept = snapshots.from_secret(_snapshot_secret()).original
    assert kept.body == release().body
    assert kept.packed == release().packed
    assert kept.labels == {"team": "eq"}


def test_a_snapshot_is_immutable_and_owned_by_the_state() -> None:
    secret = _snapshot_secret()
    assert secret["immutable"] is True
    assert secret["metadata"]["labels"] == {"run": "x", "loadtest.eqrunner.dev/role": "snapshot"}
    assert secret["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "ldt-0123456789abcdef-state", "uid": "u1"}
    ]


def test_a_snapshot_whose_release_was_swapped_is_refused() -> None:
    secret = _snapshot_secret()
    secret["data"]["release"] = base64.b64encode(release(manifest="kind: B\n").packed).decode()
    with pytest.raises(ValueError, match="damaged"):
        snapshots.from_secret(secret)


def test_a_snapshot_without_meta_data_is_refused() -> None:
    secret = _snapshot_secret()
    del secret["data"]["meta"]
    with pytest.raises(ValueError, match="not a snapshot"):
        snapshots.from_secret(secret)


def test_a_release_without_a_chart_still_has_hashes() -> None:
    assert release(chart={}).summary()["chart"] == "-"
    assert release(chart={}).chart_sha256 != release(chart=CHART).chart_sha256
