"""Builds the images of the Dockerfile and keeps them as archives in the cache, keyed by what goes into them."""

import hashlib
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.cluster.base import base_image
from tests.cluster.binaries import ensure_binaries
from tests.cluster.engine import Engine, working_engine
from tests.cluster.log import ClusterError, doing, say
from tests.cluster.packages import need
from tests.cluster.paths import CACHE, IMAGES, OUT, TREE, copy_if_changed, write_atomically

INPUTS = {
    "operator": ("requirements/operator.txt", "operator/loadtest", "operator/injector", ".build/bin/helm"),
    "injector": ("requirements/injector.txt", "operator/injector"),
    "runner": ("requirements/runner.txt", "samples/runner"),
    "redis": (),
}
"""What each target copies from the tree."""
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_STORE = CACHE / "buildah"


def full_name(target: str) -> str:
    """The name of an image: of the registry in LOADTEST_REGISTRY, else one that only the cluster's node has."""
    return f"{os.environ.get('LOADTEST_REGISTRY') or 'docker.io/loadtest'}/{target}:dev"


def build_images(targets: Iterable[str] = ()) -> None:
    """Builds the images that changed and writes their archives; all of them unless targets are named."""
    engine = working_engine()
    named = os.environ.get("BASE_IMAGE", "")
    base, archive = (named, None) if engine or named else base_image()
    copy_if_changed(ensure_binaries("helm")["helm"], OUT / "bin" / "helm")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for target in targets or INPUTS:
        key = _key(target, base)
        mark = IMAGES / f"{target}.key"
        if mark.exists() and mark.read_text() == key and (IMAGES / f"{target}.tar").exists():
            say(f"the image {target} is up to date")
            continue
        began = time.monotonic()
        with doing(f"building the image {target}"):
            if engine:
                _build_with_engine(engine, target, base)
            else:
                _build_with_buildah(target, base, archive)
        write_atomically(mark, key)
        say(f"built the image {target} in {time.monotonic() - began:.1f} s")


def _key(target: str, base: str) -> str:
    digest = hashlib.sha256(f"{full_name(target)} {base}".encode())
    for path in _files(("Dockerfile", ".dockerignore", *INPUTS[target])):
        digest.update(f"\0{path.relative_to(TREE)}\0{path.stat().st_mode:o}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        path = TREE / name
        if not path.exists():
            raise ClusterError(f"{name} is needed for the image and is not there")
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in found if each.is_file() and "__pycache__" not in each.parts)


def _build_with_engine(engine: Engine, target: str, base: str) -> None:
    arguments = ["--build-arg", f"BASE_IMAGE={base}"] if base else []
    engine.run("build", "--target", target, "--tag", full_name(target), *arguments, str(TREE))
    temporary = IMAGES / f".{target}.tar"
    temporary.unlink(missing_ok=True)
    engine.run("save", "--output", str(temporary), full_name(target))
    temporary.replace(IMAGES / f"{target}.tar")


def _build_with_buildah(target: str, base: str, archive: Path | None) -> None:
    need("buildah")
    if archive and _buildah("images", "--quiet", base, check=False).returncode:
        _buildah("pull", "--quiet", f"docker-archive:{archive}")
    options = ["--isolation", "chroot", "--network", "host", "--layers", "--pull-never" if archive else "--pull"]
    options += ["--build-arg", f"BASE_IMAGE={base}"]
    if Path(_CERTIFICATES).exists():
        # The machine may trust authorities that the base does not know: what RUN downloads is checked against these.
        options += ["--volume", f"{_CERTIFICATES}:{_CERTIFICATES}:ro", "--build-arg", f"PIP_CERT={_CERTIFICATES}"]
    if os.environ.get("PIP_INDEX_URL"):
        options += ["--build-arg", f"PIP_INDEX_URL={os.environ['PIP_INDEX_URL']}"]
    _buildah("build", "--quiet", *options, "--target", target, "--tag", full_name(target), str(TREE))
    temporary = IMAGES / f".{target}.tar"
    temporary.unlink(missing_ok=True)
    _buildah("push", "--quiet", full_name(target), f"docker-archive:{temporary}:{full_name(target)}")
    temporary.replace(IMAGES / f"{target}.tar")


def _buildah(*arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    store = ["--root", str(_STORE / "root"), "--runroot", str(_STORE / "run"), "--storage-driver", "overlay"]
    done = subprocess.run(["buildah", *store, *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ClusterError(f"buildah {arguments[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done
