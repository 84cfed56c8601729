"""`loadtest plan FILE`: what a LoadTest would run, without touching anything. Needs no cluster."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import ValidationError

from loadtest.api import names
from loadtest.api.spec import LoadTestSpec
from loadtest.cli.calibrate import BadCalibration, kept
from loadtest.core.expand import InvalidSpec, expand
from loadtest.core.needs import REQUESTS_PER_WAIT, needs
from loadtest.report import markdown
from loadtest.report.planned import document, outline
from loadtest_injector.requests_file import RequestsFileError, parse

UNUSABLE = 2
_LAUNCH = 2
"""Requests that launch a journey, before those of the file; nothing is waited for after them."""

_NO_RUN = "0" * 16
"""A plan that nobody admitted has no run id."""


class BadFile(ValueError):  # noqa: N818 - named for the fact
    """The file holds no LoadTest that could be run; the message names place and remedy."""


def plan(file: Path, form: str) -> int:
    """Print the plan of a file's LoadTest as `form` (md, json, yaml). Returns 0, or 2 where it cannot be run."""
    try:
        text = _text(file)
        body = _loadtest(str(file), text)
        made = expand(_NO_RUN, _spec(body))
        needed = needs(made, kept(), _requests_per_wait(made.spec, text))
    except (BadFile, InvalidSpec, BadCalibration) as error:
        click.echo(str(error), err=True)
        return UNUSABLE
    name = str(body["metadata"]["name"])
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


def _loadtest(where: str, text: str) -> dict[str, Any]:
    """The one LoadTest among the documents; others, such as ConfigMaps beside it, are left alone."""
    try:
        bodies = [body for body in yaml.safe_load_all(text) if isinstance(body, dict)]
    except yaml.YAMLError as error:
        raise BadFile(f"{where} is not YAML: {error}") from error
    found = [body for body in bodies if body.get("kind") == names.KIND]
    if len(found) != 1:
        raise BadFile(f"{where} holds {len(found) or 'no'} LoadTests: give a file with exactly one of kind LoadTest")
    (body,) = found
    if body.get("apiVersion") != names.API_VERSION:
        raise BadFile(f"{where}: apiVersion is {body.get('apiVersion')!r}: write {names.API_VERSION}")
    if not isinstance(body.get("metadata"), dict) or not body["metadata"].get("name"):
        raise BadFile(f"{where}: metadata.name is missing: give the LoadTest a name")
    return body


def _requests_per_wait(spec: LoadTestSpec, text: str) -> Fraction:
    """Of the requests file, where its ConfigMap is in the same file; else what is assumed."""
    source = spec.scenario.requests
    if source is None:
        return REQUESTS_PER_WAIT
    where = ("ConfigMap", source.config_map.name)
    bodies = [body for body in yaml.safe_load_all(text) if isinstance(body, dict)]
    found = [body for body in bodies if (body.get("kind"), (body.get("metadata") or {}).get("name")) == where]
    content = (found[0].get("data") or {}).get(source.config_map.key) if found else None
    if content is None:
        return REQUESTS_PER_WAIT
    try:
        entries = parse(str(content).encode(), launch=source.launch is not None).entries
    except RequestsFileError as error:
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
