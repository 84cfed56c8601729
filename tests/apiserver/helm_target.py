"""A namespace with a small Helm release, and helm Jobs run against it as its own service account."""

import base64
import gzip
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadtest.adapters.helm_job.entry import run
from loadtest.adapters.helm_job.values import to_helm
from tests.cluster.apiserver import PrivateApiServer
from tests.cluster.binaries import ensure_binaries, kubectl
from tests.cluster.paths import TREE

RUN = "0123456789abcdef"
STATE, SNAPSHOT = f"ldt-{RUN}-state", f"ldt-{RUN}-snapshot"
LEASE, HOLDER = "loadtest-runner", f"performance/threads/uid-1/{RUN}"
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: runner\nversion: 1.0.0\ndescription: a small target\n",
    "values.yaml": (
        "webServer: {threads: '3', workers: '7'}\nreplicas: 1\nextra: false\nhook: false\nrandom: false\n"
        "required: here\nnodeSelector:\nbig: 1000000\n"
    ),
    ".helmignore": "ignored.txt\n",
    "files/page.txt": "<p>ünï</p>\r\nline {{ not a template }}\n",
    "templates/_helpers.tpl": '{{- define "name" -}}{{ .Chart.Name }}{{- end }}\n',
    "templates/config.yaml": """apiVersion: v1
kind: ConfigMap
metadata: {name: {{ include "name" . }}-config}
data:
  values: {{ .Values | toJson | quote }}
  page: {{ .Files.Get "files/page.txt" | quote }}
  required: {{ required "required must be set" .Values.required | quote }}
  {{- if .Values.random }}
  token: {{ randAlphaNum 12 }}
  revision: {{ .Release.Revision | quote }}
  {{- end }}
""",
    "templates/deployment.yaml": """apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ include "name" . }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: runner}}
  template:
    metadata: {labels: {app: runner}}
    spec:
      containers:
      - name: runner
        image: runner
        env: [{name: WEB_SERVER_THREADS, value: {{ .Values.webServer.threads | quote }}}]
""",
    "templates/extra.yaml": """{{- if .Values.extra }}
apiVersion: v1
kind: Service
metadata: {name: extra}
spec: {ports: [{port: 80}]}
{{- end }}
""",
    "templates/hook.yaml": """{{- if .Values.hook }}
apiVersion: batch/v1
kind: Job
metadata:
  name: never-done
  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: hook, image: hook}]}}
{{- end }}
""",
    "templates/NOTES.txt": "{{ .Release.Name }} is there\n",
}
"""Threads show in a pod; `extra` adds an object, `hook` makes an upgrade wait for ever, `random` differs each time."""

USER_VALUES: dict[str, Any] = {
    "webServer": {"threads": "7"},
    "password": "hunter22",
    "note": "naïve \U0001f600\u2028 e",
}
SILENCE = 4.0
"""Seconds without a renewal of the Lease after which a dead-man Job acts here."""
_HOOK_RULE = '[{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch", "create", "delete"]}]'


def write_chart(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Writes the chart, with `files` over its own."""
    for name, text in {**CHART, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


@dataclass
class HelmTarget:
    """One namespace with the chart loadtest-target installed; its release is called runner."""

    server: PrivateApiServer
    namespace: str
    folder: Path
    kubeconfig: Path
    """Of the service account that helm Jobs run as."""
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: list[dict[str, Any]] = field(default_factory=list)
    chart: dict[str, str] | None = None
    _tries: int = 0

    def kubectl(self, *arguments: str, stdin: object = None) -> str:
        """As an administrator."""
        command = [str(kubectl()), "--kubeconfig", str(self.server.kubeconfig), "-n", self.namespace, *arguments]
        return _run(command, None if stdin is None else json.dumps(stdin))

    def helm(self, *arguments: str) -> str:
        """As an administrator: whoever owns the release."""
        helm = ensure_binaries("helm")["helm"]
        return _run([str(helm), "--kubeconfig", str(self.server.kubeconfig), "-n", self.namespace, *arguments])

    def prepare(self) -> None:
        """The namespace, what its owner grants, and what the operator makes there for a run."""
        self.kubectl("create", "namespace", self.namespace)
        target = str(TREE / "charts" / "loadtest-target")
        self.helm("install", "loadtest-target", target, "--set-json", f"helm.extraRules={_HOOK_RULE}")
        meta = {"name": STATE, "labels": {"loadtest.eqrunner.dev/run": RUN}}
        self.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    def install(self, chart: Path | None = None, values: dict[str, Any] | None = None) -> Path:
        """Installs the release with these user values; returns its chart."""
        chart = chart or write_chart(self.folder / "chart")
        self.helm("install", "runner", str(chart), "--values", str(self.write_values(values)))
        return chart

    def write_values(self, values: dict[str, Any] | None = None) -> Path:
        path = self.folder / "user-values.json"
        path.write_text(to_helm(USER_VALUES if values is None else values))
        return path

    def job_arguments(self, operation: str, variant: str = "") -> tuple[str, list[str]]:
        """The key and the arguments of a new Job of the run."""
        self._tries += 1
        key = f"{operation}-{self._tries}"
        request = {
            "run": RUN,
            "owner": "performance/threads",
            "release": "runner",
            "namespace": self.namespace,
            "chart": self.chart,
            "state": STATE,
            "snapshot": SNAPSHOT,
            "variants": self.variants,
            "settings": self.settings,
            "timeoutSeconds": 20,
            "lease": LEASE,
            "holder": HOLDER,
        }
        path = self.folder / "request.json"
        path.write_text(json.dumps(request))
        more = ["--variant", variant] if variant else []
        more += ["--silence", str(SILENCE)] if operation == "dead-man" else []
        return key, [operation, "--key", key, "--request", str(path), *more]

    def job(self, operation: str, variant: str = "") -> dict[str, Any]:
        """Runs a helm Job to its end and returns its outcome."""
        key, arguments = self.job_arguments(operation, variant)
        assert run(arguments) == 0
        return self.outcome(key)

    def start_job(self, operation: str, variant: str) -> "subprocess.Popen[bytes]":
        """Starts a helm Job as a process group of its own."""
        _, arguments = self.job_arguments(operation, variant)
        command = [sys.executable, "-m", "loadtest.adapters.helm_job", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(TREE / "operator")}
        return subprocess.Popen(command, env=environment, start_new_session=True)

    def outcome(self, key: str) -> dict[str, Any]:
        data = json.loads(self.kubectl("get", "configmap", STATE, "-o", "json"))["data"]
        outcome: dict[str, Any] = json.loads(data[key])
        return outcome

    def shown(self) -> tuple[str, str]:
        """What `helm get values` and `helm get manifest` show."""
        return self.helm("get", "values", "runner"), self.helm("get", "manifest", "runner")

    def history(self) -> list[tuple[int, str, str]]:
        """Revision, status and description of every revision."""
        listed = json.loads(self.helm("history", "runner", "--max", "256", "-o", "json"))
        return [(each["revision"], each["status"], each["description"]) for each in listed]

    def live(self, kind: str, name: str) -> Any:
        """A live object, None if there is none."""
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text else None

    def threads(self) -> str:
        """The number of threads that a pod would get."""
        pod = self.live("deployment", "runner")["spec"]["template"]["spec"]
        return str(pod["containers"][0]["env"][0]["value"])

    def edit_stored(self, revision: int, **info: str) -> None:
        """Rewrites the info of a stored revision, as a tool that is not this helm might leave it."""
        name = f"sh.helm.release.v1.runner.v{revision}"
        secret = self.live("secret", name)
        body = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
        body["info"].update(info)
        packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(body).encode()))).decode()
        labels = {"status": info["status"]} if "status" in info else {}
        patch = {"metadata": {"labels": labels}, "data": {"release": packed}}
        self.kubectl("patch", "secret", name, "--type", "merge", "-p", json.dumps(patch))


def _run(command: list[str], stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout
