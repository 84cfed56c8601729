"""Real master and worker processes on loopback, against the small target beside this file."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

HERE = Path(__file__).parent
INJECTOR = HERE.parents[1] / "operator" / "injector"
RUN = "0123456789abcdef"
REPEAT = 3
TOKEN = "a token of the test"  # noqa: S105
ENDED = {"complete", "invalid", "stopped"}
JOURNEY = {
    "schema_name": "test_small",
    "requests": [
        {"method": "GET", "url": "/start/"},
        {"method": "POST", "url": "/start/", "data": {"a": "b c"}, "redirect_route": "/household/{person}/name/"},
        {"method": "GET", "url": "/household/{person}/name/"},
        {"method": "POST", "url": "/household/{person}/name/", "data": {"first-name": "Zoë"}},
        {"method": "GET", "url": "/relationships/", "redirect_route": "/relationships/{pair}/to/?other={other}"},
        {"method": "GET", "url": "/thank-you/"},
    ],
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Rig:
    """One target, one master and its workers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.target_port, self.control_port, self.bind_port = free_port(), free_port(), free_port()
        self.common = {
            **os.environ,
            "PYTHONPATH": str(INJECTOR),
            "LOADTEST_RUN": RUN,
            "LOADTEST_REPEAT": str(REPEAT),
            "LOADTEST_SCENARIO": str(directory / "scenario.json"),
            "LOADTEST_LOAD_DEADLINE_SECONDS": "300",
        }

    def start(self, *arguments: str, name: str, **environ: str) -> subprocess.Popen[bytes]:
        with (self.directory / f"{name}.log").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *arguments], env=self.common | environ, stdout=output, stderr=subprocess.STDOUT
            )
        self.processes.append(process)
        return process

    def start_target(self) -> None:
        self.start(str(HERE / "target.py"), str(self.target_port), name="target")

    def start_master(self, **environ: str) -> subprocess.Popen[bytes]:
        return self.start(
            "-m",
            "loadtest_injector",
            "master",
            name="master",
            LOADTEST_TOKEN_SHA256=hashlib.sha256(TOKEN.encode()).hexdigest(),
            LOADTEST_CONTROL_PORT=str(self.control_port),
            LOADTEST_BIND_PORT=str(self.bind_port),
            LOADTEST_BIND_HOST="127.0.0.1",
            **environ,
        )

    def start_worker(self, name: str, **environ: str) -> subprocess.Popen[bytes]:
        worker = self.start(
            "-m",
            "loadtest_injector",
            "worker",
            name=name,
            LOADTEST_MASTER_HOST="127.0.0.1",
            LOADTEST_MASTER_PORT=str(self.bind_port),
            LOADTEST_WORKER_NAME=name,
            **environ,
        )
        self.workers[name] = worker
        return worker

    def write_scenario(self, **changes: Any) -> None:
        (self.directory / "requests.json").write_text(json.dumps(JOURNEY))
        scenario = {
            "kind": "requests",
            "requests": str(self.directory / "requests.json"),
            "host": f"http://127.0.0.1:{self.target_port}",
            "headers": {"X-Extra": "1"},
            "sendSecureCookiesOverHttp": False,
            "ca": None,
            "waitTime": {"minSeconds": 0, "maxSeconds": 0},
            "requestTimeoutSeconds": 60,
            "launch": {"keys": str(self.directory), "claims": {}},
        }
        (self.directory / "scenario.json").write_text(json.dumps(scenario | changes))

    def write_locustfile(self, text: str, **beside: str) -> None:
        """A scenario that is this locustfile, with files beside it by their names without `.py`."""
        for name, content in {**beside, "locustfile": text}.items():
            (self.directory / f"{name}.py").write_text(content)
        self.write_scenario(kind="locustfile", locustfile=str(self.directory / "locustfile.py"))

    def request(
        self, method: str, path: str, body: Any = None, *, token: str = TOKEN, port: int | None = None
    ) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port or self.control_port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def mode(self, **mode: Any) -> None:
        self.request("POST", "/__mode", mode, port=self.target_port)

    def target_log(self, stage: int, attempt: int = 1, segment: str = "window") -> dict[tuple[str, str, int], int]:
        label = f"{RUN}/{REPEAT}/{stage}/{attempt}/{segment}"
        _, log = self.request("GET", "/__log", port=self.target_port)
        return {(method, path, status): count for window, method, path, status, count in log if window == label}

    def order(self, **changes: Any) -> dict[str, Any]:
        return {
            "injectors": 2,
            "users": 6,
            "spawnRate": 100,
            "expectedWorkers": sorted(self.workers),
            "durationSeconds": 1.5,
            "warmUpSeconds": 0,
            "joinTimeoutSeconds": 20,
            "requestTimeoutSeconds": 5,
            "context": {"variant": "a"},
        } | changes

    def put(self, stage: int, attempt: int = 1, **changes: Any) -> tuple[int, Any]:
        return self.request("PUT", f"/v1/stages/{REPEAT}/{stage}/{attempt}", self.order(**changes))

    def progress(self, stage: int, attempt: int = 1) -> dict[str, Any]:
        return self.request("GET", f"/v1/stages/{REPEAT}/{stage}/{attempt}")[1]  # type: ignore[no-any-return]

    def wait_for(self, stage: int, states: set[str], attempt: int = 1, seconds: float = 30) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while (progress := self.progress(stage, attempt))["state"] not in states:
            assert time.monotonic() < end, progress
            time.sleep(0.05)
        return progress

    def run(self, stage: int, attempt: int = 1, **changes: Any) -> dict[str, Any]:
        """Run a stage to its end; its record."""
        status, answer = self.put(stage, attempt, **changes)
        assert status == 200, answer
        self.wait_for(stage, ENDED, attempt)
        return self.request("GET", f"/v1/stages/{REPEAT}/{stage}/{attempt}/record")[1]  # type: ignore[no-any-return]

    def wait_until_served(self) -> None:
        end = time.monotonic() + 20
        while True:
            try:
                self.request("GET", "/healthz")
                self.request("GET", "/__log", port=self.target_port)
            except OSError:
                assert time.monotonic() < end, (self.directory / "master.log").read_text()
                time.sleep(0.05)
            else:
                return

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


def write_keys(directory: Path) -> None:
    signing, encryption = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    (directory / "signing.pem").write_bytes(
        signing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    (directory / "encryption.pem").write_bytes(
        encryption.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )
