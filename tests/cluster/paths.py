"""Where things lie: the tree, the cache outside the tree, the state of the running cluster."""

import os
import shutil
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
BUILD = TREE / "build"
OUT = TREE / ".build"
"""Made by the build, ignored by git: the kubeconfig of the cluster and the binaries that images take in."""
KUBECONFIG = OUT / "kubeconfig"

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "loadtest-operator"
BINARIES = CACHE / "bin"
IMAGES = CACHE / "images"
STATE = CACHE / "cluster"
"""All files of the running cluster; `down` removes this folder and keeps the others."""
LOCK = CACHE / "lock"


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    """Writes a file so that a reader, or a run after a kill, sees the old text or the new one and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.chmod(mode)
    temporary.replace(path)


def copy_if_changed(source: Path, target: Path) -> None:
    """Copies a file with its times unless the target already is that copy: image layers stay cached."""
    if target.exists():
        ours, theirs = target.stat(), source.stat()
        if (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copy2(source, temporary)
    temporary.replace(target)
