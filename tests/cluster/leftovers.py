"""Removes what a run leaves behind: processes, mounts, sockets, log links, files."""

import shutil
import socket
import subprocess
from pathlib import Path

from tests.cluster.components import Layout
from tests.cluster.log import ClusterError
from tests.cluster.processes import Identity, all_pids, command_line, end, identify, remembered

_PROGRAMS = frozenset(
    (
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
        "coredns",
        "containerd",
        "containerd-shim-runc-v2",
    )
)
_SHIM_SOCKETS = Path("/run/containerd/s")
_LOG_LINKS = Path("/var/log/containers")


def end_processes(layout: Layout) -> None:
    """Ends the daemons of the pid files, then whatever else names our state folder on its command line.

    The second finds the shims of containers, and the daemons of a run whose pid files are lost.
    """
    # Killed at once: all that they would save is thrown away. The kubelet comes before containerd, and both before
    # the pods, because they would start again what goes away.
    known = remembered(layout.pids)
    for names in (("kubelet",), ("containerd",), tuple(known)):
        end([known[name] for name in names if name in known], patience=0.0)
    end(_strays(layout), patience=0.0)


def _strays(layout: Layout) -> list[Identity]:
    found = []
    for pid in all_pids():
        words = command_line(pid)
        if words and Path(words[0]).name in _PROGRAMS and any(f"{layout.state}/" in word for word in words[1:]):
            identity = identify(pid)
            if identity:
                found.append(identity)
    return found


def unmount(layout: Layout) -> None:
    """Unmounts everything below the state folder: volumes, root file systems, network namespaces of pods."""
    for target in reversed(_mounts(layout.state)):
        subprocess.run(["umount", "--lazy", str(target)], capture_output=True, check=False)
    left = _mounts(layout.state)
    if left:
        raise ClusterError(f"still mounted: {', '.join(map(str, left))}")


def _mounts(below: Path) -> list[Path]:
    points = [
        Path(line.split()[4].encode().decode("unicode_escape"))
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
    ]
    return [point for point in points if point.is_relative_to(below)]


def remove_files(layout: Layout) -> None:
    """Removes the state folder, dead sockets of shims, and links to pod logs that are gone."""
    shutil.rmtree(layout.state, ignore_errors=True)
    if layout.state.exists():
        raise ClusterError(f"{layout.state} cannot be removed")
    for path in _SHIM_SOCKETS.glob("*"):
        if path.is_socket() and not _answers(path):
            path.unlink(missing_ok=True)
    for link in _LOG_LINKS.glob("*.log"):
        if link.is_symlink() and link.readlink().is_relative_to(layout.pod_logs):
            link.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True
