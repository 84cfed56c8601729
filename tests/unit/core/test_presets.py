from __future__ import annotations

import pytest

from loadtest.core.presets import PRESETS, Setting, overlay, scalar

RUNNER = {setting.name: setting for setting in PRESETS["eq-questionnaire-runner"]}


@pytest.mark.parametrize(
    ("setting", "word", "path", "value"),
    [
        ("workerClass", "gthread", "webServer.type", "gunicorn-threads"),
        ("workerClass", "gevent", "webServer.type", "gunicorn-async"),
        ("workerClass", "uwsgi-async", "webServer.type", "uwsgi-async"),
        ("workers", "7", "webServer.workers", "7"),
        ("threads", "2", "webServer.threads", "2"),
        ("uwsgiAsyncCores", "100", "webServer.uwsgiAsyncCores", "100"),
        ("datastoreTransport", "grpc", "datastore.useGRPC", "True"),
        ("datastoreTransport", "http", "datastore.useGRPC", "False"),
        ("sessionBackend", "redis", "session.backend", "ephemeral_storage"),
        ("sessionBackend", "storage", "session.backend", "storage"),
        ("replicas", "50", "autoscaler.minReplicas", 50),
        ("replicas", "50", "autoscaler.maxReplicas", 50),
        ("cpu", "3", "resources.requests.cpu", "3"),
        ("cpu", "500m", "resources.requests.cpu", "500m"),
    ],
)
def test_the_runners_chart_is_given_its_own_words_with_environment_values_as_strings(
    setting: str, word: str, path: str, value: object
) -> None:
    assert path in RUNNER[setting].paths
    found = RUNNER[setting].chart_value(word)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("2.5", 2.5),
        ("true", True),
        ("text", "text"),
        ("", ""),
        ("null", "null"),
        ("[1, 2]", "[1, 2]"),
        ("{a: 1}", "{a: 1}"),
        ("2026-01-01", "2026-01-01"),
        ("a: b: c", "a: b: c"),
        ("1.2.3", "1.2.3"),
        (".nan", ".nan"),
        ("-.inf", "-.inf"),
    ],
)
def test_a_setting_without_a_type_becomes_the_scalar_that_a_person_would_have_written(text: str, value: object) -> None:
    found = scalar(text)
    assert (found, type(found)) == (value, type(value))


def test_a_number_that_is_none_is_told_by_a_value_error() -> None:
    with pytest.raises(ValueError, match="many"):
        Setting("replicas", ("replicas",), number=True).chart_value("many")


@pytest.mark.parametrize(
    ("path", "into", "result"),
    [
        ("a", {}, {"a": 1}),
        ("a.b.c", {}, {"a": {"b": {"c": 1}}}),
        ("a.b", {"a": {"c": 2}, "d": 3}, {"a": {"b": 1, "c": 2}, "d": 3}),
        ("a.b", {"a": "text"}, {"a": {"b": 1}}),
        ("a", {"a": {"b": 2}}, {"a": 1}),
    ],
)
def test_a_path_is_laid_into_the_values_without_disturbing_its_neighbours(
    path: str, into: dict[str, object], result: dict[str, object]
) -> None:
    overlay(path, 1, into)
    assert into == result
