"""Installs the Debian packages that a step needs, only those whose programs are missing."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.cluster.log import ClusterError, doing

_CNI_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin")

_PACKAGE_OF = {
    "containerd": "containerd",
    "runc": "runc",
    "cni": "containernetworking-plugins",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "mount": "mount",
    "openssl": "openssl",
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "redis-server": "redis-server",
    "nginx": "nginx-light",
    "prometheus": "prometheus",
    "wrk": "wrk",
    "taskset": "util-linux",
}


def cni_folder() -> Path | None:
    """The folder of the CNI plugins, None where they are not installed."""
    return next((Path(folder) for folder in _CNI_FOLDERS if Path(folder, "bridge").exists()), None)


def path_of(program: str) -> Path:
    """The full path of an installed program."""
    found = shutil.which(program)
    return Path(found) if found else Path("/usr/bin", program)


def need(*programs: str) -> None:
    """Makes sure that these programs are on the machine."""
    missing = [_PACKAGE_OF[name] for name in programs if not _present(name)]
    if not missing:
        return
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise ClusterError(f"install {' '.join(missing)} first (automatic only for root on Debian)")
    with doing(f"installing Debian packages: {' '.join(missing)}"):
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", *missing)
    absent = [name for name in programs if not _present(name)]
    if absent:
        raise ClusterError(f"still not on the PATH after the installation: {', '.join(absent)}")


def _present(name: str) -> bool:
    return bool(cni_folder()) if name == "cni" else bool(shutil.which(name))


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", "-qq", *arguments], env=environment, capture_output=True, text=True, check=False)
    # `update` may fail for one source of several and still have brought what is needed.
    if done.returncode and arguments[0] != "update":
        raise ClusterError(f"apt-get {arguments[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")
