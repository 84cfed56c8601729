"""Starts and ends the processes of the tests, and reads what they count and log."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import redis

SAMPLE = Path(__file__).parents[2] / "samples" / "runner"
JOURNEYS = SAMPLE / "journeys"
START_SECONDS = 60
STOP_SECONDS = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, f"it ended with {process.returncode}: {log.read_text()}"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            assert time.monotonic() < deadline, f"nothing listens on {port}: {log.read_text()}"
            time.sleep(0.05)


def end(process: subprocess.Popen[bytes]) -> int:
    """End a process that a test started; its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Served:
    """A running Runner."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path, errors: Path) -> None:
        self.process, self.port, self._log, self._errors = process, port, log, errors

    def commands(self) -> list[str]:
        """The command lines of the server and all its children, as the process list shows them."""
        return [
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            for pid in (self.process.pid, *self.workers())
        ]

    def workers(self) -> list[int]:
        """The processes that the server forked."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def errors(self) -> str:
        return self._errors.read_text()

    def lines(self, expected: int | None = None) -> list[dict[str, Any]]:
        """The access log of what carried a window; a line may come a moment after its response."""
        deadline = time.monotonic() + 5
        while True:
            text = self._log.read_text()
            lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
            lines = [line for line in lines if line["window"]]
            if expected is None or len(lines) >= expected or time.monotonic() > deadline:
                return lines
            time.sleep(0.05)

    def log(self) -> str:
        return self._log.read_text()


class Stack:
    """The backends, and Runners on top of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keys = folder, folder / "keys"
        self.redis_port, self.http_port, self.grpc_port = free_port(), free_port(), free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "PYTHONPATH": str(SAMPLE),
            "EQ_KEYS_DIR": str(self.keys),
            "EQ_REDIS_HOST": "127.0.0.1",
            "EQ_REDIS_PORT": str(self.redis_port),
            "DATASTORE_HTTP_ADDRESS": f"127.0.0.1:{self.http_port}",
            "DATASTORE_GRPC_ADDRESS": f"127.0.0.1:{self.grpc_port}",
            "DATASTORE_EMULATOR_BIND": "127.0.0.1",
            "DATASTORE_EMULATOR_HTTP_PORT": str(self.http_port),
            "DATASTORE_EMULATOR_GRPC_PORT": str(self.grpc_port),
            "HTTP_KEEP_ALIVE": "650",
        }

    def start(self) -> None:
        """Start the backends and make keys."""
        server = shutil.which("redis-server")
        assert server, "these tests need redis-server: install Debian's package redis-server"
        python = [sys.executable, "-m"]
        subprocess.run([*python, "sample_runner.keys", str(self.keys)], env=self._environment, check=True)
        ports = ["--bind", "127.0.0.1", "--port", str(self.redis_port)]
        databases = self._start("redis", [server, *ports, "--save", "", "--appendonly", "no"])
        emulator = self._start("datastore", [*python, "sample_runner.datastore_emulator"])
        wait_for_port(self.redis_port, databases, self.folder / "redis.err")
        wait_for_port(self.http_port, emulator, self.folder / "datastore.err")
        wait_for_port(self.grpc_port, emulator, self.folder / "datastore.err")

    def close(self) -> None:
        """End what was started."""
        for process in reversed(self._processes):
            end(process)

    @contextmanager
    def serve(self, kind: str, backend: str, grpc: str, **environment: str) -> Iterator[Served]:
        """Run the Runner under a web server with two workers of three threads."""
        port = free_port()
        name = f"{kind}-{backend}-{grpc}-{port}"
        settings = {
            "WEB_SERVER_TYPE": kind,
            "WEB_SERVER_WORKERS": "2",
            "WEB_SERVER_THREADS": "3",
            "WEB_SERVER_UWSGI_ASYNC_CORES": "20",
            "EQ_SESSION_BACKEND": backend,
            "DATASTORE_USE_GRPC": grpc,
            "RUNNER_BIND": f"127.0.0.1:{port}",
        }
        process = self._start(name, [sys.executable, "-m", "sample_runner"], **settings, **environment)
        log, errors = self.folder / f"{name}.out", self.folder / f"{name}.err"
        try:
            wait_for_port(port, process, errors)  # uwsgi listens before it has workers
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=START_SECONDS) as response:
                assert response.status == HTTPStatus.OK
            yield Served(process, port, log, errors)
        finally:
            end(process)

    def calls(self) -> dict[str, Counter[str]]:
        """How often each call came to the emulator, by transport."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/requests", timeout=10) as response:
            counters = json.load(response)["requests"]
        return {transport: Counter(counted) for transport, counted in counters.items()}

    def redis_keys(self, pattern: str) -> int:
        """How many keys Redis has of a pattern."""
        with redis.Redis(port=self.redis_port) as client:
            return len(list(client.scan_iter(pattern)))

    def _start(self, name: str, argv: list[str], **environment: str) -> subprocess.Popen[bytes]:
        output, errors = self.folder / f"{name}.out", self.folder / f"{name}.err"
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                argv, stdout=out, stderr=err, env=self._environment | environment, cwd=self.folder
            )
        self._processes.append(process)
        return process
