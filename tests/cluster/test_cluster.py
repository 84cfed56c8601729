"""The test cluster does what a real one does, and lets nothing out."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.binaries import kubectl
from tests.cluster.paths import TREE

pytestmark = pytest.mark.cluster

NAMESPACE = "cluster-check"
IMAGE = "loadtest/redis:dev"
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(name: str, **container: Any) -> dict[str, Any]:
    main = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": RESTRICTED,
        "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}},
        **container,
    }
    spec = {"containers": [main], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def service(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {"selector": {"app": name}, "ports": [{"port": 6379}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": wanted}


@pytest.fixture(scope="module")
def kube() -> Iterator["Kube"]:
    up = subprocess.run(
        ["python3", "-m", "tests.cluster", "up"], cwd=TREE, stdout=subprocess.PIPE, text=True, check=True
    )
    subprocess.run(["python3", "-m", "tests.cluster", "images", "redis"], cwd=TREE, check=True)
    here = Kube(Path(up.stdout.strip()))
    here.run("delete", "namespace", NAMESPACE, "--ignore-not-found")
    here.run("create", "namespace", NAMESPACE)
    here.run("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    probe = {"tcpSocket": {"port": 6379}, "periodSeconds": 1}
    client = pod("client", command=["sleep", "600"])
    here.apply(pod("server", readinessProbe=probe), service("server"), client)
    here.run("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
    yield here
    here.run("delete", "namespace", NAMESPACE)


class Kube:
    def __init__(self, config: Path) -> None:
        self._command = [str(kubectl()), "--kubeconfig", str(config), "--namespace", NAMESPACE]

    def run(self, *arguments: str, text: str | None = None) -> str:
        done = subprocess.run([*self._command, *arguments], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, *objects: dict[str, Any]) -> None:
        self.run("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def python(self, code: str) -> str:
        return self.run("exec", "client", "--", "python3", "-c", code).strip()


def test_a_pod_is_ready_within_seconds(kube: Kube) -> None:
    began = time.monotonic()
    kube.apply(pod("quick", command=["sleep", "600"]))
    kube.run("wait", "--for=condition=Ready", "pod/quick", "--timeout=60s")
    assert time.monotonic() - began < 10.0


def test_pods_reach_each_other_by_service_name(kube: Kube) -> None:
    for name in ("server", f"server.{NAMESPACE}", f"server.{NAMESPACE}.svc.cluster.local"):
        assert kube.run("exec", "client", "--", "redis-cli", "-h", name, "ping").strip() == "PONG"


def test_a_service_without_pods_refuses_at_once(kube: Kube) -> None:
    kube.apply(service("nobody"))
    address = kube.run("get", "service", "nobody", "-o", "jsonpath={.spec.clusterIP}")
    code = f"import socket; s = socket.socket(); s.settimeout(5); print(s.connect_ex(('{address}', 6379)))"
    deadline = time.monotonic() + 10.0
    while (answer := kube.python(code)) != "111" and time.monotonic() < deadline:
        time.sleep(0.2)
    assert answer == "111"


def test_names_outside_the_cluster_do_not_exist(kube: Kube) -> None:
    code = "import socket\ntry: socket.gethostbyname('www.example.com')\nexcept socket.gaierror as e: print(e.errno)"
    assert kube.python(code) == "-2"


def test_a_pod_speaks_to_the_api_with_its_own_account(kube: Kube) -> None:
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    code = f"""
import ssl, urllib.error, urllib.request
token = open("{folder}/token").read()
trusted = ssl.create_default_context(cafile="{folder}/ca.crt")
url = "https://kubernetes.default.svc/api/v1/namespaces/{NAMESPACE}/pods"
try:
    urllib.request.urlopen(urllib.request.Request(url, headers={{"Authorization": "Bearer " + token}}), context=trusted)
except urllib.error.HTTPError as error:
    print(error.code, "system:serviceaccount:{NAMESPACE}:default" in error.read().decode())
"""
    assert kube.python(code) == "403 True"


def test_logs_can_be_read(kube: Kube) -> None:
    assert "Ready to accept connections" in kube.run("logs", "server")


def test_the_kubelet_tells_what_pods_use(kube: Kube) -> None:
    node = kube.run("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
    metrics = kube.run("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics/resource")
    assert f'container_cpu_usage_seconds_total{{container="main",namespace="{NAMESPACE}",pod="server"}}' in metrics


def test_the_metrics_api_tells_what_pods_use(kube: Kube) -> None:
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods"
    deadline = time.monotonic() + 120  # a new pod is told of after two looks at the kubelet
    while not (found := [one for one in json.loads(kube.run("get", "--raw", path))["items"]
                         if one["metadata"]["name"] == "server"]):  # fmt: skip
        assert time.monotonic() < deadline
        time.sleep(1)
    (container,) = found[0]["containers"]
    assert container["usage"]["memory"].endswith("Ki")
    assert float(found[0]["window"].rstrip("s")) > 0
