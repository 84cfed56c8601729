"""`loadtest import locust PATH`: published Locust CSVs, as a result that can be read and compared."""

from __future__ import annotations

import json
from pathlib import Path

import click

from loadtest.results.locust_csv import BadCsv, Imported, Table, combine, parse
from loadtest.results.locust_import import document, markdown

UNUSABLE = 2
_STATS = "_stats.csv"
_REQUESTS = "_requests.csv"
_DISTRIBUTION = "_distribution.csv"


def import_locust(path: Path, form: str) -> int:
    """Print the import of a folder or file as `form` (md or json). Returns 0, or 2 where there is none."""
    try:
        imported = read(path)
    except (OSError, BadCsv) as error:
        click.echo(f"{path}: {error}", err=True)
        return UNUSABLE
    click.echo(json.dumps(document(imported), indent=2) if form == "json" else markdown(imported).rstrip("\n"))
    return 0


def read(path: Path) -> Imported:
    """Every `*_stats.csv` of a folder (and every pair of Locust before 0.14), or the one file.

    Raises:
        BadCsv: where there are none, or one is not Locust's.
    """
    if path.is_file():
        return combine(path.name, [_table(path)])
    files = sorted([*path.glob(f"*{_STATS}"), *path.glob(f"*{_REQUESTS}")])
    return combine(path.resolve().name, [_table(file) for file in files])


def _table(file: Path) -> Table:
    beside = file.with_name(file.name.removesuffix(_REQUESTS) + _DISTRIBUTION) if _REQUESTS in file.name else None
    try:
        distribution = beside.read_text(encoding="utf-8") if beside and beside.exists() else None
        return parse(file.name, file.read_text(encoding="utf-8"), distribution)
    except UnicodeDecodeError as error:
        raise BadCsv(f"{file.name} is not text in UTF-8: name statistics files of Locust") from error
