"""The scenario as the injectors are given it: what the user's ConfigMap holds, checked, and how it is to be used."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping

from loadtest.api.spec import LoadTestSpec
from loadtest.core.manifests import CA_DIR, KEYS_DIR, REQUESTS_FILE, SCENARIO_DIR, SCENARIO_FILE, Json
from loadtest_injector.requests_file import RequestsFileError, parse


class BadScenario(ValueError):  # noqa: N818 - named for the fact
    """The user's ConfigMap cannot be used; the message names the key, the place in it, and the remedy."""


class NoKey(BadScenario):
    """The ConfigMap has no such key."""


def files(spec: LoadTestSpec, given: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of the directory that every injector of the run has. `given` is what the user's ConfigMap holds.

    Raises:
        BadScenario: it cannot be used, or lacks the key.
    """
    requests, locustfile = spec.scenario.requests, spec.scenario.locustfile
    if requests is not None:
        content = _key(given, requests.config_map.key, "requests")
        try:
            parse(content, launch=requests.launch is not None)
        except RequestsFileError as error:
            raise BadScenario(f"key {requests.config_map.key}: {error}") from error
        return {SCENARIO_FILE: _description(spec), REQUESTS_FILE: content}
    if locustfile is None:  # pragma: no cover - a rule of the spec
        raise BadScenario("spec.scenario names no kind of scenario")
    _key(given, locustfile.config_map.key, "locustfile")
    if SCENARIO_FILE in given:
        raise BadScenario(f"key {SCENARIO_FILE}: this name is taken: call the file something else")
    for name in sorted({name for name in given if name.endswith(".py")} | {locustfile.config_map.key}):
        check_syntax(name, given[name])
    return {**given, SCENARIO_FILE: _description(spec)}


def name(spec: LoadTestSpec) -> tuple[str, str]:
    """Which field names the user's ConfigMap, and the name."""
    if spec.scenario.requests is not None:
        return "spec.scenario.requests.configMap.name", spec.scenario.requests.config_map.name
    if spec.scenario.locustfile is not None:
        return "spec.scenario.locustfile.configMap.name", spec.scenario.locustfile.config_map.name
    raise AssertionError("a spec has a scenario")  # pragma: no cover - a rule of the spec


def check_syntax(file: str, content: bytes) -> None:
    """Compile a Python file, without running it.

    Raises:
        BadScenario: it does not compile with the Python that this program runs on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(content, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise BadScenario(f"key {file}, line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadScenario(f"key {file}: it cannot be compiled: {error or type(error).__name__}") from error


def _key(given: Mapping[str, bytes], key: str, kind: str) -> bytes:
    if key not in given:
        keys = ", ".join(sorted(given)) or "none"
        raise NoKey(f"no key {key!r} (it has: {keys}): correct spec.scenario.{kind}.configMap.key")
    return given[key]


def _description(spec: LoadTestSpec) -> bytes:
    """The scenario file, which `loadtest_injector.scenario` reads."""
    target, load = spec.target, spec.load
    scenario: Json = {
        "host": target.url.rstrip("/"),
        "headers": dict(target.headers or {}),
        "sendSecureCookiesOverHttp": target.send_secure_cookies_over_http,
        "ca": f"{CA_DIR}/{target.tls.ca_config_map.key}" if target.tls else None,
    }
    if spec.scenario.locustfile is not None:
        scenario |= {"kind": "locustfile", "locustfile": f"{SCENARIO_DIR}/{spec.scenario.locustfile.config_map.key}"}
    else:
        launch = spec.scenario.requests.launch if spec.scenario.requests else None
        scenario |= {
            "kind": "requests",
            "requests": f"{SCENARIO_DIR}/{REQUESTS_FILE}",
            "waitTime": {"minSeconds": int(load.wait_time.min.seconds), "maxSeconds": int(load.wait_time.max.seconds)},
            "requestTimeoutSeconds": load.request_timeout.seconds,
            "launch": {"keys": KEYS_DIR, "claims": dict(launch.claims or {})} if launch else None,
        }
    return json.dumps(scenario, sort_keys=True).encode()
