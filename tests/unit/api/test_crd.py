import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, Field

from loadtest.api import crd, names, reference
from loadtest.api.conditions import ConditionType, Reason

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "crds" / "loadtests.loadtest.eqrunner.dev.yaml"
PAGE = ROOT / "docs" / "reference" / "loadtest.md"

VERSION = crd.definition()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SPEC, STATUS = SCHEMA["properties"]["spec"], SCHEMA["properties"]["status"]


def walk(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from walk(f"{path}.{name}", field)
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from walk(f"{path}[]", schema[keyword])


ALL = [*walk("spec", SPEC), *walk("status", STATUS)]


def test_the_committed_crd_is_what_the_models_say():
    assert COMMITTED.read_text() == crd.text(), f"run: python -m loadtest.api.crd > {COMMITTED.relative_to(ROOT)}"


def test_the_committed_reference_page_is_what_the_models_say():
    assert PAGE.read_text() == reference.text(), f"run: python -m loadtest.api.reference > {PAGE.relative_to(ROOT)}"


def test_the_crd_is_yaml_without_anchors():
    assert yaml.safe_load(crd.text()) == crd.definition()
    assert not re.search(r"[&*]id\d", crd.text())


def test_the_crd_fits_into_the_annotation_of_kubectl_apply():
    assert len(crd.text()) < 200_000


def test_the_resource_is_called_as_promised():
    definition = crd.definition()
    assert definition["metadata"]["name"] == "loadtests.loadtest.eqrunner.dev"
    assert definition["spec"]["scope"] == "Namespaced"
    assert definition["spec"]["names"] == {
        "kind": "LoadTest", "listKind": "LoadTestList", "plural": "loadtests", "singular": "loadtest",
        "shortNames": ["ldt"], "categories": ["loadtest"],
    }  # fmt: skip
    assert VERSION["name"] == "v1alpha1"
    assert VERSION["subresources"] == {"status": {}}


def test_the_columns_are_as_promised_and_each_shows_a_field_of_the_status():
    columns = VERSION["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == [
        "Phase", "Variant", "Stage", "Progress", "RPS", "P99", "Failures", "Verdict", "Age",
    ]  # fmt: skip
    shown = {column["jsonPath"].removeprefix(".") for column in columns[:-1]}
    assert shown <= {path for path, _ in ALL}


@pytest.mark.parametrize(("path", "schema"), ALL, ids=[path for path, _ in ALL])
def test_every_field_is_structural_and_every_named_field_is_described(path: str, schema: dict[str, Any]):
    assert not set(schema) & {"$ref", "$defs", "title", "const", "oneOf", "allOf", "not", "nullable"}
    assert ("type" in schema) or schema["x-kubernetes-int-or-string"]
    assert "additionalProperties" not in schema or "properties" not in schema
    if not path.endswith("[]"):
        assert len(schema["description"]) > 5


@pytest.mark.parametrize(("path", "schema"), [*walk("spec", SPEC)], ids=[path for path, _ in walk("spec", SPEC)])
def test_every_text_list_and_map_of_the_spec_is_bounded(path: str, schema: dict[str, Any]):
    match schema.get("type"):
        case "string":
            assert "maxLength" in schema or "enum" in schema
        case "array":
            assert "maxItems" in schema
        case "object":
            assert (
                "maxProperties" in schema
                or "properties" in schema
                or schema.get("x-kubernetes-preserve-unknown-fields") is True
            )
        case "integer" if not path.endswith("tolerationSeconds"):
            assert {"minimum", "maximum"} <= set(schema)


def test_only_chart_values_and_affinity_are_free_in_form():
    free = {path for path, schema in ALL if schema.get("x-kubernetes-preserve-unknown-fields")}
    assert free == {"spec.variants[].values", "spec.injector.affinity"}


def test_every_rule_has_a_message_on_one_line():
    rules = [rule for _, schema in walk("", SCHEMA) for rule in schema.get("x-kubernetes-validations", ())]
    assert len(rules) > 40
    assert all(rule["message"] and "\n" not in rule["message"] for rule in rules)


def test_every_field_of_the_spec_but_suspend_has_a_transition_rule():
    ruled = {rule.field.removeprefix(".spec.") for rule in crd.transition_rules()}
    assert ruled == set(SPEC["properties"]) - {"suspend"}


def test_the_status_begins_as_in_progress():
    assert STATUS["default"]["observedGeneration"] == -1
    assert {one["type"]: one["status"] for one in STATUS["default"]["conditions"]} == {
        "Ready": "Unknown",
        "Reconciling": "True",
    }


def test_a_keyword_without_translation_is_an_error():
    class Odd(BaseModel):
        ratio: float = Field(multiple_of=0.5)

    with pytest.raises(ValueError, match="multipleOf"):
        crd.schema_of(Odd)


def test_the_reference_page_has_every_field_type_and_reason():
    page = PAGE.read_text()
    shared = re.findall(r"`([^`]+)\.\*` \| \| The same fields as", page)
    for path, _ in ALL:
        field = path.partition(".")[2]
        inside_shared = any(field.startswith(f"{one}.") for one in shared)
        if field and not field.endswith("[]") and not inside_shared:
            assert f"| `{field}` |" in page
    for word in (*ConditionType, *Reason):
        assert f"| `{word}` | {word.meaning} |" in page
    assert names.API_VERSION in page
