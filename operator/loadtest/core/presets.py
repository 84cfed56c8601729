"""Settings: what a variant may set, where that lands in the chart's values, and how a pod shows it.

A preset is a built-in list of settings for one well-known chart. The facts of `eq-questionnaire-runner` are those of
its chart 1.0.0 (January 2021), where every environment value is a quoted string.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml


@dataclass(frozen=True)
class Setting:
    """One named setting of a target.

    Attributes:
        name: the word used in a variant, for example `threads`.
        paths: dotted paths in the chart's values; all of them receive the value.
        env: the environment variable in which a pod of the target shows the value; None where no pod shows it.
        values: translation of a variant's words to the chart's; words that are not listed pass unchanged.
        number: whether the chart wants a number where no environment variable carries it (such as replicas).
    """

    name: str
    paths: tuple[str, ...]
    env: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    number: bool = False

    def chart_value(self, word: str) -> object:
        """The value that goes into the chart for `word`; environment values are strings, as charts quote them."""
        translated = self.values.get(word, word)
        if self.number:
            return int(translated)
        if self.env is not None or self.values:
            return translated
        return scalar(translated)


def scalar(text: str) -> object:
    """`text` as the YAML scalar that a person would have written into values.yaml; never a list or a map."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    if isinstance(value, float) and not math.isfinite(value):
        return text  # JSON, in which plan and request are stored, has no word for it
    return value if isinstance(value, (bool, int, float)) else text


EQ_QUESTIONNAIRE_RUNNER = (
    Setting(
        "workerClass",
        ("webServer.type",),
        "WEB_SERVER_TYPE",
        {"gevent": "gunicorn-async", "gthread": "gunicorn-threads"},
    ),
    Setting("workers", ("webServer.workers",), "WEB_SERVER_WORKERS"),
    Setting("threads", ("webServer.threads",), "WEB_SERVER_THREADS"),
    Setting("uwsgiAsyncCores", ("webServer.uwsgiAsyncCores",), "WEB_SERVER_UWSGI_ASYNC_CORES"),
    Setting("datastoreTransport", ("datastore.useGRPC",), "DATASTORE_USE_GRPC", {"grpc": "True", "http": "False"}),
    Setting(
        "sessionBackend",
        ("session.backend",),
        "EQ_SESSION_BACKEND",
        {"redis": "ephemeral_storage", "datastore": "storage"},
    ),
    Setting("replicas", ("autoscaler.minReplicas", "autoscaler.maxReplicas"), number=True),
    # A quantity stays a string ("3", "500m"): the API server reads both, and helm would show a bare 3 as a number.
    Setting("cpu", ("resources.requests.cpu",), values={"": ""}),
)

PRESETS: Mapping[str, tuple[Setting, ...]] = {"eq-questionnaire-runner": EQ_QUESTIONNAIRE_RUNNER}


def overlay(path: str, value: object, into: dict[str, object]) -> None:
    """Set the dotted `path` to `value` in the nested map `into`."""
    *parents, last = path.split(".")
    for parent in parents:
        child = into.setdefault(parent, {})
        if not isinstance(child, dict):
            child = into[parent] = {}
        into = child
    into[last] = value
