"""Queries of a real Prometheus, and what HTTP sources are asked with."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from loadtest_injector.measure import prometheus
from loadtest_injector.measure.https import get_json
from loadtest_injector.measure.series import Missed, Series
from loadtest_injector.measure.sources import PrometheusSource
from loadtest_injector.measure.window import Window
from tests.injector.redis_server import secret
from tests.injector.rig import free_port

SECONDS = 4
CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
- job_name: itself
  static_configs: [{targets: ["127.0.0.1:PORT"]}]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Window]]:
    """A Prometheus that scrapes itself, and a window that it has seen from before its start to after its end."""
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    (folder / "prometheus.yml").write_text(CONFIG.replace("PORT", str(port)))
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(lambda: _instant(url, "up"), folder / "log")
        window = _window()
        _wait(lambda: _instant(url, f"timestamp(up) > {window.ended_at}"), folder / "log")
        yield url, window
    finally:
        process.kill()
        process.wait()


def _window() -> Window:
    now = time.monotonic_ns()
    return Window(now, now + SECONDS * 10**9, time.time())


def _instant(url: str, query: str) -> Any:
    try:
        return get_json(f"{url}/api/v1/query?query={query.replace(' ', '%20')}")["data"]["result"]
    except Missed:
        return None


def _wait(true: Any, log: Path) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def asked(server: tuple[str, Window], query: str, secrets: Path = Path("/nowhere"), **more: Any) -> Series:
    url, window = server
    given = {"step_seconds": 1, "delay_seconds": 0, "token": False, "ca": False} | more
    source = PrometheusSource("q", url, query, **given)
    series = Series("q", "prometheus", prometheus.FIELDS, prometheus.expected(source, window))
    prometheus.collect(source, secrets, series, window)
    return series


def problems(series: Series) -> list[str]:
    return [reason for reason, _ in series.problems]


def test_a_query_is_answered_at_the_windows_start_and_each_step(server: tuple[str, Window]) -> None:
    series = asked(server, "sum(up) + 0.5")
    assert series.expected == 5
    assert [value for _, value in series.points] == [1500] * 5
    assert [at for at, _ in series.points] == pytest.approx([0, 1e6, 2e6, 3e6, 4e6], abs=2_000)
    assert problems(series) == []


@pytest.mark.parametrize("query", ['sum(up{job="nothing"} > 0)', "vector(0) / 0", "vector(1) / 0"])
def test_nothing_nan_and_infinities_are_no_points(server: tuple[str, Window], query: str) -> None:
    series = asked(server, query)
    assert (series.points, problems(series)) == ([], [])


@pytest.mark.parametrize(
    ("query", "says"), [("up or vector(2)", "2 series"), ("sum(", "parse error"), ("up[1m]", "range vector")]
)
def test_a_query_that_gives_no_one_series_says_why(server: tuple[str, Window], query: str, says: str) -> None:
    series = asked(server, query)
    ((reason, message),) = series.problems
    assert (series.points, reason) == ([], "BadAnswer")
    assert says in message


def test_a_server_that_is_down_is_tried_for_a_while(server: tuple[str, Window], monkeypatch: Any) -> None:
    monkeypatch.setattr(prometheus, "_TRIES_SECONDS", (0, 0.01, 0.01))
    series = asked((f"http://127.0.0.1:{free_port()}", server[1]), "up")
    assert problems(series) == ["SourceUnavailable"]
    assert sum(series.problems.values()) == 3


def test_a_metadata_service_is_never_asked(server: tuple[str, Window]) -> None:
    for host in ("169.254.169.254", "[::ffff:a9fe:a9fe]"):
        assert problems(asked((f"http://{host}/computeMetadata", server[1]), "up")) == ["Forbidden"]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self._say(302, b"", Location="/")
        elif self.path == "/text":
            self._say(200, b"hello")
        elif self.headers["Authorization"] != "Bearer a token":
            self._say(401, b"who are you?")
        else:
            self._say(200, b'{"a": 1}')

    def _say(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_token_is_sent_and_a_wrong_one_is_told_apart(guarded: str) -> None:
    assert get_json(f"{guarded}/", token="a token") == {"a": 1}  # noqa: S106
    for token in (None, "another"):
        with pytest.raises(Missed, match="who are you") as missed:
            get_json(f"{guarded}/", token=token)
        assert missed.value.reason == "Unauthorized"


@pytest.mark.parametrize(("path", "reason"), [("/elsewhere", "BadAnswer"), ("/text", "BadAnswer")])
def test_redirects_are_not_followed_and_text_is_no_answer(guarded: str, path: str, reason: str) -> None:
    with pytest.raises(Missed) as missed:
        get_json(guarded + path, token="a token")  # noqa: S106
    assert missed.value.reason == reason


def test_the_token_is_read_from_its_file(server: tuple[str, Window], tmp_path: Path) -> None:
    assert problems(asked(server, "up", tmp_path, token=True)) == ["SecretMissing"]
    folder = secret(tmp_path, "q", "token", "anything\n") / "q"
    assert len(asked(server, "sum(up)", folder, token=True).points) == 5
