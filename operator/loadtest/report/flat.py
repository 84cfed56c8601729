"""The figures of every stage as CSV: one row for each stage of each repeat, whole numbers with the unit in the name."""

from __future__ import annotations

import csv
import io
from typing import Any

from loadtest.report.result import Result

_FIRST = ("variant", "repeat")


def text(result: Result) -> str:
    """All stages, invalid ones too (`valid` says so). A figure that was not measured is an empty cell."""
    rows = [
        {"variant": variant.name, "repeat": run.repeat, **_flat(stage.to_wire())}
        for variant, run, stage in result.stages()
    ]
    header = list(dict.fromkeys([*_FIRST, *(key for row in rows for key in row)]))
    out = io.StringIO()
    writer = csv.DictWriter(out, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(wire: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested objects as `latencyMicros.p99`; lists are left to JSON."""
    found: dict[str, Any] = {}
    for key, value in wire.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{key}.")
        elif not isinstance(value, list):
            found[f"{before}{key}"] = value
    return found
