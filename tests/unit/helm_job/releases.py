"""Releases as helm would have stored them, for the tests beside this file."""

import base64
import gzip
import json
from typing import Any

from loadtest.adapters.helm_job.release import Release, unpack
from loadtest.adapters.helm_job.request import Request

CHART: dict[str, Any] = {
    "metadata": {"apiVersion": "v2", "name": "runner", "version": "1.0.0"},
    "lock": None,
    "templates": [{"name": "templates/a.yaml", "data": base64.b64encode(b"kind: A\n").decode()}],
    "values": {"webServer": {"workers": "3"}, "nodeSelector": None},
    "schema": None,
    "files": [],
}
USER_VALUES = {"webServer": {"threads": "2"}, "password": "hunter22"}


def release(
    *,
    revision: int = 3,
    status: str = "deployed",
    description: str = "Upgrade complete",
    values: dict[str, Any] | None = None,
    manifest: str = "kind: A\n",
    chart: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
) -> Release:
    """A revision; whatever a test does not name is the usual."""
    body = {
        "name": "runner",
        "namespace": "runner",
        "version": revision,
        "info": {"status": status, "description": description},
        "chart": CHART if chart is None else chart,
        "config": USER_VALUES if values is None else values,
        "manifest": manifest,
    }
    return unpack(gzip.compress(json.dumps(body).encode()), labels or {})


def request(**changes: Any) -> Request:
    usual: dict[str, Any] = {
        "run": "0123456789abcdef",
        "owner": "performance/threads",
        "release": "runner",
        "namespace": "runner",
        "chart": None,
        "state": "ldt-0123456789abcdef-state",
        "snapshot": "ldt-0123456789abcdef-snapshot",
        "variants": {"seven": {"webServer": {"threads": "7"}}, "same": {}},
        "settings": (),
        "timeout_seconds": 300,
        "lease": "loadtest-runner",
        "holder": "performance/threads/uid-1/0123456789abcdef",
    }
    return Request(**{**usual, **changes})
