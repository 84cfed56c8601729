"""`python warden.py GRACE_SECONDS PROGRAM [ARGUMENT...]`: runs a program and sees to it that it leaves nothing behind.

Standard input is a pipe whose other end the engine holds and never writes to. Its end of file says that the engine is
gone, be it by SIGKILL: then the program and all its descendants are killed at once. SIGTERM to the warden is passed to
the program; what is left of it after the grace is killed. The exit code is the program's, 128 + n for signal n.

A file of its own, run as a script: it must start fast, and imports nothing of `loadtest`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_SECONDS = 0.05
SIGNALLED = 128
NOT_STARTED = 127
LIFELINE = 0


def main(arguments: list[str]) -> int:
    """Run the program until it ends, until SIGTERM, or until the lifeline is cut."""
    grace, command = float(arguments[0]), arguments[1:]
    _prctl(PR_SET_CHILD_SUBREAPER)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    asked: list[int] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: asked.append(received))
    program = _start(command)
    code: int | None = None
    deadline: float | None = None
    while code is None:
        if asked and deadline is None:
            deadline = time.monotonic() + grace
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, signal.SIGTERM)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([LIFELINE, reading], [], [], left)
        if LIFELINE in ready or left == 0.0:
            deadline = 0.0
            break
        if reading in ready:
            os.read(reading, 512)
        code = _reap(program)
    _end_descendants(deadline if deadline is not None else time.monotonic() + grace)
    return SIGNALLED + signal.SIGKILL if code is None else code


def _start(command: list[str]) -> int:
    """Fork and become the program; its process id. This process has one thread, so that a fork is safe."""
    warden = os.getpid()
    program = os.fork()
    if program:
        return program
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != warden:  # it was killed before the line above
        os._exit(NOT_STARTED)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), LIFELINE)
    try:
        os.execvp(command[0], command)  # noqa: S606 - an argv, no shell
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(NOT_STARTED)


def _reap(program: int) -> int | None:
    """Collect every child that has ended, also those left to us; the program's exit code, None while it runs."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                status = os.waitstatus_to_exitcode(ended[1])
                code = SIGNALLED - status if status < 0 else status
    return code


def _end_descendants(deadline: float) -> None:
    """End all descendants: politely until `deadline`, then by SIGKILL, until none is left."""
    told: set[int] = set()
    while living := [child for child in psutil.Process().children(recursive=True) if _lives(child)]:
        kill = time.monotonic() >= deadline
        for child in living:
            if kill or child.pid not in told:
                told.add(child.pid)
                with contextlib.suppress(psutil.Error):
                    child.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        time.sleep(LOOK_SECONDS)
        _reap(-1)


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _prctl(option: int, value: int = 1) -> None:
    """Linux alone has it; elsewhere descendants that leave the family of the program are not found."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
