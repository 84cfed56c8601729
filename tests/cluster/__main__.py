"""The commands behind the make targets.

up: a ready cluster, the running one if it is whole; prints the path of its kubeconfig.
down: the cluster and all its traces are gone; built programs and images stay in the cache.
images: builds what changed and loads it into the cluster that runs, if one does.
status: prints `up`, or what is wrong.
"""

import argparse
import fcntl
import os
import sys

from tests.cluster.embedded import Cluster
from tests.cluster.images import INPUTS, build_images
from tests.cluster.kind import other_cluster
from tests.cluster.log import ClusterError, say
from tests.cluster.paths import LOCK


def main() -> int:
    """Runs one command; an error is one message and exit code 1."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python3 -m tests.cluster", description=__doc__, formatter_class=raw)
    parser.add_argument("command", choices=("up", "down", "images", "status"))
    parser.add_argument("targets", nargs="*", metavar="IMAGE", help=f"images only: some of {', '.join(INPUTS)}")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.targets) - set(INPUTS))
    if unknown:
        parser.error(f"no such image: {', '.join(unknown)}")
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    try:
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _run(arguments.command, arguments.targets)
    except ClusterError as error:
        say(f"failed: {error}")
    except KeyboardInterrupt:
        say("stopped; the next `up` or `down` clears away what is half done")
    return 1


def _run(command: str, targets: list[str]) -> int:
    cluster = other_cluster() or _embedded()
    if command == "up":
        sys.stdout.write(f"{cluster.up()}\n")
    elif command == "down":
        cluster.down()
    elif command == "images":
        build_images(targets)
        if not cluster.fault():
            cluster.load_images()
    else:
        fault = cluster.fault()
        sys.stdout.write(f"{fault or 'up'}\n")
        return 1 if fault else 0
    return 0


def _embedded() -> Cluster:
    if os.geteuid() != 0:
        raise ClusterError("the embedded cluster needs root, for networks, mounts and control groups")
    return Cluster()


if __name__ == "__main__":
    sys.exit(main())
