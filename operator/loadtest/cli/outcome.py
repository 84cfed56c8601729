"""How a run that was waited for is shown and written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import yaml

from loadtest.report import build, junit, markdown
from loadtest.report.result import result_of


def shown(body: dict[str, Any], form: str, line: str) -> str:
    """The LoadTest as `form`: line, md, json, yaml."""
    if form == "md":
        return markdown.text(build.document(result_of(body))).rstrip("\n")
    if form == "json":
        return json.dumps(body, indent=2)
    return yaml.safe_dump(body, sort_keys=False, width=120).rstrip("\n") if form == "yaml" else line


def write_junit(file: Path, body: dict[str, Any], code: int, reason: str, *, strict: bool) -> None:
    """Write JUnit XML; a plain sentence where that does not go."""
    try:
        file.write_text(junit.text(result_of(body), code, reason, strict=strict), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}") from error
