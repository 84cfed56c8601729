"""Models -> CustomResourceDefinition: `python -m loadtest.api.crd` prints what `crds/` holds.

pydantic's JSON schema is turned into a structural schema: references are inlined, "or null" is dropped (the API server
drops a null that the schema does not allow), a constant becomes an enum of one, and what only annotates is left out.
"""

import json
import sys
from typing import Any

import yaml
from pydantic import BaseModel

from loadtest.api import names
from loadtest.api.model import VALIDATIONS, Rule
from loadtest.api.spec import LoadTestSpec
from loadtest.api.status import LoadTestStatus, initial_status

_RUNNING = "has(oldSelf.status) && has(oldSelf.status.startedAt) && !has(oldSelf.status.finishedAt)"

_CHANGEABLE = frozenset({"suspend", "abort"})
"""Fields of the spec that may change while a run is on."""

_COPIED = (
    "type", "anyOf", "description", "default", "enum", "format", "pattern", "minLength", "maxLength", "minimum",
    "maximum", "minItems", "maxItems", "minProperties", "maxProperties", "x-kubernetes-int-or-string",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", VALIDATIONS, "required",
)  # fmt: skip
"""Keywords that a structural schema has too, in the order in which they are written."""

_NULL = {"type": "null"}
_DROPPED = frozenset({"title", "$defs"})
_TRANSLATED = frozenset({"const", "properties", "items", "additionalProperties"})

_COLUMNS = (
    ("Phase", "string", ".status.phase", "How far the run is."),
    ("Variant", "string", ".status.progress.variant", "Variant that is being measured."),
    ("Stage", "string", ".status.summary.stage", "Finished or skipped stages of all stages of the run."),
    ("Progress", "integer", ".status.progress.percent", "Share of the run's time that is over, in percent."),
    ("RPS", "integer", ".status.summary.requestsPerSecond", "Requests per second of the present or last stage."),
    ("P99", "integer", ".status.summary.p99Millis", "99th percentile of the present or last stage, in ms."),
    ("Failures", "integer", ".status.summary.failures", "Failed requests so far."),
    ("Verdict", "string", ".status.summary.verdict", "What the figures say."),
    ("Age", "date", ".metadata.creationTimestamp", "Time since the LoadTest was made."),
)


def _same(new: str, old: str, *, optional: bool = True) -> str:
    """CEL: two fields are equal, or, where they are optional, both absent."""
    return f"(has({new}) ? has({old}) && {new} == {old} : !has({old}))" if optional else f"{new} == {old}"


_SAME_VARIANTS = (
    "(has(self.spec.variants) ? has(oldSelf.spec.variants) && "
    "size(self.spec.variants) == size(oldSelf.spec.variants) && "
    "self.spec.variants.all(v, oldSelf.spec.variants.exists(o, o.name == v.name && "
    f"{_same('v.runner', 'o.runner')} && {_same('v.settings', 'o.settings')})) : !has(oldSelf.spec.variants))"
)
"""CEL: the variants are the same but for their values, a free object; the operator shows edits there as SpecDrifted."""


def transition_rules() -> list[Rule]:
    """What may not change while a run is on. They stand at the root, where spec and status are both in sight."""
    rules = []
    for field in LoadTestSpec.model_fields.values():
        name = str(field.alias)
        if name in _CHANGEABLE:
            continue
        optional = not field.is_required() and field.default is None
        same = (
            _SAME_VARIANTS
            if name == "variants"
            else _same(f"self.spec.{name}", f"oldSelf.spec.{name}", optional=optional)
        )
        rules.append(
            Rule(
                f"!({_RUNNING}) || {same}",
                f"spec.{name} cannot change while a run is on: wait for its end, or set spec.abort to true first",
                field=f".spec.{name}",
            )
        )
    rules.append(
        Rule(
            f"!({_RUNNING}) || !oldSelf.spec.abort || self.spec.abort",
            "spec.abort cannot go back to false while a run is on: wait for its end",
            field=".spec.abort",
        )
    )
    return rules


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return value


def _inlined(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema with its reference, or its one alternative to null, in place; what it says itself goes before."""
    inner: dict[str, Any] = {}
    if "$ref" in schema:
        inner = definitions[schema["$ref"].rpartition("/")[2]]
    elif _NULL in schema.get("anyOf", ()):
        (inner,) = (one for one in schema["anyOf"] if one != _NULL)
    if not inner:
        return schema
    own = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
    return _inlined({**inner, **own}, definitions)


def structural(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The structural schema of a JSON schema.

    Raises:
        ValueError: the schema has a keyword for which there is no translation.
    """
    schema = _inlined(schema, definitions)
    unknown = set(schema) - set(_COPIED) - _DROPPED - _TRANSLATED
    if unknown:
        raise ValueError(f"no translation of {sorted(unknown)} in {schema}")
    result = {key: _without_nulls(schema[key]) for key in _COPIED if schema.get(key) is not None}
    if "const" in schema:
        result["enum"] = [schema["const"]]
    if "items" in schema:
        result["items"] = structural(schema["items"], definitions)
    if "properties" in schema:
        result["properties"] = {name: structural(value, definitions) for name, value in schema["properties"].items()}
    additional = schema.get("additionalProperties", False)
    if additional is True:
        result["x-kubernetes-preserve-unknown-fields"] = True
    elif additional is not False:
        result["additionalProperties"] = structural(additional, definitions)
    return result


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The structural schema of a model."""
    schema = model.model_json_schema(by_alias=True)
    return structural(schema, schema.get("$defs", {}))


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    schema = {
        "description": "A whole performance investigation: variants of a target, loaded in stages, and compared.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "Version of this schema of the object."},
            "kind": {"type": "string", "description": "Kind of the object."},
            "metadata": {"type": "object"},
            "spec": schema_of(LoadTestSpec),
            "status": schema_of(LoadTestStatus) | {"default": initial_status()},
        },
        VALIDATIONS: [rule.as_schema() for rule in transition_rules()],
    }
    version = {
        "name": names.VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": type_, "jsonPath": path, "description": description}
            for name, type_, path, description in _COLUMNS
        ],
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": names.CRD_NAME},
        "spec": {
            "group": names.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": names.KIND,
                "listKind": f"{names.KIND}List",
                "plural": names.PLURAL,
                "singular": names.SINGULAR,
                "shortNames": [names.SHORT_NAME],
                "categories": [names.CATEGORY],
            },
            "versions": [version],
        },
    }


def text() -> str:
    """The CRD as YAML, the same bytes each time."""
    plain = json.loads(json.dumps(definition()))  # without the anchors that YAML makes of shared objects
    return "# Generated from loadtest.api by `python -m loadtest.api.crd`. Do not edit.\n" + yaml.safe_dump(
        plain, sort_keys=False, width=120, allow_unicode=True
    )


if __name__ == "__main__":
    sys.stdout.write(text())
