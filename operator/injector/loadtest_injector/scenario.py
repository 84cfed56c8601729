"""The scenario file of a run (JSON): what users do, and to which host.

Pure but for reading the files it names. See `Scenario` and `Locustfile` for the fields of the two kinds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loadtest_injector.requests_file import Journey, RequestsFileError, parse


class ScenarioError(ValueError):
    """The scenario file cannot be used; the message names the field."""


@dataclass(frozen=True)
class Launch:
    """How launch tokens are made: the directory with the keys, and claims that are added or replaced (null removes)."""

    keys: Path
    claims: dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """Users replay `journey` against `host`, with `headers` on every request.

    They wait a whole number of seconds from wait_min to wait_max, both included. `ca` is a file of the certificates
    that the target's is signed by (none: the public ones). Secure cookies go over plain http only where
    send_secure_cookies_over_http is set.
    """

    journey: Journey
    host: str
    wait_min: int
    wait_max: int
    request_timeout_seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    send_secure_cookies_over_http: bool = False
    ca: Path | None = None
    launch: Launch | None = None


@dataclass(frozen=True)
class Locustfile:
    """Users are those of a locustfile, `file`; what lies beside it can be imported and read.

    Its users get `host`; each of their HTTP requests gets `headers` that it does not have. `ca` as in `Scenario`.
    """

    file: Path
    host: str
    headers: dict[str, str] = field(default_factory=dict)
    send_secure_cookies_over_http: bool = False
    ca: Path | None = None


def load_scenario(path: Path) -> Scenario | Locustfile:
    """Read the scenario file, and the requests file where it names one."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ScenarioError(f"the scenario file {path} cannot be read: {error}") from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "locustfile":
        return Locustfile(
            file=Path(_text(document, "locustfile")),
            host=_host(_text(document, "host")),
            headers=_headers(document.get("headers") or {}),
            send_secure_cookies_over_http=_secure(document),
            ca=_ca(document),
        )
    if kind != "requests":
        raise ScenarioError('kind: must be "requests" or "locustfile"')
    return _requests(document)


def _requests(document: dict[str, Any]) -> Scenario:
    launch = _launch(document.get("launch"))
    requests = Path(_text(document, "requests"))
    try:
        journey = parse(requests.read_bytes(), launch=launch is not None)
    except OSError as error:
        raise ScenarioError(f"requests: the file cannot be read: {error}") from error
    except RequestsFileError as error:
        raise ScenarioError(f"requests: {error}") from error
    wait_min, wait_max = _wait(document.get("waitTime"))
    timeout = document.get("requestTimeoutSeconds", 60)
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout <= 3_600:  # noqa: PLR2004
        raise ScenarioError("requestTimeoutSeconds: must be above 0 and at most 3600")
    return Scenario(
        journey=journey,
        host=_host(_text(document, "host")),
        wait_min=wait_min,
        wait_max=wait_max,
        request_timeout_seconds=float(timeout),
        headers=_headers(document.get("headers") or {}),
        send_secure_cookies_over_http=_secure(document),
        ca=_ca(document),
        launch=launch,
    )


def _secure(document: dict[str, Any]) -> bool:
    secure = document.get("sendSecureCookiesOverHttp", False)
    if not isinstance(secure, bool):
        raise ScenarioError("sendSecureCookiesOverHttp: must be true or false")
    return secure


def _ca(document: dict[str, Any]) -> Path | None:
    return Path(_text(document, "ca")) if document.get("ca") is not None else None


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise ScenarioError(f"{key}: must be text and not empty")
    return value


def _host(url: str) -> str:
    try:
        split = urlsplit(url)
        port_is_right = split.port is None or split.port > 0
    except ValueError:
        port_is_right = False
    if not port_is_right or split.scheme not in {"http", "https"} or not split.hostname or "?" in url or "#" in url:
        raise ScenarioError("host: must be an http:// or https:// url without query and fragment")
    return url.rstrip("/")


def _headers(headers: object) -> dict[str, str]:
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise ScenarioError("headers: must be an object of texts")
    return headers


def _wait(wait: object) -> tuple[int, int]:
    if not isinstance(wait, dict):
        raise ScenarioError("waitTime: must be an object with minSeconds and maxSeconds")
    bounds = []
    for key in ("minSeconds", "maxSeconds"):
        value = wait.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            value = -1
        if value < 0 or value != int(value):
            raise ScenarioError(f"waitTime.{key}: must be a whole number of seconds, 0 or more")
        bounds.append(int(value))
    if bounds[0] > bounds[1]:
        raise ScenarioError("waitTime: minSeconds is above maxSeconds")
    return bounds[0], bounds[1]


def _launch(launch: object) -> Launch | None:
    if launch is None:
        return None
    if not isinstance(launch, dict) or not isinstance(launch.get("claims", {}), dict):
        raise ScenarioError("launch: must be an object with keys (a directory) and claims (an object)")
    return Launch(Path(_text(launch, "keys")), launch.get("claims", {}))
