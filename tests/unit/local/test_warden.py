"""The warden with real processes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from loadtest.local import warden

SECONDS = 60
FAMILY = "(trap '' TERM; setsid sleep 1000 & sleep 1000 & echo up; wait) & echo $!; trap '' TERM; wait"


def begin(*command: str, grace: float = 30) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", warden.__file__, str(grace), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[str, int]:
    """What it still says, and its exit code; the lifeline is held until then."""
    assert process.stdin
    assert process.stdout
    with contextlib.closing(process.stdin), process.stdout as output:
        return output.read(), process.wait(SECONDS)


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    """A program with children of which one has a session of its own, and which all ignore SIGTERM."""
    process = begin("/bin/sh", "-c", FAMILY, grace=0.2)
    assert process.stdout
    while "up" not in process.stdout.readline():
        assert process.poll() is None
    yield process
    process.kill()
    end(process)


def descendants(process: subprocess.Popen[str]) -> list[psutil.Process]:
    deadline = time.monotonic() + SECONDS
    while len(found := psutil.Process(process.pid).children(recursive=True)) < 4:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=SECONDS)
    assert alive == []


@pytest.mark.parametrize(("command", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_code_is_that_of_the_program(command: str, code: int) -> None:
    process = begin("/bin/sh", "-c", command)
    assert end(process) == ("", code)


def test_a_program_that_is_not_there_is_127() -> None:
    assert end(begin("/no/such/program")) == ("", 127)


def test_the_end_of_the_lifeline_ends_the_whole_family(family: subprocess.Popen[str]) -> None:
    members = descendants(family)
    assert family.stdin
    family.stdin.close()
    assert_gone(members)


def test_what_ignores_sigterm_is_killed_after_the_grace(family: subprocess.Popen[str]) -> None:
    members = descendants(family)
    family.send_signal(signal.SIGTERM)
    assert_gone(members)
    family.wait(SECONDS)


def test_a_program_is_given_its_time_to_end() -> None:
    process = begin("/bin/sh", "-c", "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done")
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGTERM)
    assert end(process) == ("bye\n", 5)


def test_a_program_dies_with_a_warden_that_is_killed() -> None:
    process = begin("/bin/sh", "-c", "echo up; exec sleep 1000")
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    found = psutil.Process(process.pid).children()
    process.kill()
    assert_gone(found)
    end(process)
