"""The daemons of the cluster: their command lines and configuration files, as plain data."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster import network
from tests.cluster.pki import Authority, Pair

NODE = "loadtest-node"
API_URL = f"https://{network.NODE_ADDRESS}:6443"
CGROUP = "/loadtest-cluster"
PAUSE_IMAGE = "docker.io/loadtest/pause:dev"
_ETCD_PORT, _ETCD_PEER_PORT = 23790, 23800
_PROXY_HEALTH_PORT = 10256
_DNS_READY_PORT = 8181


@dataclass(frozen=True)
class Daemon:
    """One program: how it is started, the files that it reads, and the URL that tells that it works."""

    name: str
    command: list[str]
    files: Mapping[Path, str] = field(default_factory=dict)
    health: str = ""
    """Plain HTTP; empty where the daemon is judged by what it does."""


def etcd_command(program: Path, data: Path, client_url: str, peer_url: str) -> list[str]:
    """A single etcd. Its data is thrown away with the cluster, so it need not reach the disk."""
    return [
        str(program),
        "--name=loadtest",
        f"--data-dir={data}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=loadtest={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server_command(
    program: Path, authority: Authority, serving: Pair, etcd_url: str, *, address: str, port: int
) -> list[str]:
    """An API server with client certificates, RBAC and signed service account tokens."""
    return [
        str(program),
        f"--etcd-servers={etcd_url}",
        f"--bind-address={address}",
        f"--advertise-address={network.NODE_ADDRESS if address == network.NODE_ADDRESS else '127.0.0.1'}",
        f"--secure-port={port}",
        f"--service-cluster-ip-range={network.SERVICE_RANGE}",
        f"--client-ca-file={authority.ca}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-signing-key-file={authority.service_accounts.key}",
        f"--service-account-key-file={authority.service_accounts.certificate}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--endpoint-reconciler-type=" + ("lease" if address == network.NODE_ADDRESS else "none"),
        "--profiling=false",
    ]


class Layout:
    """Where the files of the running cluster lie, below one folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.pids = state / "pids"
        self.logs = state / "logs"
        self.config = state / "config"
        self.network = state / "network"
        self.fingerprint = state / "fingerprint"
        self.imported = state / "imported"
        self.containerd = state / "containerd"
        self.kubelet = state / "kubelet"
        self.pod_logs = state / "pods"
        self.cni = state / "cni"
        self.admin = state / "kubeconfig"

    @property
    def socket(self) -> Path:
        """The socket of containerd."""
        return self.containerd / "containerd.sock"


def etcd(program: Path, layout: Layout) -> Daemon:
    """The store, on loopback only."""
    client, peer = (f"http://127.0.0.1:{port}" for port in (_ETCD_PORT, _ETCD_PEER_PORT))
    return Daemon("etcd", etcd_command(program, layout.state / "etcd", client, peer), health=f"{client}/readyz")


def api_server(
    program: Path, authority: Authority, serving: Pair, kubelet_client: Pair, aggregation: Sequence[str]
) -> Daemon:
    """The API server, on the node's bridge."""
    command = api_server_command(
        program,
        authority,
        serving,
        f"http://127.0.0.1:{_ETCD_PORT}",
        address=network.NODE_ADDRESS,
        port=6443,
    )
    command += [
        f"--kubelet-client-certificate={kubelet_client.certificate}",
        f"--kubelet-client-key={kubelet_client.key}",
        # The node's name is in no DNS: logs and exec go to its address.
        "--kubelet-preferred-address-types=InternalIP",
        *aggregation,
    ]
    return Daemon("kube-apiserver", command)


def controller_manager(program: Path, authority: Authority, kubeconfig: Path) -> Daemon:
    """All controllers but those for clouds, node certificates and token bootstrap, which have nothing to do here."""
    unneeded = "-bootstrap-signer-controller,-token-cleaner-controller,-node-ipam-controller,-node-route-controller"
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={authority.service_accounts.key}",
        f"--root-ca-file={authority.ca}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        f"--controllers=*,{unneeded}",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--endpointslice-updates-batch-period=100ms",
    ]
    return Daemon("kube-controller-manager", command)


def scheduler(program: Path, kubeconfig: Path) -> Daemon:
    """The scheduler."""
    command = [str(program), f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]
    return Daemon("kube-scheduler", command)


def containerd(program: Path, layout: Layout, plugins: Path) -> Daemon:
    """A containerd of our own, beside any other: own root, state, socket and network configuration."""
    config = layout.config / "containerd.toml"
    conflist = layout.cni / "10-loadtest.conflist"
    text = f"""\
version = 2
root = "{layout.containerd}/root"
state = "{layout.containerd}/state"
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs",
]
[grpc]
  address = "{layout.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE nobody may lower the score, and a sandbox that asks for it cannot start.
  restrict_oom_score_adj = true
  # Below the state folder, where everything that is mounted is found again.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{layout.cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = "{layout.containerd}/runc"
"""
    bridge = {
        "type": "bridge",
        "bridge": network.POD_BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(layout.cni / "addresses"),
            "ranges": [[{"subnet": network.POD_RANGE, "gateway": network.POD_GATEWAY}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    cni = {"cniVersion": "0.4.0", "name": "loadtest", "plugins": [bridge]}
    command = [str(program), f"--config={config}", "--log-level=warn"]
    return Daemon("containerd", command, {config: text, conflist: _json(cni)})


def kubelet(program: Path, layout: Layout, authority: Authority, serving: Pair, kubeconfig: Path) -> Daemon:
    """The kubelet; it evicts and collects late, because the disk and the memory are shared with other work."""
    config = layout.config / "kubelet.json"
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.NODE_ADDRESS,
        "healthzBindAddress": "127.0.0.1",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority.ca)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": CGROUP,
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [network.NODE_ADDRESS],
        "clusterDomain": "cluster.local",
        # Nothing of the machine's own name resolution goes into pods: no search domain, no server outside.
        "resolvConf": "",
        "maxPods": 110,
        "serializeImagePulls": False,
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
        "syncFrequency": "10s",
        "nodeStatusReportFrequency": "1m",
        "podLogsDir": str(layout.pod_logs),
        "volumePluginDir": str(layout.kubelet / "volume-plugins"),
        "enableProfilingHandler": False,
    }
    command = [
        str(program),
        f"--config={config}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={layout.kubelet}",
        f"--hostname-override={NODE}",
        f"--node-ip={network.NODE_ADDRESS}",
    ]
    return Daemon("kubelet", command, {config: _json(settings)}, health="http://127.0.0.1:10248/healthz")


def proxy(program: Path, layout: Layout, kubeconfig: Path) -> Daemon:
    """kube-proxy with iptables; node ports are open on the node's bridge only."""
    config = layout.config / "kube-proxy.json"
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "iptables",
        "hostnameOverride": NODE,
        "clusterCIDR": network.POD_RANGE,
        "nodePortAddresses": [f"{network.NODE_ADDRESS}/32"],
        "healthzBindAddress": f"127.0.0.1:{_PROXY_HEALTH_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        # Zero leaves the machine's conntrack settings alone.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "iptables": {"minSyncPeriod": "100ms", "localhostNodePorts": False},
    }
    health = f"http://127.0.0.1:{_PROXY_HEALTH_PORT}/healthz"
    return Daemon("kube-proxy", [str(program), f"--config={config}"], {config: _json(settings)}, health)


def dns(program: Path, layout: Layout, kubeconfig: Path) -> Daemon:
    """CoreDNS on the node's address: the names of the cluster, and a quick 'no such name' for every other."""
    config = layout.config / "Corefile"
    text = f"""\
.:53 {{
    bind {network.NODE_ADDRESS}
    errors
    ready 127.0.0.1:{_DNS_READY_PORT}
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 2
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""
    health = f"http://127.0.0.1:{_DNS_READY_PORT}/ready"
    return Daemon("coredns", [str(program), "-conf", str(config)], {config: text}, health)


def fingerprint(daemons: list[Daemon]) -> str:
    """Tells two set-ups apart: programs (their paths hold their versions), options and files."""
    facts = [(daemon.command, sorted((str(path), text) for path, text in daemon.files.items())) for daemon in daemons]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
