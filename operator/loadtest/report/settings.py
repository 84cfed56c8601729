"""What the variants set, in the words of the reports that people wrote by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadtest.api.spec import LoadTestSpec
from loadtest.core.expand import InvalidSpec, words_of
from loadtest.report.result import Result

LABELS = {
    "workerClass": "Worker class",
    "workers": "Number of workers",
    "threads": "Number of threads",
    "uwsgiAsyncCores": "uWSGI async cores",
    "datastoreTransport": "Datastore transport",
    "sessionBackend": "Session backend",
    "replicas": "Questionnaire Runner min/max pods",
    "cpu": "CPU request",
}
_COUNTED = {"threads", "workers", "replicas"}
"""Settings whose value reads well before their name: 2 threads."""


@dataclass(frozen=True)
class Naming:
    """How tables name the variants: by the one setting in which they differ, else by their names.

    Attributes:
        heading: of the column of variants.
        values: what stands in that column, by variant.
        titles: how a heading names a variant.
    """

    heading: str
    values: Mapping[str, str]
    titles: Mapping[str, str]


def naming(result: Result) -> Naming:
    """By the setting where just one differs and every variant says it, else by name."""
    names = [variant.name for variant in result.variants]
    words = _words(result.spec)
    differing = _differing([words[name] for name in names]) if all(name in words for name in names) else []
    if len(names) > 1 and len(differing) == 1 and differing[0] in LABELS:
        setting = differing[0]
        values = {name: words[name][setting] for name in names}
        if len(set(values.values())) == len(names):
            titles = {name: f"{value} {setting}" if setting in _COUNTED else value for name, value in values.items()}
            return Naming(LABELS[setting], values, titles)
    same = {name: name for name in names}
    return Naming("Variant", same, same)


def rows(result: Result) -> list[tuple[str, str]]:
    """The settings of the variants as rows of a profile; where they differ, all values with the baseline's marked."""
    words = _words(result.spec)
    settings = dict.fromkeys(setting for each in words.values() for setting in each)
    found = []
    for setting in settings:
        values: dict[str, str] = {}
        for name, each in words.items():
            value = each.get(setting, "as released")
            values[value] = values.get(value, "") or (" (baseline)" if name == result.baseline else "")
        marked = [f"{value}{mark if len(values) > 1 else ''}" for value, mark in values.items()]
        found.append((LABELS.get(setting, setting), ", ".join(marked)))
    return found


def _words(spec: LoadTestSpec | None) -> dict[str, dict[str, str]]:
    try:
        return words_of(spec) if spec is not None else {}
    except InvalidSpec:
        return {}


def _differing(words: Sequence[Mapping[str, str]]) -> list[str]:
    settings = dict.fromkeys(setting for each in words for setting in each)
    return [
        setting
        for setting in settings
        if any(setting not in each for each in words) or len({each[setting] for each in words}) > 1
    ]
