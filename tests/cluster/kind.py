"""Clusters that are not ours to make of processes: kind where an engine works, or a context that the user names."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.binaries import kubectl
from tests.cluster.engine import Engine, working_engine
from tests.cluster.images import INPUTS, full_name
from tests.cluster.log import ClusterError, doing, say
from tests.cluster.paths import IMAGES, KUBECONFIG, write_atomically

_NAME = "loadtest"


@dataclass(frozen=True)
class NamedContext:
    """A cluster that is there already, by the context of the user's own kubeconfig."""

    context: str

    def up(self) -> Path:
        """Writes a kubeconfig with only this context and checks that its API server is ready."""
        options = ["config", "view", "--minify", "--flatten", "--context", self.context, "--output", "json"]
        write_atomically(KUBECONFIG, _output([str(kubectl()), *options]), mode=0o600)
        _output([str(kubectl()), "--kubeconfig", str(KUBECONFIG), "get", "--raw", "/readyz"])
        say(f"using the context {self.context}")
        return KUBECONFIG

    def down(self) -> None:
        """Forgets the context; the cluster itself is the user's."""
        KUBECONFIG.unlink(missing_ok=True)

    def fault(self) -> str:
        """Empty if the cluster was taken into use."""
        return "" if KUBECONFIG.exists() else "not taken into use"

    def load_images(self) -> None:
        """Tells what to push: only the user knows how to log in to the registry that the cluster pulls from."""
        if not os.environ.get("LOADTEST_REGISTRY"):
            raise ClusterError("a named context pulls its images: set LOADTEST_REGISTRY and push them there")
        for target in INPUTS:
            say(f"push {IMAGES / f'{target}.tar'} as {full_name(target)}")


@dataclass(frozen=True)
class Kind:
    """A kind cluster of our own name."""

    engine: Engine

    def up(self) -> Path:
        """Creates the cluster, or takes the one that is there."""
        KUBECONFIG.parent.mkdir(parents=True, exist_ok=True)
        if _NAME in self._kind("get", "clusters").split():
            self._kind("export", "kubeconfig", "--name", _NAME, "--kubeconfig", str(KUBECONFIG))
        else:
            with doing("creating a kind cluster"):
                self._kind("create", "cluster", "--name", _NAME, "--kubeconfig", str(KUBECONFIG), "--wait", "180s")
        return KUBECONFIG

    def down(self) -> None:
        """Deletes the cluster."""
        self._kind("delete", "cluster", "--name", _NAME)
        KUBECONFIG.unlink(missing_ok=True)

    def fault(self) -> str:
        """Empty if the cluster is there."""
        return "" if _NAME in self._kind("get", "clusters").split() else "no kind cluster"

    def load_images(self) -> None:
        """Loads every built archive into the node."""
        for target in INPUTS:
            if (IMAGES / f"{target}.tar").exists():
                self._kind("load", "image-archive", str(IMAGES / f"{target}.tar"), "--name", _NAME)

    def _kind(self, *arguments: str) -> str:
        return _output(["kind", *arguments], {**os.environ, "KIND_EXPERIMENTAL_PROVIDER": self.engine.program})


def other_cluster() -> NamedContext | Kind | None:
    """The named context, else kind where it works, else None: then the embedded cluster is used."""
    context = os.environ.get("LOADTEST_CONTEXT")
    if context:
        return NamedContext(context)
    engine = working_engine() if shutil.which("kind") else None
    return Kind(engine) if engine else None


def _output(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise ClusterError(f"{' '.join(command[:3])} failed: {(done.stdout + done.stderr).strip()[-1000:]}")
    return done.stdout
