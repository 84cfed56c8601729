"""Builds the pinned programs from the Go modules under build/, into a cache folder keyed by their content."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.log import ClusterError, doing
from tests.cluster.paths import BINARIES, BUILD


@dataclass(frozen=True)
class Module:
    """One Go module of ours that pins one upstream module and builds some of its commands."""

    folder: str
    upstream: str
    commands: dict[str, str] = field(hash=False)
    """Program name to the package that makes it; the program is named after the package's last element or renamed."""
    stamps: tuple[str, ...] = ()
    """What the linker writes into the programs, `variable=value`; VERSION stands for the pinned version."""

    @property
    def version(self) -> str:
        """The pinned upstream version, without its v; our own programs have none."""
        if not self.upstream:
            return "own"
        found = re.search(rf"{re.escape(self.upstream)} v(\S+)", (BUILD / self.folder / "go.mod").read_text())
        if not found:
            raise ClusterError(f"build/{self.folder}/go.mod does not require {self.upstream}")
        return found[1]

    @property
    def target(self) -> Path:
        """The cache folder of this module's programs: another version or another lock is another folder."""
        digest = hashlib.sha256(" ".join(self.stamps).encode())
        for name in ("go.mod", "go.sum", "main.go"):
            path = BUILD / self.folder / name
            digest.update(path.read_bytes() if path.exists() else b"-")
        return BINARIES / f"{self.folder}-{self.version}-{digest.hexdigest()[:10]}"


_KUBE = "k8s.io/kubernetes/cmd"
_KUBERNETES = Module(
    "kubernetes",
    "k8s.io/kubernetes",
    {
        name: f"{_KUBE}/{name}"
        for name in (
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kube-proxy",
            "kubelet",
            "kubectl",
        )
    },
    ("k8s.io/component-base/version.gitVersion=VERSION",),
)
_ETCD = Module("etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"})
_HELM = Module(
    "helm",
    "helm.sh/helm/v3",
    {"helm": "helm.sh/helm/v3/cmd/helm"},
    (
        "helm.sh/helm/v3/internal/version.version=VERSION",
        # What charts are told when no cluster is asked: the version of the client that helm is built with.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1",
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=34",
    ),
)
_COREDNS = Module("coredns", "github.com/coredns/coredns", {"coredns": "."})
_METRICS = Module("metrics-server", "sigs.k8s.io/metrics-server", {"metrics-server": "."})
_PAUSE = Module("pause", "", {"pause": "."})
_K6 = Module("k6", "go.k6.io/k6", {"k6": "go.k6.io/k6"})

_HOME = {
    name: module for module in (_ETCD, _KUBERNETES, _COREDNS, _METRICS, _HELM, _PAUSE, _K6) for name in module.commands
}

API_SERVER = ("etcd", "kube-apiserver")
CLUSTER = (
    *API_SERVER,
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "coredns",
    "metrics-server",
    "pause",
)


def locations(*names: str) -> dict[str, Path]:
    """Where each named program lies once it is built."""
    return {name: _HOME[name].target / name for name in names}


def ensure_binaries(*names: str) -> dict[str, Path]:
    """Returns the path of each named program, building first what the cache does not hold.

    A cold build takes minutes on two cores (the API server four), one from the compiler's cache seconds.
    """
    paths = locations(*names)
    if all(path.exists() for path in paths.values()):
        return paths
    with _one_builder():
        for module in dict.fromkeys(_HOME[name] for name in names):
            missing = [name for name in names if _HOME[name] is module and not paths[name].exists()]
            if missing:
                _build(module, missing)
    return paths


def kubectl() -> Path:
    """The machine's own kubectl, or the one built from our module."""
    own = shutil.which("kubectl")
    return Path(own) if own else ensure_binaries("kubectl")["kubectl"]


@contextmanager
def _one_builder() -> Iterator[None]:
    BINARIES.mkdir(parents=True, exist_ok=True)
    with (BINARIES / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(module: Module, names: list[str]) -> None:
    if not shutil.which("go"):
        raise ClusterError("the programs of the cluster are built with Go 1.24 or newer: put `go` on the PATH")
    target = module.target
    work = target.with_name(f".{target.name}.{os.getpid()}")
    work.mkdir(parents=True)
    flags = " ".join(["-s -w", *(f"-X {stamp.replace('VERSION', f'v{module.version}')}" for stamp in module.stamps)])
    try:
        with doing(f"building {', '.join(names)} {module.version}"):
            for packages, output in _invocations(module, names, work):
                _go(module, flags, packages, output)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            (work / name).replace(target / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _invocations(module: Module, names: list[str], work: Path) -> list[tuple[list[str], Path]]:
    """One call of the compiler for all commands that keep their package's name, else one for each."""
    packages = [module.commands[name] for name in names]
    if all(package.rsplit("/", 1)[-1] == name for package, name in zip(packages, names, strict=True)):
        return [(packages, work)]
    return [([package], work / name) for package, name in zip(packages, names, strict=True)]


def _go(module: Module, flags: str, packages: list[str], output: Path) -> None:
    target = f"{output}/" if output.is_dir() else str(output)
    command = ["nice", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", target, *packages]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    done = subprocess.run(
        command, cwd=BUILD / module.folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"go build in build/{module.folder} failed:\n{done.stderr[-4000:]}")
