"""metrics-server on the node's address, and how the API server finds it: the API metrics.k8s.io."""

from pathlib import Path
from typing import Any

from tests.cluster import network
from tests.cluster.api import Api
from tests.cluster.components import Daemon
from tests.cluster.pki import Authority, Pair

USER = "system:metrics-server"
"""Whom it asks the API server and the kubelet as."""

PROXY_USER = "kube-apiserver-proxy"
"""Whom the API server speaks as when it hands a request on to an extension."""

_PORT = 4443
_RESOLUTION = "10s"  # the kubelet looks no more often
_VERSION = "v1beta1"
_NAME = {"name": "metrics-server", "namespace": "kube-system"}


def aggregation_options(authority: Authority, proxy: Pair) -> list[str]:
    """Options of the API server that let extensions know on whose behalf it asks."""
    return [
        f"--requestheader-client-ca-file={authority.ca}",
        f"--requestheader-allowed-names={PROXY_USER}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={proxy.certificate}",
        f"--proxy-client-key-file={proxy.key}",
    ]


def daemon(program: Path, serving: Pair, kubeconfig: Path) -> Daemon:
    """It asks the kubelet every 10 s."""
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--bind-address={network.NODE_ADDRESS}",
        f"--secure-port={_PORT}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--metric-resolution={_RESOLUTION}",
    ]
    return Daemon("metrics-server", command)


def register(api: Api) -> None:
    """Its rights, as its own manifests grant them, and its place among the APIs."""
    group = "/apis/rbac.authorization.k8s.io/v1"
    subject = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}]
    rules = [
        {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]},
    ]
    api.create(f"{group}/clusterroles", {"metadata": {"name": USER}, "rules": rules})
    for role in (USER, "system:auth-delegator"):
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        binding = {"metadata": {"name": f"metrics-server:{role}"}, "roleRef": reference, "subjects": subject}
        api.create(f"{group}/clusterrolebindings", binding)
    reader = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "extension-apiserver-authentication-reader",
    }
    binding = {"metadata": {"name": "metrics-server-auth-reader"}, "roleRef": reader, "subjects": subject}
    api.create(f"{group}/namespaces/kube-system/rolebindings", binding)
    for path, body in _places():
        api.create(path, body)


def serves(api: Api) -> bool:
    """Whether the API server hands requests on to it."""
    service: Any = api.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{_VERSION}.metrics.k8s.io")
    conditions = ((service or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)


def _places() -> list[tuple[str, Any]]:
    """A Service without pods, its one endpoint on the node, and the API that it stands for."""
    endpoints = {
        "metadata": {**_NAME, "labels": {"kubernetes.io/service-name": "metrics-server"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": _PORT, "protocol": "TCP"}],
        "endpoints": [{"addresses": [network.NODE_ADDRESS], "conditions": {"ready": True}}],
    }
    service = {"metadata": _NAME, "spec": {"ports": [{"name": "https", "port": 443, "targetPort": _PORT}]}}
    api_service = {
        "metadata": {"name": f"{_VERSION}.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": _VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": _NAME,
        },
    }
    return [
        ("/api/v1/namespaces/kube-system/services", service),
        ("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", endpoints),
        ("/apis/apiregistration.k8s.io/v1/apiservices", api_service),
    ]
