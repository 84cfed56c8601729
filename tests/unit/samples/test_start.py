"""The web server that the environment asks for, and what it says of values that mean nothing."""

import pytest

from sample_runner.settings import Settings, SettingsError
from sample_runner.start import command

ENVIRONMENT = {
    "WEB_SERVER_WORKERS": "7",
    "WEB_SERVER_THREADS": "3",
    "WEB_SERVER_UWSGI_ASYNC_CORES": "9",
    "HTTP_KEEP_ALIVE": "650",
}


@pytest.mark.parametrize(
    ("kind", "present", "absent"),
    [
        (
            "gunicorn-threads",
            ["gunicorn", "--worker-class=gthread", "--workers=7", "--threads=3", "--timeout=0", "--keep-alive=650"],
            ["--gevent=9"],
        ),
        ("gunicorn-async", ["gunicorn", "--worker-class=gevent", "--workers=7", "--timeout=0"], ["--threads=3"]),
        ("uwsgi", ["uwsgi", "--processes=7", "--http-keepalive=650"], ["--threads=3", "--gevent=9"]),
        ("uwsgi-threads", ["uwsgi", "--processes=7", "--threads=3"], ["--gevent=9"]),
        ("uwsgi-async", ["uwsgi", "--processes=7", "--gevent=9"], ["--threads=3"]),
    ],
)
def test_the_settings_reach_the_web_server(kind: str, present: list[str], absent: list[str]) -> None:
    argv = command(ENVIRONMENT | {"WEB_SERVER_TYPE": kind})
    assert argv[0] == present[0]
    assert set(present) <= set(argv)
    assert set(absent).isdisjoint(argv)


@pytest.mark.parametrize("kind", ["gunicorn-async", "uwsgi-async"])
def test_gevent_patches_the_standard_library_before_the_application_is_imported(kind: str) -> None:
    assert any("sample_runner.gevent_wsgi:app" in argument for argument in command({"WEB_SERVER_TYPE": kind}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEB_SERVER_TYPE", "apache"),
        ("WEB_SERVER_WORKERS", "0"),
        ("WEB_SERVER_WORKERS", "-1"),
        ("WEB_SERVER_WORKERS", "two"),
        ("HTTP_KEEP_ALIVE", "1.5"),
    ],
)
def test_a_web_server_setting_that_means_nothing_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        command({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EQ_SESSION_BACKEND", "redis"),
        ("DATASTORE_USE_GRPC", "true"),
        ("EQ_ENABLE_SECURE_SESSION_COOKIE", "1"),
        ("EQ_REDIS_PORT", "port"),
    ],
)
def test_an_application_setting_that_means_nothing_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment({name: value})
