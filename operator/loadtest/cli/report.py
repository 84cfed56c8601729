"""`loadtest report`: a result as Markdown, HTML, CSV or JSON, and the proof that it follows from the stored records."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import click

from loadtest.cli.sources import Source, keep, load
from loadtest.report import build, flat, markdown
from loadtest.report.verify import differences

DIFFERS = 1

FILES = {"html": "report.html", "md": "report.md", "csv": "stages.csv"}
"""Format -> file of a saved folder. What JSON has is in loadtest.yaml there."""


def report(
    name: str,
    namespace: str | None,
    context: str | None,
    form: str,
    file: Path | None,
    folder: Path | None,
    *,
    brief: bool = False,
    records: bool = True,
    verify: bool,
) -> int:
    """Write the report of a LoadTest, or of a stored result, as `form` (md, html, csv, json).

    With `folder`, keep all there is of it. Without `records`, only what the status holds. With `verify`, 1 where a
    figure of the status does not follow from the stored records.
    """
    if verify and not records:
        raise click.UsageError("--verify recomputes from the records: leave out --no-records")
    source = load(name, namespace, context, records=records)
    if folder is not None:
        save_all(source, folder)
    text = written(source, form, brief=brief)
    if file is None:
        click.echo(text, nl=False)
    else:
        save(file, text)
        click.echo(f"written: {file}", err=True)
    return verified(source) if verify else 0


def written(source: Source, form: str, *, brief: bool = False) -> str:
    """The report as text of one format; `brief` as `build.brief`."""
    if form == "json":
        return json.dumps(source.body, indent=2) + "\n"
    if form == "csv":
        return flat.text(source.result)
    document = build.document(source.result)
    if brief:
        document = build.brief(document)
    if form == "md":
        return markdown.text(document)
    from loadtest.report import html

    made = f"Made by loadtest {version('loadtest-operator')} at {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    return html.text(document, made)


def save(file: Path, text: str) -> None:
    """Write a file; a plain sentence where that does not go."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}") from error


def save_all(source: Source, folder: Path) -> None:
    """LoadTest, records, and the report in every format, in one folder."""
    try:
        keep(source, folder)
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written: {error.strerror}") from error
    for form, file in FILES.items():
        save(folder / file, written(source, form))
    click.echo(f"saved: {folder}", err=True)


def verified(source: Source) -> int:
    """Tell where the status differs from its records; 1 where it does."""
    problems, checked = differences(source.result, source.hashes)
    for problem in problems:
        click.echo(problem, err=True)
    click.echo(f"{checked} stage records recomputed, {len(problems)} differences.", err=True)
    return DIFFERS if problems else 0
