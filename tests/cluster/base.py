"""Makes the base image out of Debian packages, where no image registry can be reached."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.cluster.archive import write_archive
from tests.cluster.log import ClusterError, doing
from tests.cluster.packages import need
from tests.cluster.paths import CACHE
from tests.cluster.runtime import ARCHITECTURE

_INCLUDED = "python3,python3-venv,ca-certificates"
_RECIPE = "1"
"""Counts the changes of how the base is made."""
_UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/lib/apt/lists", "var/cache")
_BASES = CACHE / "base"


def base_image() -> tuple[str, Path]:
    """The name of the base image and its archive, made first (about a minute) if the cache does not hold it."""
    mirror, suite = _source()
    key = hashlib.sha256(f"{suite} {_INCLUDED} {ARCHITECTURE} {_RECIPE}".encode()).hexdigest()[:12]
    name, archive = f"localhost/loadtest-base:{key}", _BASES / f"{key}.tar"
    if not archive.exists():
        need("debootstrap")
        _BASES.mkdir(parents=True, exist_ok=True)
        with doing(f"making a base image of {suite} with debootstrap"):
            work = Path(tempfile.mkdtemp(prefix=".work-", dir=_BASES))
            try:
                _bootstrap(work / "root", suite, mirror)
                _pack(work / "root", work / "layer.tar")
                write_archive(archive, name, work / "layer.tar", ARCHITECTURE, [])
            finally:
                _unmount(work / "root")
                shutil.rmtree(work, ignore_errors=True)
    return name, archive


def _bootstrap(root: Path, suite: str, mirror: str) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={_INCLUDED}", suite, str(root), mirror]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"debootstrap failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    for folder in _UNNEEDED:
        for entry in (root / folder).glob("*"):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _pack(root: Path, layer: Path) -> None:
    options = ["--numeric-owner", "--sort=name", "--one-file-system", "--exclude=./dev/*"]
    done = subprocess.run(
        ["tar", *options, "-C", str(root), "-cf", str(layer), "."], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"tar failed: {done.stderr.strip()}")


def _unmount(root: Path) -> None:
    """A debootstrap that was stopped leaves its /proc mounted."""
    for name in ("proc", "sys", "dev/pts", "dev"):
        if (root / name).is_mount():
            subprocess.run(["umount", "--lazy", str(root / name)], capture_output=True, check=False)


def _source() -> tuple[str, str]:
    """Mirror and suite of this machine's own Debian, from its apt configuration."""
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line.count("=") == 1
    )
    suite = release.get("VERSION_CODENAME", "").strip('"')
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        mirror = mirror_in(path.read_text(), suite) if path.is_file() else None
        if mirror:
            return mirror, suite
    raise ClusterError("this machine's apt names no Debian mirror: set BASE_IMAGE to an image that can be pulled")


def mirror_in(text: str, suite: str) -> str | None:
    """The first address that brings this suite's `main`, in either format of apt's source lists."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if ":" in line and not line.startswith(("#", " "))]
        fields = dict(line.split(":", 1) for line in lines)
        if suite in fields.get("Suites", "").split() and "main" in fields.get("Components", "").split():
            return fields["URIs"].split()[0]
    for line in text.splitlines():
        words = [word for word in line.split() if not word.startswith(("[", "signed-by", "arch=")) and word != "]"]
        if words[:1] == ["deb"] and words[2:3] == [suite] and "main" in words[3:]:
            return words[1]
    return None
