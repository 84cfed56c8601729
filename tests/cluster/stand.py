"""What stands on a running cluster for tests and the demonstration: operator, backends, sample Runner, launch keys.

Everything is installed the way a user would: Helm charts, `kubectl apply`, nothing else.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster.binaries import ensure_binaries, kubectl
from tests.cluster.log import ClusterError
from tests.cluster.paths import IMAGES

ROOT = Path(__file__).resolve().parents[2]
SYSTEM, TARGET, TESTS = "loadtest-system", "runner", "performance"
SAMPLES = ROOT / "manifests" / "samples"


class Stand:
    """The cluster seen through kubectl and helm."""

    def __init__(self, kubeconfig: Path) -> None:
        self.environment = os.environ | {"KUBECONFIG": str(kubeconfig)}
        self._helm = str(ensure_binaries("helm")["helm"])
        self._kubectl = str(kubectl())

    # -- programs -----------------------------------------------------------------------------------------------

    def run(self, command: list[str], *, stdin: str | None = None, check: bool = True) -> str:
        """Run a program with this cluster's kubeconfig; its standard output."""
        done = subprocess.run(
            command, input=stdin, env=self.environment, capture_output=True, text=True, check=False, timeout=600
        )
        if check and done.returncode:
            raise ClusterError(f"{' '.join(command[:6])}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout if not done.returncode else done.stdout + done.stderr

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl."""
        return self.run([self._kubectl, *arguments], stdin=stdin, check=check)

    def helm(self, *arguments: str, check: bool = True) -> str:
        """Run helm."""
        return self.run([self._helm, *arguments], check=check)

    def get(self, kind: str, name: str, namespace: str) -> dict[str, Any] | None:
        """One object, None where there is none."""
        text = self.kubectl("get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found")
        found: dict[str, Any] | None = json.loads(text) if text else None
        return found

    def items(self, kind: str, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        """The objects of a namespace."""
        arguments = ["get", kind, "-n", namespace, "-o", "json", *(["-l", selector] if selector else [])]
        found: list[dict[str, Any]] = json.loads(self.kubectl(*arguments))["items"]
        return found

    def apply(self, text: str) -> str:
        """Apply YAML or JSON text."""
        return self.kubectl("apply", "-f", "-", stdin=text)

    def namespace(self, name: str, allowed_from: str = "") -> None:
        """Make a namespace, with Pod Security `restricted` enforced: everything of ours must live with that.

        LoadTests of the namespaces `allowed_from` may load what is in it.
        """
        meta: dict[str, Any] = {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
        if allowed_from:
            meta["annotations"] = {"loadtest.eqrunner.dev/allowed-from": allowed_from}
        self.apply(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": meta}))

    # -- the stand ----------------------------------------------------------------------------------------------

    def operator(self) -> None:
        """Install or upgrade the operator; its pod is replaced where its image has been built anew."""
        self.namespace(SYSTEM)
        values = ["-f", str(SAMPLES / "operator-values.yaml"), "--set", f"podAnnotations.image={_image_key()}"]
        chart = str(ROOT / "charts" / "loadtest-operator")
        self.helm("upgrade", "--install", "loadtest-operator", chart, "-n", SYSTEM, *values)
        self.kubectl("rollout", "status", "deployment/loadtest-operator", "-n", SYSTEM, "--timeout=180s")

    def target(self) -> None:
        """What the target's owner installs: rights for the operator, backends, launch keys, the release `runner`."""
        self.namespace(TARGET, allowed_from=TESTS)
        self.namespace(TESTS)
        self.helm("upgrade", "--install", "loadtest-target", str(ROOT / "charts" / "loadtest-target"), "-n", TARGET,
                  "--set", f"operator.namespace={SYSTEM}", "--set", f"measure.namespaces={{{TESTS}}}")  # fmt: skip
        self.keys()
        self.kubectl("apply", "-f", str(SAMPLES / "backends.yaml"))
        for name in ("redis", "datastore"):
            self.kubectl("rollout", "status", f"deployment/{name}", "-n", TARGET, "--timeout=180s")
        if self.release("runner") is None:
            values = str(SAMPLES / "runner-values.yaml")
            self.helm("upgrade", "--install", "runner", str(ROOT / "charts" / "runner"), "-n", TARGET, "-f", values)
        self.kubectl("rollout", "status", "deployment/runner", "-n", TARGET, "--timeout=180s")

    def keys(self) -> None:
        """The target's test keys: half of each pair for the Runner, the other for the injectors."""
        if self.get("secret", "keys", TARGET) and self.get("secret", "launch-keys", TESTS):
            return
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, "-m", "sample_runner.keys", folder],
                cwd=ROOT / "samples" / "runner",
                check=True,
                capture_output=True,
            )
            self._secret("keys", TARGET, Path(folder), "signing-public.pem", "encryption-private.pem")
            self._secret("launch-keys", TESTS, Path(folder), "signing.pem", "encryption.pem")

    def _secret(self, name: str, namespace: str, folder: Path, *files: str) -> None:
        data = {file: (folder / file).read_text() for file in files}
        meta = {"name": name, "namespace": namespace}
        self.apply(json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": data}))

    def release(self, name: str, namespace: str = TARGET) -> dict[str, str] | None:
        """User values and manifest of a release as helm prints them, None where there is none."""
        if name not in self.helm("list", "-q", "-n", namespace, "--all").split():
            return None
        return {what: self.helm("get", what, name, "-n", namespace) for what in ("values", "manifest")}

    # -- LoadTests ----------------------------------------------------------------------------------------------

    def loadtest(self, name: str, namespace: str = TESTS) -> dict[str, Any]:
        """A LoadTest as it is now."""
        found = self.get("loadtest", name, namespace)
        if found is None:
            raise ClusterError(f"there is no LoadTest {namespace}/{name}")
        return found

    def wait_for(self, what: str, true: Callable[[], Any], seconds: float = 120.0, every: float = 0.5) -> Any:
        """Wait until `true` gives something, and give that."""
        deadline = time.monotonic() + seconds
        while not (found := true()):
            if time.monotonic() > deadline:
                raise ClusterError(f"{what}: not within {seconds:.0f} s")
            time.sleep(every)
        return found

    def leftovers(self, run: str, *namespaces: str) -> list[str]:
        """What is left of a run but its results: `kind/name` of pods, Jobs, Leases, Secrets and ConfigMaps."""
        found = []
        for namespace in namespaces or (TARGET, TESTS, SYSTEM):
            items = self.items("pods,jobs,leases,secrets,configmaps", namespace, f"loadtest.eqrunner.dev/run={run}")
            mine = [item for item in items if item["metadata"]["labels"].get("loadtest.eqrunner.dev/role") != "result"]
            found += [f"{namespace}: {item['kind']}/{item['metadata']['name']}" for item in mine]
        return found


def _image_key() -> str:
    """What the operator's image was built from: another key is another pod, the same key leaves the pod alone."""
    key = IMAGES / "operator.key"
    return key.read_text()[:16] if key.exists() else "unknown"
