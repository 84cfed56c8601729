"""A container engine of the machine, where one works: docker or podman."""

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from tests.cluster.log import ClusterError

_ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class Engine:
    """The command line of an engine."""

    program: str

    def run(self, *arguments: str) -> None:
        """Runs one command of it, its output shown only if it fails."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(f"{self.program} {arguments[0]} failed:\n{(done.stdout + done.stderr)[-4000:]}")


@cache
def working_engine() -> Engine | None:
    """The first engine that answers; a client without its daemon is none."""
    for program in ("docker", "podman"):
        if not shutil.which(program):
            continue
        try:
            done = subprocess.run([program, "info"], capture_output=True, timeout=_ANSWER_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            return Engine(program)
    return None
