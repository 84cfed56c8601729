"""The running containerd: waits for it, and gives it images."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

from tests.cluster.archive import write_archive, write_layer
from tests.cluster.components import PAUSE_IMAGE, Layout
from tests.cluster.log import ClusterError, say
from tests.cluster.paths import IMAGES, write_atomically

_READY_SECONDS = 30.0
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
ARCHITECTURE = _ARCHITECTURES.get(os.uname().machine, os.uname().machine)


def wait_ready(layout: Layout) -> None:
    """Waits until containerd answers on its socket."""
    deadline = time.monotonic() + _READY_SECONDS
    while _ctr(layout, "version").returncode:
        if time.monotonic() > deadline:
            raise ClusterError(f"containerd did not answer; see {layout.logs}/containerd.log")
        time.sleep(0.05)


def import_pause(layout: Layout, program: Path) -> None:
    """Makes the image of the pod sandboxes out of one static program and imports it."""
    layer, archive = layout.config / "pause-layer.tar", layout.config / "pause.tar"
    write_layer(layer, {"pause": program})
    write_archive(archive, PAUSE_IMAGE, layer, ARCHITECTURE, ["/pause"])
    _import(layout, archive)


def import_built(layout: Layout) -> None:
    """Imports every image that `make images` left in the cache and that this containerd does not have yet."""
    for archive in sorted(IMAGES.glob("*.tar")):
        digest = identity(archive)
        mark = layout.imported / archive.stem
        if mark.exists() and mark.read_text() == digest:
            continue
        began = time.monotonic()
        _import(layout, archive)
        write_atomically(mark, digest)
        say(f"imported the image {archive.stem} in {time.monotonic() - began:.1f} s")


def identity(archive: Path) -> str:
    """Tells two builds of an archive apart without reading it: size and time of writing."""
    stat = archive.stat()
    return hashlib.sha256(f"{stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()


def _import(layout: Layout, archive: Path) -> None:
    done = _ctr(layout, "-n", "k8s.io", "images", "import", "--snapshotter", "overlayfs", str(archive))
    if done.returncode:
        raise ClusterError(f"importing {archive.name} failed: {done.stderr.strip()}")


def _ctr(layout: Layout, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["ctr", "--address", str(layout.socket), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
