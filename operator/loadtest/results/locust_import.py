"""An import of Locust's CSVs as a document, as Markdown, and in sentences: what its old figures do not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from loadtest.results.locust_csv import Imported, Row
from loadtest.results.tables import DASH, count, markdown_table

FORMAT = "loadtest.eqrunner.dev/locust-import/v1"

_SHOWN = 5
_TOLD = ("99", "99.9", "99.99", "100")
_APART = Fraction(5, 100)  # Locust rounds to two significant digits: up to 5 % may be rounding alone


def number(value: Fraction) -> int | float:
    """A number for JSON: unrounded, whole where it is."""
    return int(value) if value.denominator == 1 else float(value)


def document(imported: Imported) -> dict[str, Any]:
    """The whole import. Times are in milliseconds and unrounded; what the files do not tell is left out."""
    old: dict[str, Any] = {"percentiles": _numbers(imported.old_percentiles)}
    for key, method in (("gets", "GET"), ("posts", "POST"), ("all", None)):
        if (value := imported.old(method=method)) is not None:
            old[key] = number(value)
    made: dict[str, Any] = {
        "format": FORMAT,
        "name": imported.name,
        "requests": imported.requests,
        "failures": imported.failures,
        "percentiles": _numbers(imported.percentiles),
        "oldDefinition": old,
        "files": [
            {
                "name": table.file,
                "requests": table.requests,
                "failures": table.failures,
                **(_total(table.total) if table.total else {}),
            }
            for table in imported.tables
        ],
        "endpoints": [
            {
                "method": row.method,
                "name": row.name,
                "requests": row.requests,
                "failures": row.failures,
                "percentiles": _numbers(row.percentiles),
            }
            for row in imported.endpoints
        ],
        "hidden": hidden(imported),
    }
    if imported.bounds:
        made["percentileBounds"] = {
            key: {"low": number(low), "high": number(high)} for key, (low, high) in imported.bounds.items()
        }
    return made


def _numbers(values: Mapping[str, Fraction]) -> dict[str, int | float]:
    return {key: number(value) for key, value in values.items()}


def _total(row: Row) -> dict[str, Any]:
    optional = {
        "requestsPerSecond": row.per_second,
        "averageContentBytes": row.content_bytes,
        "meanMillis": row.mean,
        "minMillis": row.min,
        "maxMillis": row.max,
    }
    return {
        "percentiles": _numbers(row.percentiles),
        **{key: number(value) for key, value in optional.items() if value is not None},
    }


def hidden(imported: Imported) -> list[str]:
    """What the old definition hides, in sentences, as far as the files can tell."""
    return [*_apart(imported), *_endpoints(imported), *_few(imported), *_mixed(imported)]


def _apart(imported: Imported) -> list[str]:
    """Percentiles whose old figure is further from Locust's own row of all requests than its rounding explains."""
    told = []
    old = imported.old_percentiles
    for key in _TOLD:
        whole, mean = imported.percentiles.get(key), old.get(key)
        if whole and mean is not None and abs(mean - whole) > _APART * whole:
            what = "slowest request" if key == "100" else f"{key}th percentile of all requests"
            told.append(f"the {what} is {millis(whole)} ms; the old definition says {millis(mean)} ms")
    for key in ("99", "99.9"):
        if key in imported.bounds:
            low, high = imported.bounds[key]
            told.append(
                f"the {key}th percentile of all requests lies between {millis(low)} and {millis(high)} ms, those of "
                "the files; no more can be known, since percentiles of files cannot be merged"
            )
    return told


def _endpoints(imported: Imported) -> list[str]:
    mean = imported.old()
    rows = [row for row in imported.endpoints if row.requests]
    if mean is None:
        return []
    slowest = sorted(rows, key=lambda row: row.percentiles["99"], reverse=True)
    low, high = slowest[-1].percentiles["99"], slowest[0].percentiles["99"]
    if low == high:
        return []
    worst = ", ".join(f"{row.method} {row.name} {millis(row.percentiles['99'])} ms" for row in slowest[:3])
    above = sum(row.requests for row in rows if row.percentiles["99"] > mean)
    return [
        f"the endpoints' 99th percentiles go from {millis(low)} to {millis(high)} ms; the slowest are {worst}",
        (
            f"{count(above)} of {count(sum(row.requests for row in rows))} requests went to endpoints whose 99th "
            f"percentile is above their mean of {millis(mean)} ms"
        ),
    ]


def _few(imported: Imported) -> list[str]:
    few = [row for row in imported.endpoints if 0 < row.requests < 100]  # noqa: PLR2004 - below it, p99 is the maximum
    if not few:
        return []
    return [f"{len(few)} endpoints have fewer than 100 requests: their 99th percentile is their slowest request"]


def _mixed(imported: Imported) -> list[str]:
    if not imported.failures:
        return []
    return [f"{count(imported.failures)} failed requests are among the response times: fast refusals lower percentiles"]


def millis(value: Fraction | None) -> str:
    """Milliseconds with two decimals, whole ones without."""
    if value is None:
        return DASH
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):,.2f}"


def markdown(imported: Imported) -> str:
    """The import for people: both definitions beside each other, and what the old one hides."""
    keys = list(dict.fromkeys([*imported.percentiles, *imported.bounds, *imported.old_percentiles]))
    bounds = {key: f"{millis(low)} to {millis(high)}" for key, (low, high) in imported.bounds.items()}
    rows = [
        [f"{key}th", bounds.get(key, millis(imported.percentiles.get(key))), millis(imported.old_percentiles.get(key))]
        for key in keys
    ]
    parts = [
        f"# {imported.name}",
        "",
        (
            f"{count(imported.requests)} requests, {count(imported.failures)} failures, from "
            f"{len(imported.tables)} statistics file{'s' if len(imported.tables) > 1 else ''} of Locust."
        ),
        "",
        "## By the old definition",
        "",
        "Request-weighted means of the endpoints' 99th percentiles, in milliseconds. They are no percentiles.",
        "",
        markdown_table(
            ["Metric", "99th"],
            [
                ["Questionnaire GETs", millis(imported.old(method="GET"))],
                ["Questionnaire POSTs", millis(imported.old(method="POST"))],
                ["All requests", millis(imported.old())],
            ],
        ),
        "",
        "## Percentiles",
        "",
        "In milliseconds. Of all requests: Locust's own row, which Locust rounds to two significant digits, failed",
        "requests among them. Old definition: request-weighted mean of the endpoints' percentiles.",
        "",
        markdown_table(["Percentile", "Of all requests", "Old definition"], rows),
        "",
        *_slowest(imported.endpoints),
    ]
    if told := hidden(imported):
        parts += ["## What the old definition hides", "", *(f"- {_sentence(line)}" for line in told), ""]
    return "\n".join(parts).rstrip() + "\n"


def _slowest(endpoints: Sequence[Row]) -> list[str]:
    rows = sorted(
        (row for row in endpoints if row.requests and "99" in row.percentiles),
        key=lambda row: row.percentiles["99"],
        reverse=True,
    )[:_SHOWN]
    if not rows:
        return []
    return [
        "## Slowest endpoints",
        "",
        markdown_table(
            ["Endpoint", "99th", "100th", "Requests", "Failures"],
            [
                [
                    f"{row.method} {row.name}",
                    millis(row.percentiles["99"]),
                    millis(row.percentiles.get("100")),
                    count(row.requests),
                    count(row.failures),
                ]
                for row in rows
            ],
        ),
        "",
    ]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
