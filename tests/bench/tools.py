"""The four tools: each loads the server from one core for a while, and its count is compared with the server's."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cases import CEILING, CONNECTIONS, Case
from tests.bench.injector import failures_of, label, loading, problems_of, requests_of
from tests.bench.programs import LOAD_CORE, PYTHON, BenchError, environment, output_of
from tests.bench.site import COOKIE, TOKEN, Site

HERE = Path(__file__).parent
_MORE_SECONDS = 60.0
"""How much longer than its load a tool may take to start and to end."""

_EXPECTED = {200, 302}
_CUT_OFF = 499  # nginx: the client closed before the answer


@dataclass(frozen=True)
class Counted:
    """What a tool says: requests of its window, how long that was, and all requests that it knows of."""

    requests: int
    micros: float
    failures: int
    total: int

    @property
    def rate(self) -> float:
        """Requests per second of the window."""
        return self.requests / self.micros * 1e6


def measure(tool: str, site: Site, case: Case, seconds: float, folder: Path, programs: dict[str, Path]) -> Counted:
    """One measurement of one tool; BenchError where a request failed or its count is not the server's."""
    site.forget()
    if tool == "ours":
        return _ours(site, case, seconds, folder)
    if tool == "fasthttpuser":
        command = [PYTHON, str(HERE / "fasthttp_user.py"), site.url(tls=case.tls), case.path, str(int(case.pair))]
        counted = _printed([*command, str(CONNECTIONS), str(seconds)], seconds, environment())
    elif tool == "k6":
        command = [str(programs["k6"]), "run", "--quiet", "--no-usage-report", "--address", "", str(HERE / "k6.js")]
        counted = _printed(command, seconds, _k6_environment(site, case, seconds))
    else:
        script = "pair_ceiling.lua" if tool == CEILING else "pair.lua" if case.pair else "page.lua"
        command = [str(programs["wrk"]), "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "--timeout", "20s"]
        command += ["-s", str(HERE / script), site.url(tls=case.tls) + case.path, "--", COOKIE, TOKEN]
        counted = _printed(command, seconds, None)
    # wrk stops in the middle: each connection can have one answer more than wrk counted.
    check(counted, site.answers(), unfinished=CONNECTIONS if tool in {"wrk", CEILING} else 0)
    return counted


def check(counted: Counted, answers: Counter[tuple[int, str, str]], *, unfinished: int) -> None:
    """BenchError where a request failed, or the server's count is not the tool's (or up to `unfinished` above it)."""
    if counted.failures:
        raise BenchError(f"{counted.failures} of {counted.total} requests failed")
    allowed = _EXPECTED | ({_CUT_OFF} if unfinished else set())
    if wrong := {status for status, _, _ in answers} - allowed:
        raise BenchError(f"the server answered {sorted(wrong)}")
    served = sum(answers.values())
    if not 0 <= served - counted.total <= unfinished:
        raise BenchError(f"the tool counted {counted.total} requests, the server {served}")


def _printed(command: list[str], seconds: float, env: dict[str, str] | None) -> Counted:
    """What a tool prints as its last line."""
    lines = output_of(LOAD_CORE, command, seconds + _MORE_SECONDS, env).strip().splitlines()
    said = json.loads(lines[-1])
    return Counted(said["requests"], said["micros"], said["failures"], said.get("total", said["requests"]))


def _k6_environment(site: Site, case: Case, seconds: float) -> dict[str, str]:
    return {
        **os.environ,
        "URL": site.url(tls=case.tls) + case.path,
        "PAIR": str(int(case.pair)),
        "USERS": str(CONNECTIONS),
        "SECONDS": f"{seconds:g}",
        "SSL_CERT_FILE": str(site.ca),
    }


def _ours(site: Site, case: Case, seconds: float, folder: Path) -> Counted:
    with loading(site, case, folder, deadline=seconds + _MORE_SECONDS) as injector:
        record = injector.run(0, users=CONNECTIONS, seconds=seconds, spawn_rate=CONNECTIONS, warm_up=1)
    # One core that is busy all the time is what is measured here; anything else is a fault.
    if problems := set(problems_of(record)) - {"WorkerSaturated", "WorkerLate"}:
        raise BenchError(f"our stage is invalid: {', '.join(sorted(problems))}")
    requests = requests_of(record)
    counted = Counted(requests, record["window"]["durationMicros"], failures_of(record), requests)
    answers = site.answers()
    window = Counter({key: count for key, count in answers.items() if key[2] == label(0)})
    check(counted, window, unfinished=0)
    return counted
