"""`loadtest import har FILE`: a requests file out of a browser's recording."""

from __future__ import annotations

import json
from pathlib import Path

import click

UNUSABLE = 2


def import_har(file: Path, output: Path | None, schema_name: str | None, host: str | None, ids: tuple[str, ...]) -> int:
    """Write the requests file of a HAR to `output`, or to standard output; what to look at goes to standard error.

    The result is checked by the injector's own reader before it is written. Returns 0, or 2 where there is none.
    """
    from loadtest.har import HarError
    from loadtest.har import import_har as imported_of
    from loadtest_injector.requests_file import RequestsFileError, parse

    try:
        har = json.loads(file.read_text(encoding="utf-8-sig"))
        imported = imported_of(har, schema_name=schema_name, host=host, ids=ids)
        text = json.dumps(imported.document, indent=2, ensure_ascii=False) + "\n"
        parse(text)
    except (OSError, HarError, RequestsFileError) as error:
        click.echo(f"{file}: {error}", err=True)
        return UNUSABLE
    except ValueError as error:
        click.echo(f"{file} is not JSON: {error}", err=True)
        return UNUSABLE
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            click.echo(f"{output}: {error.strerror}", err=True)
            return UNUSABLE
    for warning in imported.warnings:
        click.echo(warning, err=True)
    found = ", ".join(f"{{{name}}} was {value}" for name, value in imported.ids.items()) or "none"
    click.echo(f"{len(imported.document['requests'])} requests; ids harvested: {found}", err=True)
    if not schema_name:
        click.echo("no schema_name is in the file: add it (--schema-name) where launch tokens are made", err=True)
    return 0
