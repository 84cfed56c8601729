"""Our injector as it is shipped: a master and a worker process, ordered through the control port."""

import hashlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
_PROGRAM = [PYTHON, "-m", "loadtest_injector"]
_ENDED = {"complete", "invalid", "stopped"}


@dataclass(frozen=True)
class Injector:
    """A master that waits for orders, and its workers."""

    control: str
    bind_port: int
    master_pid: int
    worker_pid: int = 0

    def run(
        self,
        stage: int,
        *,
        users: int,
        seconds: float,
        spawn_rate: float,
        warm_up: float,
        workers: Sequence[str] = (WORKER,),
        watch: Callable[[str], None] = lambda _state: None,
    ) -> dict[str, Any]:
        """Run one stage to its end; its record. A stage that was saturated has a record too: see `problems`.

        `watch` is told the state five times a second.
        """
        order = {
            "injectors": len(workers),
            "users": users,
            "spawnRate": spawn_rate,
            "expectedWorkers": list(workers),
            "durationSeconds": seconds,
            "warmUpSeconds": warm_up,
            "joinTimeoutSeconds": 30,
            "requestTimeoutSeconds": 20,
        }
        path = f"/v1/stages/1/{stage}/1"
        self._call("PUT", path, order)
        end = time.monotonic() + users / spawn_rate + warm_up + seconds + 60
        while (state := self._call("GET", path)["state"]) not in _ENDED:
            watch(state)
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

    def workers(self) -> int:
        """How many workers have joined; -1 where the master does not answer."""
        try:
            return sum(bool(worker["name"]) for worker in self._call("GET", "/v1/status")["workers"])
        except OSError:
            return -1


def write_scenario(
    folder: Path,
    requests: Any,
    host: str,
    *,
    waits: tuple[int, int] = (0, 0),
    ca: Path | None = None,
    launch_keys: Path | None = None,
) -> Path:
    """The scenario file of a replay, beside its requests file; its path."""
    (folder / "requests.json").write_text(json.dumps(requests))
    scenario = {
        "kind": "requests",
        "requests": str(folder / "requests.json"),
        "host": host,
        "headers": {},
        "sendSecureCookiesOverHttp": False,
        "ca": str(ca) if ca else None,
        "waitTime": {"minSeconds": waits[0], "maxSeconds": waits[1]},
        "requestTimeoutSeconds": 20,
        "launch": {"keys": str(launch_keys), "claims": {}} if launch_keys else None,
    }
    (folder / "scenario.json").write_text(json.dumps(scenario))
    return folder / "scenario.json"


def pages(case: Case) -> dict[str, Any]:
    """The requests file of a case."""
    page: dict[str, Any] = {"method": "GET", "url": case.path}
    form: dict[str, Any] = {"method": "POST", "url": case.path, "data": FORM}
    return {"requests": ([page, form] if case.pair else [page]) * PAIRS_PER_JOURNEY}


@contextmanager
def mastering(folder: Path, *, deadline: float) -> Iterator[Injector]:
    """A master beside the server, without workers; all load ends after `deadline` seconds."""
    control, bind = free_ports(2)
    settings = environment(
        **_common(deadline),
        LOADTEST_TOKEN_SHA256=hashlib.sha256(_TOKEN.encode()).hexdigest(),
        LOADTEST_CONTROL_PORT=str(control),
        LOADTEST_BIND_PORT=str(bind),
        LOADTEST_BIND_HOST="127.0.0.1",
    )
    with running(SERVER_CORE, [*_PROGRAM, "master"], folder / "master.log", settings) as pid:
        injector = Injector(f"http://127.0.0.1:{control}", bind, pid)
        try:
            wait_until(lambda: injector.workers() >= 0, 30, "the master answers")
            yield injector
        except BenchError as error:
            logs = "\n".join(log.read_text()[-1500:] for log in sorted(folder.glob("*.log")))
            raise BenchError(f"{error}\n{logs}") from error


@contextmanager
def injecting(folder: Path, scenario: Path, *, deadline: float) -> Iterator[Injector]:
    """A master, and a worker on the core of the load."""
    with mastering(folder, deadline=deadline) as master:
        settings = environment(
            **_common(deadline),
            LOADTEST_SCENARIO=str(scenario),
            LOADTEST_MASTER_HOST="127.0.0.1",
            LOADTEST_MASTER_PORT=str(master.bind_port),
            LOADTEST_WORKER_NAME=WORKER,
            LOADTEST_CPU_LIMIT_MILLIS="1000",
        )
        with running(LOAD_CORE, [*_PROGRAM, "worker"], folder / "worker.log", settings) as pid:
            wait_until(lambda: master.workers() == 1, 30, "the worker joins its master")
            yield replace(master, worker_pid=pid)


@contextmanager
def loading(
    site: Site, case: Case, folder: Path, *, deadline: float, waits: tuple[int, int] = (0, 0)
) -> Iterator[Injector]:
    """An injector that puts the load of a case on the site."""
    folder.mkdir()
    ca = site.ca if case.tls else None
    scenario = write_scenario(folder, pages(case), site.url(tls=case.tls), waits=waits, ca=ca)
    with injecting(folder, scenario, deadline=deadline) as injector:
        yield injector


def _common(deadline: float) -> dict[str, str]:
    return {"LOADTEST_RUN": RUN, "LOADTEST_REPEAT": "1", "LOADTEST_LOAD_DEADLINE_SECONDS": str(int(deadline))}


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
