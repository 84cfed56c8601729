"""Chart values: merging, comparing, looking up, and writing them for helm. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Values = dict[str, Any]

_YAML_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON takes as they are inside a string, and YAML reads as line breaks or refuses."""


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """`over` on top of `base` as helm merges a second `-f` file: maps are merged, all else replaces.

    A null in `over` replaces like any other value and is kept: that is how a file removes a default of the chart.
    """
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def has_path(values: Mapping[str, Any], path: str) -> bool:
    """Whether the dotted `path` names something in `values`; a null counts, since a chart may list one as default."""
    here: object = values
    for key in path.split("."):
        if not isinstance(here, dict) or key not in here:
            return False
        here = here[key]
    return True


def sha256(value: object) -> str:
    """Hex SHA-256 of a JSON value, the same for values that helm cannot tell apart.

    Helm reads every number as a float64, so 1 and 1.0 are one, and stores a map without order.
    """
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
        return int(number) if number.is_integer() else number
    return value


def to_helm(value: object) -> str:
    """A JSON text that helm's YAML parser reads as the same value.

    JSON is nearly YAML: only some characters in strings differ, and those are escaped. Escaping all that is not ASCII
    would be wrong, because YAML does not know the surrogate pairs of JSON.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _YAML_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def scalars(value: object) -> Iterator[str]:
    """Every scalar inside `value` as text; what must not appear in a message."""
    if isinstance(value, dict):
        for each in value.values():
            yield from scalars(each)
    elif isinstance(value, list):
        for each in value:
            yield from scalars(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
