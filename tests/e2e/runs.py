"""LoadTests in tests: making them, waiting for what they do, and what the Runner logged meanwhile."""

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

from tests.cluster.stand import TARGET, TESTS, Stand

Json = dict[str, Any]
TERMINAL = {"Succeeded", "Failed", "Aborted"}
THREADS = {"workerClass": "gthread", "workers": 2, "threads": 2, "replicas": 1}


def spec(
    *,
    variants: list[Json] | None = None,
    stages: tuple[tuple[int, str], ...] = ((1, "5s"),),
    journey: str = "test_checkbox",
    users: int = 4,
    wait: tuple[str, str] = ("0s", "1s"),
    release: Json | None = None,
    **more: Any,
) -> Json:
    """A small LoadTest's spec: the release `runner` with `variants`, or without variants the Runner as it is."""
    target: Json = {"url": "http://runner.runner.svc:80", "sendSecureCookiesOverHttp": True}
    if variants is None:
        target |= {"selector": {"matchLabels": {"app.kubernetes.io/name": "runner"}}, "namespace": TARGET}
    else:
        preset = {"preset": "eq-questionnaire-runner", "settle": "1s"}
        target["release"] = {"name": "runner", "namespace": TARGET, **preset, **(release or {})}
        more["variants"] = variants
    return {
        "target": target,
        "load": {
            "stages": [{"injectors": injectors, "duration": duration} for injectors, duration in stages],
            "usersPerInjector": users,
            "spawnRatePerInjector": 50,
            "waitTime": {"min": wait[0], "max": wait[1]},
            "warmUp": "0s",
            "requestTimeout": "10s",
        },
        "scenario": {
            "requests": {
                "configMap": {"name": journey.replace("_", "-"), "key": f"{journey}.json"},
                "launch": {"keysSecret": {"name": "launch-keys"}},
            }
        },
        **more,
    }


class Runs:
    """The LoadTests of one test."""

    def __init__(self, stand: Stand) -> None:
        self.stand = stand
        self.names: list[str] = []

    def apply(self, name: str, body: Json) -> None:
        """Create or change a LoadTest."""
        if name not in self.names:
            self.names.append(name)
        self.stand.apply(json.dumps(manifest(name, body)))

    def try_apply(self, name: str, body: Json) -> str:
        """Apply what may be refused; what kubectl says."""
        self.names.append(name)
        return self.stand.kubectl("apply", "-f", "-", stdin=json.dumps(manifest(name, body)), check=False)

    def patch(self, name: str, change: Json, *, check: bool = True) -> str:
        """Merge-patch the spec."""
        return self.stand.kubectl(
            "patch", "loadtest", name, "-n", TESTS, "--type=merge", "-p", json.dumps({"spec": change}), check=check
        )

    def get(self, name: str) -> Json:
        """A LoadTest as it is now."""
        return self.stand.loadtest(name)

    def status(self, name: str) -> Json:
        """Its status."""
        found: Json = self.get(name).get("status") or {}
        return found

    def until(self, name: str, what: str, true: Callable[[Json], Any], seconds: float = 180) -> Json:
        """Wait until something is true of the status."""
        self.stand.wait_for(f"{name}: {what}", lambda: true(self.status(name)), seconds)
        return self.status(name)

    def until_running(self, name: str, stage: int = 0, seconds: float = 180) -> Json:
        """Wait until a stage's load is on."""
        return self.until(name, f"stage {stage} running", lambda status: running_stage(status) == stage, seconds)

    def finished(self, name: str, seconds: float = 300) -> Json:
        """Wait for the end of the run of the present spec."""

        def ended() -> bool:
            body = self.get(name)
            status = body.get("status") or {}
            return (
                status.get("phase") in TERMINAL and status.get("observedGeneration") == body["metadata"]["generation"]
            )

        self.stand.wait_for(f"the end of {name}", ended, seconds)
        return self.status(name)

    def delete_all(self) -> None:
        """Delete them; each goes only when its target is restored."""
        for name in self.names:
            self.stand.kubectl("delete", "loadtest", name, "-n", TESTS, "--ignore-not-found", "--timeout=120s")


def manifest(name: str, body: Json) -> Json:
    """A LoadTest in the tests' namespace."""
    meta = {"name": name, "namespace": TESTS}
    return {"apiVersion": "loadtest.eqrunner.dev/v1alpha1", "kind": "LoadTest", "metadata": meta, "spec": body}


def running_stage(status: Json) -> int | None:
    """Index of the stage whose attempt has been started and not collected."""
    for variant in status.get("variants") or ():
        for run in variant["runs"]:
            for stage in run["stages"]:
                if stage["valid"] == "Unknown":
                    return int(stage["index"])
    return None


def stages(status: Json) -> list[Json]:
    """All stages of all variants and repeats, with variant and position in each."""
    return [
        stage | {"variant": variant["name"], "position": run["position"]}
        for variant in status.get("variants") or ()
        for run in variant["runs"]
        for stage in run["stages"]
    ]


def condition(status: Json, type_: str) -> Json | None:
    """A condition of the status."""
    return next((found for found in status.get("conditions") or () if found["type"] == type_), None)


class RunnerLogs:
    """Follows the logs of every Runner pod from its start to its end, and counts requests by window."""

    def __init__(self, stand: Stand, namespace: str = TARGET) -> None:
        self._stand, self._namespace = stand, namespace
        self._threads: dict[str, threading.Thread] = {}
        self._lines: list[str] = []
        self._processes: list[subprocess.Popen[str]] = []
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._watcher.join(timeout=10)
        time.sleep(1)
        for process in self._processes:
            process.terminate()
        for thread in self._threads.values():
            thread.join(timeout=10)

    def _watch(self) -> None:
        while not self._stop.is_set():
            for pod in self._stand.items("pods", self._namespace, "app.kubernetes.io/name=runner"):
                name = pod["metadata"]["name"]
                started = any(c.get("state", {}).get("running") for c in pod["status"].get("containerStatuses") or ())
                if name not in self._threads and started:
                    thread = threading.Thread(target=self._follow, args=(name,), daemon=True)
                    self._threads[name] = thread
                    thread.start()
            self._stop.wait(0.5)

    def _follow(self, pod: str) -> None:
        command = ["kubectl", "logs", "-f", "-n", self._namespace, pod]
        with subprocess.Popen(command, env=self._stand.environment, stdout=subprocess.PIPE, text=True) as process:
            self._processes.append(process)
            assert process.stdout is not None
            self._lines.extend(process.stdout)

    def lines(self) -> list[Json]:
        """The access log's lines."""
        return [json.loads(line) for line in self._lines if line.startswith("{")]

    def by_window(self) -> Counter[str]:
        """Number of requests by the header X-LoadTest-Window."""
        return Counter(line.get("window") or "" for line in self.lines())
