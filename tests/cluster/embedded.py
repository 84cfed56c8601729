"""Brings the embedded cluster up and down, and tells whether it is whole."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.cluster import binaries, cgroups, components, leftovers, metrics, network, runtime
from tests.cluster.api import Api, http_ok
from tests.cluster.components import API_URL, NODE, Daemon, Layout
from tests.cluster.log import ClusterError, doing, say
from tests.cluster.packages import cni_folder, need, path_of
from tests.cluster.paths import KUBECONFIG, STATE, write_atomically
from tests.cluster.pki import Authority, Pair
from tests.cluster.processes import all_pids, command_line, remember, remembered, start, tail

_CLIENTS = {
    "admin": ["system:masters"],
    "kube-apiserver-kubelet-client": ["system:masters"],
    "system:kube-controller-manager": [],
    "system:kube-scheduler": [],
    "system:kube-proxy": [],
    "system:coredns": [],
    metrics.USER: [],
    metrics.PROXY_USER: [],
    f"system:node:{NODE}": ["system:nodes"],
}
_SERVING = [
    f"IP:{network.NODE_ADDRESS}",
    f"IP:{network.KUBERNETES_SERVICE}",
    *(f"DNS:{name}" for name in (NODE, "kubernetes", "kubernetes.default", "kubernetes.default.svc")),
    "DNS:kubernetes.default.svc.cluster.local",
]
_START_SECONDS = 90.0


class Cluster:
    """The one embedded cluster of this machine; its files lie in the state folder of the cache."""

    def __init__(self) -> None:
        self.layout = Layout(STATE)
        self._authority = Authority(STATE / "pki")
        self._api: Api | None = None

    @property
    def api(self) -> Api:
        """A client with the administrator's certificate."""
        if self._api is None:
            self._api = Api(API_URL, self._authority.ca, self._authority.pair("admin"))
        return self._api

    def up(self) -> Path:
        """Makes sure that a whole cluster runs, a running one being kept; returns its kubeconfig."""
        need("containerd", "runc", "cni", "iptables", "conntrack", "ip", "openssl")
        fault = self.fault()
        if not fault:
            say("the cluster is up already")
        else:
            self._refuse_other_nodes()
            paths = binaries.ensure_binaries(*binaries.CLUSTER)
            if STATE.exists():
                say(f"taking down what an earlier run left ({fault})")
            self._remove()
            self._start(paths)
        self.load_images()
        write_atomically(KUBECONFIG, self.layout.admin.read_text(), mode=0o600)
        return KUBECONFIG

    def down(self) -> None:
        """Ends all processes and pods of the cluster and removes its traces; binaries and images stay cached."""
        with doing("taking the cluster down"):
            self._remove()
        KUBECONFIG.unlink(missing_ok=True)
        say("the cluster is down")

    def load_images(self) -> None:
        """Imports the images that were built since the last time."""
        runtime.import_built(self.layout)

    def fault(self) -> str:
        """Says in a few words why the cluster cannot be used as it is; empty if it can."""
        return next(self._faults(), "")

    def _faults(self) -> Iterator[str]:
        """Cheap checks first; only the first fault is asked for, so no later check meets what an earlier one found."""
        if not self.layout.fingerprint.exists():
            yield "not started to the end"
        daemons = self._daemons(binaries.locations(*binaries.CLUSTER))
        if self.layout.fingerprint.read_text() != components.fingerprint(daemons):
            yield "started with other programs or options"
        alive = {name for name, identity in remembered(self.layout.pids).items() if identity.alive}
        dead = [daemon.name for daemon in daemons if daemon.name not in alive]
        if dead:
            yield f"{', '.join(dead)} not running"
        if not network.whole():
            yield "bridges or fence gone"
        if not self.api.ready():
            yield "the API server does not answer"
        sick = [daemon.name for daemon in daemons if daemon.health and not http_ok(daemon.health)]
        if sick:
            yield f"{', '.join(sick)} not healthy"
        if not self._node_ready():
            yield "the node is not ready"

    def _remove(self) -> None:
        leftovers.end_processes(self.layout)
        cgroups.take_down()
        leftovers.unmount(self.layout)
        network.take_down(self.layout.network)
        leftovers.remove_files(self.layout)

    def _start(self, paths: dict[str, Path]) -> None:
        began = time.monotonic()
        layout = self.layout
        # Before any process: from here on nothing can leave the machine.
        network.set_up(layout.network)
        cgroups.set_up()
        daemons = {daemon.name: daemon for daemon in self._daemons(paths)}
        say("starting etcd and containerd")
        for name in ("etcd", "containerd"):
            self._launch(daemons[name])
        self._certificates()
        say("starting the API server")
        self._launch(daemons["kube-apiserver"])
        with ThreadPoolExecutor(1) as pool:
            # Unpacking images is mostly waiting for the disk, so it goes on beside all the rest.
            images = pool.submit(self._first_images, paths["pause"])
            self._start_the_rest(daemons)
            images.result()
        write_atomically(layout.fingerprint, components.fingerprint(list(daemons.values())))
        say(f"the cluster is up, {time.monotonic() - began:.1f} s after its start")

    def _start_the_rest(self, daemons: dict[str, Daemon]) -> None:
        self._wait("the API server", self.api.ready)
        self._allow_dns()
        say("starting controllers, scheduler, kubelet, DNS and metrics-server")
        metrics.register(self.api)
        for name in ("kubelet", "kube-controller-manager", "kube-scheduler", "coredns", "metrics-server"):
            self._launch(daemons[name])
        # kube-proxy looks its node up, and if it is not there yet, waits longer and longer before it looks again.
        self._wait("the node to register", lambda: self.api.get(f"/api/v1/nodes/{NODE}") is not None)
        self._launch(daemons["kube-proxy"])
        self._wait("the node to be ready", self._node_ready)
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._wait("service accounts", lambda: self.api.get(account) is not None)
        healths = [daemon.health for daemon in daemons.values() if daemon.health]
        self._wait("every daemon to be healthy", lambda: all(map(http_ok, healths)))
        self._wait("the metrics API", lambda: metrics.serves(self.api))

    def _daemons(self, paths: dict[str, Path]) -> list[Daemon]:
        layout, authority = self.layout, self._authority
        kubelet_client = authority.pair("kube-apiserver-kubelet-client")
        serving = authority.pair("serving")
        aggregation = metrics.aggregation_options(authority, authority.pair(metrics.PROXY_USER))
        manager = self._kubeconfig("system:kube-controller-manager")
        node = self._kubeconfig(f"system:node:{NODE}")
        return [
            components.etcd(paths["etcd"], layout),
            components.containerd(path_of("containerd"), layout, cni_folder() or Path("/usr/lib/cni")),
            components.api_server(paths["kube-apiserver"], authority, serving, kubelet_client, aggregation),
            components.kubelet(paths["kubelet"], layout, authority, serving, node),
            components.controller_manager(paths["kube-controller-manager"], authority, manager),
            components.scheduler(paths["kube-scheduler"], self._kubeconfig("system:kube-scheduler")),
            components.dns(paths["coredns"], layout, self._kubeconfig("system:coredns")),
            components.proxy(paths["kube-proxy"], layout, self._kubeconfig("system:kube-proxy")),
            metrics.daemon(paths["metrics-server"], serving, self._kubeconfig(metrics.USER)),
        ]

    def _kubeconfig(self, user: str) -> Path:
        return self.layout.config / f"{user.replace(':', '-')}.kubeconfig"

    def _certificates(self) -> None:
        authority = self._authority.create()
        authority.issue("serving", addresses=_SERVING)
        for user, groups in _CLIENTS.items():
            pair: Pair = authority.issue(user, groups)
            path = self.layout.admin if user == "admin" else self._kubeconfig(user)
            authority.kubeconfig(path, API_URL, pair)

    def _launch(self, daemon: Daemon) -> None:
        for path, text in daemon.files.items():
            write_atomically(path, text, mode=0o600)
        log = self.layout.logs / f"{daemon.name}.log"
        remember(self.layout.pids, daemon.name, start(daemon.command, log), log)

    def _first_images(self, pause: Path) -> None:
        runtime.wait_ready(self.layout)
        runtime.import_pause(self.layout, pause)
        runtime.import_built(self.layout)

    def _wait(self, what: str, true: Callable[[], bool]) -> None:
        with doing(f"waiting for {what}"):
            deadline = time.monotonic() + _START_SECONDS
            while not true():
                for name, identity in remembered(self.layout.pids).items():
                    if not identity.alive:
                        raise ClusterError(f"{name} ended:\n{tail(self.layout.logs / f'{name}.log')}")
                if time.monotonic() > deadline:
                    raise ClusterError(f"{what}: not within {_START_SECONDS:.0f} s; the logs are in {self.layout.logs}")
                time.sleep(0.1)

    def _node_ready(self) -> bool:
        node: Any = self.api.get(f"/api/v1/nodes/{NODE}")
        if node is None or node["spec"].get("taints"):
            return False
        conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", [])}
        return conditions.get("Ready") == "True"

    def _allow_dns(self) -> None:
        """CoreDNS reads names and addresses and nothing else."""
        group = "/apis/rbac.authorization.k8s.io/v1"
        name = {"name": "system:coredns"}
        rules = [
            {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
        ]
        self.api.create(f"{group}/clusterroles", {"metadata": name, "rules": rules})
        binding = {
            "metadata": name,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", **name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", **name}],
        }
        self.api.create(f"{group}/clusterrolebindings", binding)

    def _refuse_other_nodes(self) -> None:
        """Two kubelets or kube-proxies in one network namespace would undo each other's rules."""
        ours = {identity.pid for identity in remembered(self.layout.pids).values() if identity.alive}
        here = Path("/proc/self/ns/net").readlink()
        for pid in all_pids():
            words = command_line(pid)
            if not words or Path(words[0]).name not in ("kubelet", "kube-proxy") or pid in ours:
                continue
            if any(f"{STATE}/" in word for word in words) or _namespace(pid) != here:
                continue
            raise ClusterError(
                f"another Kubernetes node runs on this machine (process {pid}, {words[0]}): "
                "name its context in LOADTEST_CONTEXT, or stop it"
            )


def _namespace(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/ns/net").readlink()
    except OSError:
        return None
