"""The request file, the API client's retries and the ways to log in."""

import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loadtest.adapters.helm_job import request as requests
from loadtest.adapters.helm_job.access import NoAccessError, from_environment, from_kubeconfig
from loadtest.adapters.helm_job.kube import Api, ApiError

_PATH = {"PYTHONPATH": str(Path(__file__).parents[3] / "operator")}
_RAW: dict[str, Any] = {
    "run": "0123456789abcdef",
    "owner": "performance/threads",
    "release": "runner",
    "namespace": "eq",
    "chart": {"repo": "https://charts.test", "name": "runner", "version": "1.0.0"},
    "state": "ldt-0123456789abcdef-state",
    "snapshot": "ldt-0123456789abcdef-snapshot",
    "variants": {"seven": {"threads": "7"}, "empty": None},
    "settings": [{"setting": "threads", "path": "threads", "variants": ["seven"]}],
    "timeoutSeconds": 300,
    "lease": "loadtest-runner",
    "holder": "performance/threads/uid-1/0123456789abcdef",
}


def _file(folder: Path, raw: Any) -> Path:
    path = folder / "request.json"
    path.write_text(json.dumps(raw))
    return path


def test_a_request_is_read(tmp_path: Path) -> None:
    request = requests.load(_file(tmp_path, _RAW))
    assert request.chart == requests.NamedChart("https://charts.test", "runner", "1.0.0")
    assert request.variants == {"seven": {"threads": "7"}, "empty": {}}
    assert request.settings == (requests.Setting("threads", "threads"),)
    assert request.description("seven") == "loadtest run 0123456789abcdef variant seven"


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "--post-renderer=/bin/sh"},
        {"release": ""},
        {"namespace": "Eq"},
        {"namespace": "-n"},
        {"snapshot": "a/b"},
        {"lease": "../secrets/x"},
        {"variants": None},
        {"timeoutSeconds": "soon"},
        {"chart": {"repo": "file:///etc", "name": "runner", "version": "1"}},
        {"chart": {"repo": "https://charts.test", "name": "--untar", "version": "1"}},
        {"chart": {"repo": "https://charts.test", "name": "runner", "version": "-x"}},
        {"chart": {"repo": "https://charts.test", "name": "runner"}},
    ],
)
def test_a_request_that_could_mislead_helm_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the texts differ, the refusal is the point
        requests.load(_file(tmp_path, {**_RAW, **changes}))


class _Scripted(Api):
    """An Api that answers from a list instead of a server."""

    def __init__(self, answers: list[Any], patience: float = 60.0) -> None:
        self.pauses: list[float] = []
        super().__init__(None, patience, self.pauses.append)  # type: ignore[arg-type]
        self._answers = answers

    def _once(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return answer


def _error(status: int, reason: str = "") -> ApiError:
    return ApiError(status, reason, "message")


def test_calls_are_tried_again_while_the_server_is_away_or_failing() -> None:
    api = _Scripted([_error(0), _error(500), _error(503), _error(429), {"kind": "Secret"}])
    assert api.get("/x") == {"kind": "Secret"}
    assert api.pauses == [0.2, 0.4, 0.8, 1.6]


def test_a_server_that_stays_away_is_given_up_in_the_end() -> None:
    with pytest.raises(ApiError) as caught:
        _Scripted([_error(0)] * 3, patience=0.0).get("/x")
    assert caught.value.status == 0


@pytest.mark.parametrize("status", [400, 403, 409, 422])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    api = _Scripted([_error(status)])
    with pytest.raises(ApiError):
        api.merge_patch("/x", {})
    assert api.pauses == []


def test_creating_what_is_there_already_leaves_it() -> None:
    assert _Scripted([_error(409, "AlreadyExists")]).create("/x", {}) is False
    assert _Scripted([{}]).create("/x", {}) is True
    with pytest.raises(ApiError):
        _Scripted([_error(409, "Conflict")]).create("/x", {})


def test_what_is_not_there_is_none() -> None:
    assert _Scripted([_error(404)]).get("/x") is None


def _kubeconfig(folder: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
    path = folder / "kubeconfig"
    config = {
        "current-context": "b",
        "contexts": [{"name": "a", "context": {}}, {"name": "b", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://127.0.0.1:6443/k8s/"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(config))
    return path


def test_a_kubeconfig_with_a_token_is_read(tmp_path: Path) -> None:
    access = from_environment({"KUBECONFIG": str(_kubeconfig(tmp_path, {"token": "t"}))})
    assert (access.host, access.port, access.prefix) == ("127.0.0.1", 6443, "/k8s")
    assert access.headers() == {"Authorization": "Bearer t"}
    assert access.tls.verify_mode is ssl.CERT_REQUIRED


def test_a_token_file_is_read_anew_for_each_call(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    access = from_kubeconfig(_kubeconfig(tmp_path, {"tokenFile": str(token)}))
    assert access.headers() == {"Authorization": "Bearer one"}
    token.write_text("two")
    assert access.headers() == {"Authorization": "Bearer two"}


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        ({"exec": {"command": "aws"}}, None),
        ({"token": "t"}, {"server": "http://127.0.0.1"}),
        ({"token": "t"}, {"proxy-url": "http://127.0.0.1:3128"}),
    ],
)
def test_a_kubeconfig_that_cannot_serve_is_refused(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any] | None
) -> None:
    with pytest.raises(NoAccessError):
        from_kubeconfig(_kubeconfig(tmp_path, user, cluster))


def test_without_kubeconfig_and_pod_there_is_no_access() -> None:
    with pytest.raises(NoAccessError, match="not in a pod"):
        from_environment({})


def test_the_job_starts_without_the_heavy_libraries() -> None:
    program = "import sys, loadtest.adapters.helm_job; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=_PATH)
    assert not {"kubernetes", "aiohttp", "kopf", "pydantic", "yaml"} & set(done.stdout.split())
