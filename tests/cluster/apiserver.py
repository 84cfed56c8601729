"""A private etcd and kube-apiserver: a real API for tests that need no nodes.

``with private_api_server() as server:`` gives a kubeconfig; ports are free ones of loopback, files lie in a temporary
folder, and both processes are gone after the block. RBAC is on, service account tokens are signed, and nothing else
runs: no controllers, no scheduler, no kubelet.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.api import Api
from tests.cluster.binaries import API_SERVER, ensure_binaries
from tests.cluster.components import api_server_command, etcd_command
from tests.cluster.log import ClusterError
from tests.cluster.packages import need
from tests.cluster.pki import Authority
from tests.cluster.processes import start, tail

_READY_SECONDS = 60.0
# A test run that is killed cannot clean up: the kernel then ends these processes with it.
_DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL")


@dataclass(frozen=True)
class PrivateApiServer:
    """A running API server."""

    url: str
    kubeconfig: Path
    """Of an administrator (group system:masters)."""
    authority: Authority
    folder: Path

    def kubeconfig_for(self, user: str, *groups: str) -> Path:
        """A kubeconfig of any other user, for tests of RBAC."""
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        return self.authority.kubeconfig(path, self.url, self.authority.issue(user, groups))


@contextmanager
def private_api_server() -> Iterator[PrivateApiServer]:
    """Starts both processes, waits until the API is ready (about 4 s), and ends them after the block."""
    need("openssl")
    binaries = ensure_binaries(*API_SERVER)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="loadtest-api-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        client_port, peer_port, port = _free_ports(3)
        etcd_url, url = f"http://127.0.0.1:{client_port}", f"https://127.0.0.1:{port}"
        etcd = etcd_command(binaries["etcd"], folder / "etcd", etcd_url, f"http://127.0.0.1:{peer_port}")
        stack.callback(_stop, etcd_process := start([*_DIE_WITH_US, *etcd], folder / "etcd.log"))
        authority = Authority(folder / "pki").create()
        serving = authority.issue("kube-apiserver", addresses=["IP:127.0.0.1", "DNS:localhost"])
        admin = authority.issue("admin", ["system:masters"])
        command = api_server_command(
            binaries["kube-apiserver"], authority, serving, etcd_url, address="127.0.0.1", port=port
        )
        stack.callback(_stop, api_process := start([*_DIE_WITH_US, *command], folder / "apiserver.log"))
        _wait(Api(url, authority.ca, admin), {"etcd": etcd_process, "apiserver": api_process}, folder)
        yield PrivateApiServer(url, authority.kubeconfig(folder / "kubeconfig", url, admin), authority, folder)


def _wait(api: Api, processes: dict[str, "subprocess.Popen[bytes]"], folder: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not api.ready():
        for name, process in processes.items():
            if process.poll() is not None:
                raise ClusterError(f"{name} ended with {process.returncode}:\n{tail(folder / f'{name}.log')}")
        if time.monotonic() > deadline:
            raise ClusterError(f"the API server was not ready in time:\n{tail(folder / 'apiserver.log')}")
        time.sleep(0.05)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    # Killed, not asked: nothing of it is kept, and an API server takes its time to drain watches.
    process.kill()
    process.wait()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
