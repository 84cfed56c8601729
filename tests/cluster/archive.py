"""Writes image archives (the format of `docker save`) without any engine: one layer, one name."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def write_archive(target: Path, name: str, layer: Path, architecture: str, entrypoint: list[str]) -> None:
    """Writes an archive of an image that has this tar file as its only layer."""
    with layer.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    config = json.dumps(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {"Entrypoint": entrypoint, "Env": [_PATH]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created_by": "loadtest-operator build"}],
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    with tarfile.open(temporary, "w") as archive:
        _add(archive, config_name, config)
        archive.add(layer, arcname=f"{digest}.tar")
        _add(archive, "manifest.json", json.dumps(manifest).encode())
    temporary.replace(target)


def write_layer(target: Path, files: dict[str, Path]) -> None:
    """Writes a layer of executables owned by root, without times, so that the same content has the same digest."""
    with tarfile.open(target, "w") as layer:
        for name, source in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = source.stat().st_size, 0o755
            with source.open("rb") as stream:
                layer.addfile(member, stream)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    archive.addfile(member, io.BytesIO(content))
