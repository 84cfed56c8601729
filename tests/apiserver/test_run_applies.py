"""What `loadtest run FILE` does first: it applies the file's documents, as a real API server takes them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from loadtest.adapters.kube import Kube, Rejected
from loadtest.cli.apply import apply_document
from loadtest.local.documents import parse

SAMPLE = Path(__file__).parents[2] / "manifests" / "samples" / "quickstart.yaml"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "launch-keys"}, "stringData": {"k": "v"}}


@pytest.fixture
async def kube(apiserver: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(apiserver))
    kube = await Kube.connect()
    yield kube
    await kube.close()


async def test_documents_are_made_the_first_time_and_changed_the_second(kube: Kube) -> None:
    documents = parse(SAMPLE.read_text(), "quickstart.yaml")
    for threads in (7, 6):
        documents.loadtest["spec"]["variants"][0]["runner"]["threads"] = threads
        for body in (*documents.others, SECRET):
            await apply_document(kube, body, "default")
        made = await apply_document(kube, documents.loadtest, "default")
        assert made["spec"]["variants"][0]["runner"]["threads"] == threads
        assert made["status"]["phase"] == "Pending", "the API server has filled in the first status"
    assert made["metadata"]["generation"] == 2
    secret = await kube.request("GET", "api/v1/namespaces/default/secrets/launch-keys")
    assert base64.b64decode(secret["data"]["k"]) == b"v"
    await kube.delete("loadtests", "default", "quickstart")


async def test_what_the_api_server_refuses_is_told_in_its_words(kube: Kube) -> None:
    documents = parse(SAMPLE.read_text(), "quickstart.yaml")
    bad = yaml.safe_load(yaml.safe_dump(documents.loadtest))
    bad["spec"]["baseline"] = "nobody"
    with pytest.raises(Rejected, match="baseline must be the name of one of variants"):
        await apply_document(kube, bad, "default")
