"""Our injector as it is shipped: a master and a worker process, ordered through the control port."""

import hashlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.cases import FORM, Case
from tests.bench.programs import LOAD_CORE, PYTHON, SERVER_CORE, BenchError, environment, running, wait_until
from tests.bench.site import Site, free_ports

RUN = "0123456789abcdef"
WORKER = "bench"
PAIRS_PER_JOURNEY = 100
"""The requests file of the sample journey has 233 requests."""

_TOKEN = "bench"  # noqa: S105 - opens nothing but the bench's own master
_ENDED = {"complete", "invalid", "stopped"}


@dataclass(frozen=True)
class Injector:
    """A master and one worker that wait for orders."""

    control: str
    worker_pid: int

    def run(self, stage: int, *, users: int, seconds: float, spawn_rate: float, warm_up: float) -> dict[str, Any]:
        """Run one stage to its end; its record. A stage that was saturated has a record too: see `problems`."""
        order = {
            "injectors": 1,
            "users": users,
            "spawnRate": spawn_rate,
            "expectedWorkers": [WORKER],
            "durationSeconds": seconds,
            "warmUpSeconds": warm_up,
            "joinTimeoutSeconds": 30,
            "requestTimeoutSeconds": 20,
        }
        path = f"/v1/stages/1/{stage}/1"
        self._call("PUT", path, order)
        end = time.monotonic() + users / spawn_rate + warm_up + seconds + 60
        while self._call("GET", path)["state"] not in _ENDED:
            if time.monotonic() > end:
                raise BenchError("the stage did not end")
            time.sleep(0.2)
        return self._call("GET", f"{path}/record")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - our own loopback port
            self.control + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {_TOKEN}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - as above
                return json.loads(answer.read())  # type: ignore[no-any-return]
        except urllib.error.HTTPError as error:
            with error:
                raise BenchError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def serves(self) -> bool:
        """Whether the master answers and its worker has joined."""
        try:
            return any(worker["name"] == WORKER for worker in self._call("GET", "/v1/status")["workers"])
        except OSError:
            return False


@contextmanager
def injecting(
    site: Site, case: Case, folder: Path, *, deadline: float, waits: tuple[int, int] = (0, 0)
) -> Iterator[Injector]:
    """A master beside the server and a worker on the core of the load; all load ends after `deadline` seconds."""
    folder.mkdir()
    (folder / "requests.json").write_text(json.dumps({"requests": _requests(case)}))
    scenario = {
        "kind": "requests",
        "requests": str(folder / "requests.json"),
        "host": site.url(tls=case.tls),
        "headers": {},
        "sendSecureCookiesOverHttp": False,
        "ca": str(site.ca) if case.tls else None,
        "waitTime": {"minSeconds": waits[0], "maxSeconds": waits[1]},
        "requestTimeoutSeconds": 20,
        "launch": None,
    }
    (folder / "scenario.json").write_text(json.dumps(scenario))
    control, bind = free_ports(2)
    common = {
        "LOADTEST_RUN": RUN,
        "LOADTEST_REPEAT": "1",
        "LOADTEST_SCENARIO": str(folder / "scenario.json"),
        "LOADTEST_LOAD_DEADLINE_SECONDS": str(int(deadline)),
    }
    master = environment(
        **common,
        LOADTEST_TOKEN_SHA256=hashlib.sha256(_TOKEN.encode()).hexdigest(),
        LOADTEST_CONTROL_PORT=str(control),
        LOADTEST_BIND_PORT=str(bind),
        LOADTEST_BIND_HOST="127.0.0.1",
    )
    worker = environment(
        **common,
        LOADTEST_MASTER_HOST="127.0.0.1",
        LOADTEST_MASTER_PORT=str(bind),
        LOADTEST_WORKER_NAME=WORKER,
        LOADTEST_CPU_LIMIT_MILLIS="1000",
    )
    program = [PYTHON, "-m", "loadtest_injector"]
    with ExitStack() as stack:
        stack.enter_context(running(SERVER_CORE, [*program, "master"], folder / "master.log", master))
        pid = stack.enter_context(running(LOAD_CORE, [*program, "worker"], folder / "worker.log", worker))
        injector = Injector(f"http://127.0.0.1:{control}", pid)
        try:
            wait_until(injector.serves, 30, "the worker joins its master")
            yield injector
        except BenchError as error:
            logs = "\n".join((folder / name).read_text()[-1500:] for name in ("master.log", "worker.log"))
            raise BenchError(f"{error}\n{logs}") from error


def label(stage: int, segment: str = "window") -> str:
    """What X-LoadTest-Window says of a request of this stage."""
    return f"{RUN}/1/{stage}/1/{segment}"


def requests_of(record: dict[str, Any]) -> int:
    """Requests of the window, from the histograms."""
    return sum(histogram["count"] for histogram in record["histograms"])


def failures_of(record: dict[str, Any]) -> int:
    """Failed requests of the window."""
    return sum(histogram["count"] for histogram in record["histograms"] if histogram["outcome"] == "failure")


def problems_of(record: dict[str, Any]) -> list[str]:
    """Reasons why the stage is invalid."""
    return [problem["reason"] for problem in record["problems"]]


def _requests(case: Case) -> list[dict[str, Any]]:
    page: dict[str, Any] = {"method": "GET", "url": case.path}
    form: dict[str, Any] = {"method": "POST", "url": case.path, "data": FORM}
    return ([page, form] if case.pair else [page]) * PAIRS_PER_JOURNEY
