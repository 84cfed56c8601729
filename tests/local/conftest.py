"""`loadtest run --local` as a process of its own, and what is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = 300
"""Longest wait for anything: a machine that is busy with other tests is slow, and not broken."""

LOADTEST: dict[str, Any] = {
    "apiVersion": "loadtest.eqrunner.dev/v1alpha1",
    "kind": "LoadTest",
    "metadata": {"name": "small"},
    "spec": {
        "target": {
            "url": "http://runner.runner.svc:80",
            "release": {
                "name": "runner",
                "namespace": "runner",
                "settle": "0s",
                "rolloutTimeout": "2m",
                "settings": [{"name": "threads", "paths": ["server.threads"], "env": "THREADS"}],
            },
        },
        "variants": [{"name": "three", "settings": {"threads": "3"}}, {"name": "two", "settings": {"threads": "2"}}],
        "load": {
            "stages": [{"injectors": 1, "duration": "2s"}],
            "usersPerInjector": 4,
            "spawnRatePerInjector": 4,
            "waitTime": {"min": "0s", "max": "1s"},
            "warmUp": "0s",
            "requestTimeout": "10s",
            "maxStageReruns": 5,  # a machine that is busy with other tests may delay an injector
        },
        "scenario": {"requests": {"configMap": {"name": "journey", "key": "requests.json"}}},
    },
}
JOURNEY = {
    "kind": "ConfigMap",
    "metadata": {"name": "journey"},
    "data": {"requests.json": '{"requests": [{"method": "GET", "url": "/"}]}'},
}


OWN_TARGET = f"{sys.executable} {HERE / 'target.py'} $PORT"


class Run:
    """One run of the command, with `tests/local/target.py` as the target where `command` is not another."""

    def __init__(
        self,
        folder: Path,
        change: Callable[[dict[str, Any]], None] | None = None,
        journey: dict[str, Any] | None = None,
        command: str | None = OWN_TARGET,
    ) -> None:
        self.folder = folder
        loadtest = yaml.safe_load(yaml.safe_dump(LOADTEST))
        if change:
            change(loadtest)
        requests = JOURNEY | ({"data": {"requests.json": json.dumps(journey)}} if journey else {})
        (folder / "loadtest.yaml").write_text(yaml.safe_dump_all([requests, loadtest]))
        self._screen = folder / "screen"
        arguments = ["--local", str(folder / "loadtest.yaml"), "--results", str(folder)]
        arguments += ["--command", command] if command else []
        with self._screen.open("wb") as screen:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "loadtest", "run", *arguments],
                stdout=screen,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'operator'}:{ROOT / 'operator' / 'injector'}", "RUN": "x"},
            )

    @property
    def screen(self) -> str:
        return self._screen.read_text()

    @property
    def results(self) -> Path:
        """The folder of the run."""
        (found,) = (self.folder / "small").iterdir()
        return found

    def loadtest(self) -> dict[str, Any]:
        return yaml.safe_load((self.results / "loadtest.yaml").read_text())  # type: ignore[no-any-return]

    def wait_for(self, text: str) -> None:
        """Until the screen shows `text`."""
        end = time.monotonic() + SECONDS
        while text not in self.screen:
            assert time.monotonic() < end, self.screen
            assert self.process.poll() is None, self.screen
            time.sleep(0.02)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait(SECONDS)

    def processes(self) -> list[psutil.Process]:
        """Everything that the run started: it has the folder in its arguments, environment or working directory."""
        return [process for process in psutil.process_iter() if process.pid != os.getpid() and self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            seen = [*process.cmdline(), *process.environ().values(), process.cwd()]
            return any(str(self.folder) in text for text in seen)
        return False

    def assert_nothing_is_left(self) -> None:
        end = time.monotonic() + SECONDS
        while left := self.processes():
            assert time.monotonic() < end, [process.cmdline() for process in left]
            time.sleep(0.05)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Start a run; whatever a failed test leaves is ended."""
    runs: list[Run] = []

    def begin(*arguments: Any, **options: Any) -> Run:
        runs.append(Run(tmp_path, *arguments, **options))
        return runs[-1]

    yield begin
    for run in runs:
        for process in run.processes():
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        run.process.wait()
