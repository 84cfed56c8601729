"""The samples that people copy: every LoadTest in them is accepted, and its scenario can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from loadtest.api.spec import LoadTestSpec
from loadtest.core import scenario
from loadtest.core.expand import expand

SAMPLES = Path(__file__).resolve().parents[3] / "manifests" / "samples"
DOCUMENTS = {path.name: [d for d in yaml.safe_load_all(path.read_text()) if d] for path in SAMPLES.glob("*.yaml")}
LOADTESTS = [(name, d) for name, documents in DOCUMENTS.items() for d in documents if d.get("kind") == "LoadTest"]


@pytest.mark.parametrize(("file", "body"), LOADTESTS, ids=[name for name, _ in LOADTESTS])
def test_a_sample_can_be_run_as_it_stands(file: str, body: dict[str, Any]) -> None:
    spec = LoadTestSpec.model_validate(body["spec"])
    assert expand("0123456789abcdef", spec).stages
    field, name = scenario.name(spec)
    found = [d for d in DOCUMENTS[file] if d["kind"] == "ConfigMap" and d["metadata"]["name"] == name]
    assert len(found) == 1, f"{field} names a ConfigMap of the same file"
    given = {key: text.encode() for key, text in found[0]["data"].items()}
    assert "scenario.json" in scenario.files(spec, given)
