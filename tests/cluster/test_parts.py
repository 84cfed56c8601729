"""The parts of the embedded cluster that can go wrong without a cluster."""

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.archive import write_archive, write_layer
from tests.cluster.base import mirror_in
from tests.cluster.components import Daemon, fingerprint
from tests.cluster.engine import Engine, working_engine
from tests.cluster.images import full_name
from tests.cluster.kind import Kind, NamedContext, other_cluster
from tests.cluster.network import without_chains
from tests.cluster.processes import end, identify, remember, remembered, start

RULES = """\
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:KUBE-FORWARD - [0:0]
:LOADTEST-FENCE - [0:0]
:MINE - [0:0]
-A INPUT -p tcp --dport 22 -j ACCEPT
-A FORWARD -j LOADTEST-FENCE
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A KUBE-FORWARD -j ACCEPT
-A LOADTEST-FENCE -s 10.213.64.0/22 ! -o ltpods0 -j DROP
-A MINE -j RETURN
COMMIT
"""


def test_only_the_chains_of_the_cluster_are_removed_and_the_rules_that_lead_there() -> None:
    assert without_chains(RULES).splitlines() == [
        "*filter",
        ":INPUT ACCEPT [0:0]",
        ":FORWARD ACCEPT [0:0]",
        ":MINE - [0:0]",
        "-A INPUT -p tcp --dport 22 -j ACCEPT",
        "-A MINE -j RETURN",
        "COMMIT",
    ]


@pytest.mark.parametrize(
    ("text", "mirror"),
    [
        ("deb http://a.example/debian bookworm main contrib\n", "http://a.example/debian"),
        ("deb [signed-by=/k.gpg] http://a.example/debian bookworm main\n", "http://a.example/debian"),
        ("deb [ arch=amd64 ] http://a.example/debian bookworm main\n", "http://a.example/debian"),
        ("# deb http://a.example/debian bookworm main\n", None),
        ("deb http://a.example/other stable main\n", None),
        (
            "Types: deb\nURIs: http://b.example/d\nSuites: bookworm bookworm-updates\nComponents: main\n",
            "http://b.example/d",
        ),
        ("Types: deb\n# a note: here\nURIs: http://b.example/d\nSuites: bookworm\nComponents: contrib\n", None),
        (
            "URIs: http://x/\nSuites: s\nComponents: main\n\nURIs: http://y/\nSuites: bookworm\nComponents: main\n",
            "http://y/",
        ),
    ],
)
def test_the_mirror_is_the_one_that_brings_the_suite(text: str, mirror: str | None) -> None:
    assert mirror_in(text, "bookworm") == mirror


def test_an_archive_names_its_image_and_holds_its_layer(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/true\n")
    write_layer(tmp_path / "layer.tar", {"pause": program})
    write_archive(tmp_path / "image.tar", "docker.io/a/b:dev", tmp_path / "layer.tar", "amd64", ["/pause"])
    with tarfile.open(tmp_path / "image.tar") as archive:

        def read(name: str) -> bytes:
            member = archive.extractfile(name)
            assert member is not None
            return member.read()

        [manifest] = json.loads(read("manifest.json"))
        config = json.loads(read(manifest["Config"]))
        assert manifest["RepoTags"] == ["docker.io/a/b:dev"]
        assert config["config"]["Entrypoint"] == ["/pause"]
        assert [f"sha256:{name.removesuffix('.tar')}" for name in manifest["Layers"]] == config["rootfs"]["diff_ids"]
        assert read(manifest["Layers"][0]) == (tmp_path / "layer.tar").read_bytes()


def test_a_changed_option_or_file_is_another_set_up() -> None:
    daemon = Daemon("a", ["/bin/a", "--x=1"], {Path("/c"): "text"})
    others = [replace(daemon, command=["/bin/a", "--x=2"]), replace(daemon, files={Path("/c"): "other"})]
    assert fingerprint([daemon]) == fingerprint([replace(daemon)])
    assert fingerprint([daemon]) not in [fingerprint([other]) for other in others]


def test_a_daemon_is_known_again_by_its_pid_file_and_ended(tmp_path: Path) -> None:
    process = start(["sleep", "60"], tmp_path / "log")
    remember(tmp_path / "pids", "sleeper", process, tmp_path / "log")
    [(name, identity)] = remembered(tmp_path / "pids").items()
    assert (name, identity.pid, identity.program, identity.alive) == ("sleeper", process.pid, "sleep", True)
    end([identity], patience=0.0)
    assert not identity.alive
    process.wait()


def test_a_process_that_has_got_the_pid_of_a_dead_daemon_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            here = None
            while here is None:
                here = identify(process.pid)
            end([replace(here, started=here.started - 1), replace(here, boot="another")], patience=0.0)
            assert here.alive
        finally:
            process.kill()


def test_the_identity_of_a_process_is_read_from_proc() -> None:
    here = identify(os.getpid())
    assert here is not None
    assert here.alive
    assert identify(2**22 + 1) is None


def test_images_go_to_the_registry_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOADTEST_REGISTRY", raising=False)
    assert full_name("runner") == "docker.io/loadtest/runner:dev"
    monkeypatch.setenv("LOADTEST_REGISTRY", "registry.example/team")
    assert full_name("runner") == "registry.example/team/runner:dev"


def script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A PATH with nothing on it but what the test puts there, and no context named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LOADTEST_CONTEXT", raising=False)
    working_engine.cache_clear()
    yield tmp_path
    working_engine.cache_clear()


def test_a_client_without_its_daemon_is_no_engine(machine: Path) -> None:
    script(machine, "docker", "exit 1")
    assert working_engine() is None
    working_engine.cache_clear()
    script(machine, "podman", "exit 0")
    assert working_engine() == Engine("podman")


def test_kind_is_used_only_where_an_engine_works(machine: Path) -> None:
    script(machine, "kind", "exit 0")
    assert other_cluster() is None
    working_engine.cache_clear()
    script(machine, "docker", "exit 0")
    assert other_cluster() == Kind(Engine("docker"))


def test_a_named_context_comes_before_kind(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(machine, "kind", "exit 0")
    script(machine, "docker", "exit 0")
    monkeypatch.setenv("LOADTEST_CONTEXT", "mine")
    assert other_cluster() == NamedContext("mine")


def test_a_kind_cluster_that_exists_is_taken_and_not_made_again(machine: Path) -> None:
    script(machine, "kind", f'echo "$*" >> {machine}/calls; [ "$1" = get ] && echo loadtest; exit 0')
    Kind(Engine("docker")).up()
    calls = (machine / "calls").read_text().splitlines()
    assert calls[0] == "get clusters"
    assert calls[1].startswith("export kubeconfig --name loadtest --kubeconfig ")
