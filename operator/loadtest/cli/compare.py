"""`loadtest compare A B`: two results beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from loadtest.cli import import_locust
from loadtest.cli.report import save
from loadtest.cli.sources import LOADTEST_FILE, load
from loadtest.report import html, markdown
from loadtest.report.result import Result
from loadtest.report.versus import Comparison, NotComparable, Old, compare_old, document, old_document
from loadtest.report.versus import compare as compare_results
from loadtest.results.locust_csv import BadCsv, Imported

UNUSABLE = 2
FORMAT = "loadtest.eqrunner.dev/comparison/v1"


def compare(
    first: str,
    second: str,
    namespace: str | None,
    context: str | None,
    variants: tuple[str, ...],
    form: str,
    file: Path | None,
) -> int:
    """Write the comparison as `form` (md, html, json). Returns 0, or 2 where there is nothing to compare."""
    try:
        pairs = [_pair(each) for each in variants]
        one, other = (_source(name, namespace, context) for name in (first, second))
        text = _written(one, other, pairs, form)
    except (NotComparable, BadCsv) as error:
        click.echo(str(error), err=True)
        return UNUSABLE
    if file is None:
        click.echo(text, nl=False)
    else:
        save(file, text)
        click.echo(f"written: {file}", err=True)
    return 0


def _pair(text: str) -> tuple[str, str]:
    first, equals, second = text.partition("=")
    if not first or (equals and not second):
        raise NotComparable(f"--variant {text}: write NAME, or FIRST=SECOND where the names differ")
    return first, second or first


def _source(name: str, namespace: str | None, context: str | None) -> Result | Imported:
    """A LoadTest's result, or what Locust wrote."""
    path = Path(name)
    if path.suffix == ".csv" or (path.is_dir() and not (path / LOADTEST_FILE).exists()):
        return import_locust.read(path)
    return load(name, namespace, context).result


def _written(one: Result | Imported, other: Result | Imported, pairs: list[tuple[str, str]], form: str) -> str:
    if isinstance(one, Result) and isinstance(other, Result):
        comparison = compare_results(one, other, pairs)
        found, made = _exact(comparison), document(comparison)
    else:
        found, made = _old(*compare_old(one, other)), old_document(one, other)
    if form == "json":
        return json.dumps({"format": FORMAT, "first": one.name, "second": other.name} | found, indent=2) + "\n"
    return html.text(made) if form == "html" else markdown.text(made)


def _exact(made: Comparison) -> dict[str, Any]:
    return {"notes": list(made.notes), "comparison": [one.to_wire() for one in made.found]}


def _old(first: list[Old], second: list[Old]) -> dict[str, Any]:
    """Both by the old definition, unrounded and in milliseconds."""
    return {
        "verdict": "Indicative",
        "oldDefinition": [
            [
                {
                    "name": one.label,
                    "requests": one.requests,
                    "failures": one.failures,
                    "millis": {row: float(value) for row, value in one.figures.items()},
                }
                for one in side
            ]
            for side in (first, second)
        ],
    }
