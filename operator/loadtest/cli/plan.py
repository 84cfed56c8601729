"""`loadtest plan FILE`: what a LoadTest would run, without touching anything. Needs no cluster."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import ValidationError

from loadtest.api.spec import LoadTestSpec
from loadtest.cli.calibrate import BadCalibration, kept
from loadtest.core.expand import InvalidSpec, expand
from loadtest.core.needs import REQUESTS_PER_WAIT, needs
from loadtest.local.documents import BadFile, Documents, content, parse
from loadtest.report import markdown
from loadtest.report.planned import document, outline
from loadtest_injector import requests_file

UNUSABLE = 2
_LAUNCH = 2
"""Requests that launch a journey, before those of the file; nothing is waited for after them."""

_NO_RUN = "0" * 16
"""A plan that nobody admitted has no run id."""


def plan(file: Path, form: str) -> int:
    """Print the plan of a file's LoadTest as `form` (md, json, yaml). Returns 0, or 2 where it cannot be run."""
    try:
        documents = parse(_text(file), str(file))
        made = expand(_NO_RUN, _spec(documents.loadtest))
        needed = needs(made, kept(), _requests_per_wait(made.spec, documents))
    except (BadFile, InvalidSpec, BadCalibration) as error:
        click.echo(str(error), err=True)
        return UNUSABLE
    name = documents.name
    if form == "md":
        click.echo(markdown.text(document(made, name, needed)), nl=False)
    elif form == "json":
        click.echo(json.dumps(outline(made, name, needed), indent=2))
    else:
        click.echo(yaml.safe_dump(outline(made, name, needed), sort_keys=False, width=120), nl=False)
    return 0


def _text(file: Path) -> str:
    try:
        with click.open_file(str(file), encoding="utf-8") as opened:
            return str(opened.read())
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{file} cannot be read: {error}") from error


def _requests_per_wait(spec: LoadTestSpec, documents: Documents) -> Fraction:
    """Of the requests file, where its ConfigMap is in the same file; else what is assumed."""
    source = spec.scenario.requests
    body = documents.find("ConfigMap", source.config_map.name) if source is not None else None
    data = content(body).get(source.config_map.key) if source is not None and body is not None else None
    if source is None or data is None:
        return REQUESTS_PER_WAIT
    try:
        entries = requests_file.parse(data, launch=source.launch is not None).entries
    except requests_file.RequestsFileError as error:
        raise BadFile(f"ConfigMap {source.config_map.name}, key {source.config_map.key}: {error}") from error
    waits = sum(1 for entry in entries if entry.method == "GET")
    return Fraction(len(entries) + (_LAUNCH if source.launch else 0), waits) if waits else REQUESTS_PER_WAIT


def _spec(body: dict[str, Any]) -> LoadTestSpec:
    try:
        return LoadTestSpec.model_validate(body.get("spec") or {})
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        lines = [f"{'.'.join(['spec', *(str(part) for part in one['loc'])])}: {one['msg']}" for one in problems]
        raise BadFile("\n".join(lines)) from error
