"""Running helm: the command lines, its folders, its time limit, and what becomes of it when the pod is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from loadtest.adapters.helm_job import redaction
from loadtest.adapters.helm_job.errors import JobError, Reason
from loadtest.adapters.helm_job.request import NamedChart

_GRACE_SECONDS = 30
"""Helm's own limit comes first; this is for a helm that hangs beyond it."""


@dataclass(frozen=True)
class Target:
    """The release that helm works on."""

    release: str
    namespace: str
    timeout_seconds: int

    def upgrade(self, chart: Path, values: Path, description: str) -> list[str]:
        """Brings these values live with this chart.

        `--history-max 0` keeps all revisions: helm's default of ten would drop the original after a few variants, and
        with it the way back by rollback. There is no `--wait`: it holds the Job for nothing, because the operator
        judges the rollout by itself and more strictly. `--reset-values` makes the file all there is: what the live
        release was given before does not linger.
        """
        return [*self._upgrade(chart, values), "--description", description]

    def render(self, chart: Path, values: Path) -> list[str]:
        """Renders and checks an upgrade without doing it; prints the release as JSON."""
        return [*self._upgrade(chart, values), "--dry-run=server", "--output", "json"]

    def _upgrade(self, chart: Path, values: Path) -> list[str]:
        flags = ["--reset-values", "--values", str(values), "--history-max", "0"]
        return ["upgrade", self.release, str(chart), *self._common(), *flags]

    def rollback(self, revision: int) -> list[str]:
        """Brings a stored revision live again as it was rendered then; also gets a release out of `pending-*`."""
        return ["rollback", self.release, str(revision), *self._common(), "--history-max", "0"]

    def _common(self) -> list[str]:
        return ["--namespace", self.namespace, "--timeout", f"{self.timeout_seconds}s"]


def pull(chart: NamedChart, folder: Path) -> list[str]:
    """Fetches a named chart as an archive into `folder`."""
    version = ["--version", chart.version, "--destination", str(folder)]
    if chart.repo.startswith("oci://"):
        return ["pull", f"{chart.repo.rstrip('/')}/{chart.name}", *version]
    return ["pull", chart.name, "--repo", chart.repo, *version]


class Helm:
    """The helm program.

    Args:
        environment: of this process.
        scratch: a writable folder; helm's caches go there, so that the rest may be read-only.
        values: scalars that no message may show.
        keep: words that may be shown nevertheless.
    """

    def __init__(
        self, environment: Mapping[str, str], scratch: Path, values: Iterable[str], keep: Iterable[str] = ()
    ) -> None:
        # Settings of helm itself (HELM_NAMESPACE, HELM_DRIVER, ...) must not leak in from wherever this runs.
        own = {name: value for name, value in environment.items() if not name.startswith("HELM_")}
        homes = {f"HELM_{kind}_HOME": str(scratch / "helm" / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        self._environment = {**own, **homes, "HOME": str(scratch)}
        self._values = tuple(values)
        self._keep = tuple(keep)

    def run(self, arguments: list[str], timeout_seconds: int) -> str:
        """Runs helm to its end and returns its standard output.

        Raises:
            JobError: helm failed, or did not end within its time limit; the message holds no values.
        """
        operation = arguments[0]
        process = subprocess.Popen(  # noqa: S603  an argument list, names checked when the request was read
            ["helm", *arguments],  # noqa: S607  the image has one helm, on the PATH
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with _Stopping(process, ask=operation == "upgrade"):
            try:
                output, errors = process.communicate(timeout=timeout_seconds + _GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise JobError(
                    Reason.HELM_FAILED, f"helm {operation} did not end within {timeout_seconds} s and was killed"
                ) from None
        if process.returncode:
            message = redaction.redact(errors, self._values, self._keep)
            raise JobError(Reason.HELM_FAILED, f"helm {operation} failed: {message or 'no message'}")
        return output

    def run_json(self, arguments: list[str], timeout_seconds: int) -> Any:
        """Runs helm and parses its output.

        Raises:
            JobError: helm failed, or did not print JSON.
        """
        try:
            return json.loads(self.run(arguments, timeout_seconds))
        except ValueError:
            raise JobError(Reason.HELM_FAILED, f"helm {arguments[0]} did not print JSON") from None


class _Stopping:
    """What SIGTERM does while helm runs.

    A pod is stopped with SIGTERM, then SIGKILL after a grace time. `helm upgrade` handles SIGTERM: it marks its
    revision failed and ends, so it is passed on. `helm rollback` would just die and leave the revision pending, so it
    is left to finish; mostly it does within the grace time. Either way what is left behind is found by the next Job.
    """

    def __init__(self, process: subprocess.Popen[str], *, ask: bool) -> None:
        self._process = process
        self._ask = ask

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, self._on_signal)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._ask and self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
