"""CRD, conditions and reasons -> reference page.

`python -m loadtest.api.reference` prints what `docs/reference/loadtest.md` holds.
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

from loadtest.api import names
from loadtest.api.conditions import ConditionType, Reason
from loadtest.api.crd import definition
from loadtest.api.model import VALIDATIONS

_INTRODUCTION = f"""\
<!-- Generated from loadtest.api by `python -m loadtest.api.reference`. Do not edit. -->

# LoadTest

`{names.API_VERSION}`, kind `{names.KIND}`, short name `{names.SHORT_NAME}`. The same is in the cluster:
`kubectl explain loadtest.spec --recursive`.

A field marked *required* must be there wherever the object around it is. Durations are texts such as `20m`, `90s` or
`1h30m`: whole numbers with the units h, m, s and ms.
"""


_DURATION = re.compile(r"(?<=from )[0-9hms]+ to [0-9hms]+(?=:)")
"""The bounds in the message of a duration's rule."""


def _type(schema: dict[str, Any]) -> str:
    if "x-kubernetes-int-or-string" in schema:
        return "integer or string"
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}"
    return str(schema["type"])


def _range(unit: str, low: Any, high: Any) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}{unit}"
    return f"at least {low}{unit}" if high is None else f"at most {high}{unit}"


def _bounds(schema: dict[str, Any]) -> Iterator[str]:
    """What a value may be, in words."""
    if "enum" in schema:
        yield "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    durations = [_DURATION.search(rule["message"]) for rule in schema.get(VALIDATIONS, ())]
    if any(durations):
        yield from (found.group() for found in durations if found)
        return
    for suffix, unit in (("imum", ""), ("Length", " characters"), ("Items", " entries"), ("Properties", " entries")):
        low, high = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
        if low is not None or high is not None:
            yield _range(unit, low, high)
    if "x-kubernetes-list-map-keys" in schema:
        yield f"unique by `{schema['x-kubernetes-list-map-keys'][0]}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _row(path: str, schema: dict[str, Any], *, required: bool) -> str:
    facts = [*(["*required*"] if required else []), *_bounds(schema)]
    if "default" in schema and not isinstance(schema["default"], dict):
        facts.append(
            f"default `{str(schema['default']).lower() if schema['type'] == 'boolean' else schema['default']!s}`"
        )
    facts = [fact for fact in facts if fact != "default ``"]
    return f"| `{path}` | {_type(schema)} | {_cell(schema.get('description', ''))} | {_cell('; '.join(facts))} |"


def _inner(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The object inside of lists, and how the path to it goes on."""
    suffix = ""
    while schema.get("type") == "array":
        suffix, schema = suffix + "[]", schema["items"]
    return suffix, schema


def _rows(path: str, schema: dict[str, Any], seen: dict[str, str]) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        yield _row(below, field, required=name in schema.get("required", ()))
        suffix, inner = _inner(field)
        if not inner.get("properties"):
            continue
        same = seen.setdefault(str(inner["properties"]), f"{below}{suffix}")
        if same == f"{below}{suffix}":
            yield from _rows(same, inner, seen)
        else:
            yield f"| `{below}{suffix}.*` | | The same fields as `{same}`. | |"


def _rules(path: str, schema: dict[str, Any]) -> Iterator[str]:
    if VALIDATIONS in schema:
        yield from (
            f"- `{(path + rule.get('fieldPath', '')).removeprefix('.')}`: {rule['message']}"
            for rule in schema[VALIDATIONS]
        )
    for name, field in schema.get("properties", {}).items():
        yield from _rules(f"{path}.{name}".removeprefix("."), field)
    if "items" in schema:
        yield from _rules(f"{path}[]", schema["items"])


def _table(schema: dict[str, Any]) -> str:
    head = "| field | type | meaning | values |\n|---|---|---|---|\n"
    return head + "\n".join(_rows("", schema, {}))


def text() -> str:
    """The page, the same each time."""
    root = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec, status = root["properties"]["spec"], root["properties"]["status"]
    words = "| {} | meaning |\n|---|---|\n"
    return "\n".join(
        [
            _INTRODUCTION,
            f"## spec\n\n{spec['description']}\n",
            _table(spec),
            "\n### What is refused\n\nBeside wrong types and values out of their range, `kubectl apply` says:\n",
            *_rules("", {"properties": {"spec": spec}}),
            *_rules("", {VALIDATIONS: root[VALIDATIONS]}),
            f"\n## status\n\n{status['description']}\n",
            _table(status),
            "\n## Conditions\n",
            words.format("type") + "\n".join(f"| `{word}` | {word.meaning} |" for word in ConditionType),
            "\n## Reasons\n",
            words.format("reason") + "\n".join(f"| `{word}` | {word.meaning} |" for word in Reason),
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(text())
