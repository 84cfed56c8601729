"""The control groups of the pods: made before the kubelet starts, and the surest list of what pods still run."""

import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.components import CGROUP
from tests.cluster.log import ClusterError
from tests.cluster.processes import Identity, end, identify

_ROOT = Path("/sys/fs/cgroup")
_NAME = CGROUP.strip("/")


def set_up() -> None:
    """Makes the group that all pods live below, in every hierarchy, with its controllers switched on."""
    for parent in _hierarchies():
        group = parent / _NAME
        group.mkdir(exist_ok=True)
        if (parent / "cpuset.cpus").exists() and not (group / "cpuset.cpus").read_text().strip():
            # A cgroup v1 cpuset starts empty, and nothing can run in an empty one.
            for name in ("cpuset.cpus", "cpuset.mems"):
                (group / name).write_text((parent / name).read_text())
        if (_ROOT / "cgroup.controllers").exists():
            for level in (parent, group):
                wanted = (level / "cgroup.controllers").read_text().split()
                (level / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))


def take_down() -> None:
    """Kills every process of every pod and removes the groups."""
    for parent in _hierarchies():
        group = parent / _NAME
        if group.exists():
            end(_members(group), patience=0.0)
            _remove(group)


def _hierarchies() -> list[Path]:
    """The top of the single hierarchy of cgroup v2, or of each one of v1."""
    if (_ROOT / "cgroup.controllers").exists():
        return [_ROOT]
    return [entry for entry in sorted(_ROOT.iterdir()) if entry.is_dir() and not entry.is_symlink()]


def _members(group: Path) -> Iterator[Identity]:
    for listing in group.rglob("cgroup.procs"):
        for pid in listing.read_text().split():
            identity = identify(int(pid))
            if identity:
                yield identity


def _remove(group: Path) -> None:
    deadline = time.monotonic() + 10.0
    while group.exists():
        # Deepest first; a group stays busy for a moment after its last process is gone.
        for folder in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            _try_rmdir(folder)
        _try_rmdir(group)
        if time.monotonic() > deadline:
            raise ClusterError(f"the control group {group} cannot be removed")
        if group.exists():
            time.sleep(0.05)


def _try_rmdir(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
