"""Does the suite notice? Takes one safeguard out of a copy of the tree at a time, and asks the tests.

`python -m tests.faults.mutations`; non-zero where a test run passed without the safeguard.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

TREE = Path(__file__).parents[2]
LIMIT_SECONDS = 900


@dataclass(frozen=True)
class Mutation:
    """One safeguard: where it is, what stands there, what it becomes, and the tests that must fail then."""

    safeguard: str
    file: str
    old: str
    new: str
    command: tuple[str, ...]


def _faults(*patterns: str) -> tuple[str, ...]:
    only = (word for pattern in patterns for word in ("--only", pattern))
    return (sys.executable, "-m", "tests.faults", *only)


def _pytest(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-q", "-x", *arguments)


MUTATIONS = (
    Mutation(
        "the Lease: one run at a time on a target",
        "operator/loadtest/core/decide.py",
        "(rest, admit, end, wind_down, own, run)",
        "(rest, admit, end, wind_down, run)",
        _faults("loop/operator-killed/killed/*"),
    ),
    Mutation(
        "the Lease is renewed while a run is on",
        "operator/loadtest/core/decide.py",
        "and renew_due(o):",
        "and False and renew_due(o):",
        _pytest("tests/unit/core/test_decide.py"),
    ),
    Mutation(
        "the snapshot before the first change",
        "operator/loadtest/core/preparing.py",
        "return _dead_man(o) or _snapshot(o) or _apply(o, plan)",
        "return _dead_man(o) or _apply(o, plan)",
        _faults("loop/operator-killed/killed/*"),
    ),
    Mutation(
        "the finalizer while a run is on",
        "operator/loadtest/handlers/loadtest.py",
        '    if status.get("phase") not in TERMINAL:\n        return True\n',
        '    if status.get("phase") not in TERMINAL:\n        return not meta.get("deletionTimestamp")\n',
        _faults("loop/LoadTest-deleted/deleted/*"),
    ),
    Mutation(
        "parts of a histogram that arrive twice count once",
        "operator/injector/loadtest_injector/tally.py",
        '        if part["seq"] in sender.seen:\n',
        '        if part["seq"] in sender.seen and False:\n',
        _pytest("tests/unit/injector", "-k", "dropped or duplicate or twice or tally"),
    ),
    Mutation(
        "the rollout gate",
        "operator/loadtest/core/injecting.py",
        "        if not gate.open:\n",
        "        if not gate.open and False:\n",
        _faults("loop/operator-killed/killed/*"),
    ),
    Mutation(
        "a start is noted before it is ordered",
        "operator/loadtest/core/project.py",
        "    if decision.started is not None and o.plan is not None:\n",
        "    if decision.started is not None and o.plan is None:\n",
        _faults("loop/operator-killed/killed/*"),
    ),
    Mutation(
        "time that the dead-man could not look does not count",
        "operator/loadtest/adapters/helm_job/dead_man.py",
        "min(now - self._seen, self._most)",
        "now - self._seen",
        _pytest("tests/unit/helm_job/test_dead_man.py"),
    ),
    Mutation(
        "what somebody else deployed is left alone",
        "operator/loadtest/adapters/helm_job/standing.py",
        "return Standing.OURS if marked and _has_variant(live, original, request) else Standing.FOREIGN",
        "return Standing.OURS",
        _pytest("tests/unit/helm_job"),
    ),
)


def main() -> int:
    """Try each mutation; 1 where one went unnoticed."""
    unnoticed = 0
    for mutation in MUTATIONS:
        noticed = _try(mutation)
        click.echo(f"{'noticed ' if noticed else 'UNNOTICED'} without: {mutation.safeguard}")
        unnoticed += not noticed
    click.echo(f"mutations: {len(MUTATIONS) - unnoticed} noticed, {unnoticed} unnoticed")
    return 1 if unnoticed else 0


def _try(mutation: Mutation) -> bool:
    with tempfile.TemporaryDirectory(prefix="loadtest-mutation-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(TREE, copy, ignore=shutil.ignore_patterns(".venv", ".git", ".build", "__pycache__", ".*_cache"))
        path = copy / mutation.file
        text = path.read_text()
        if text.count(mutation.old) != 1:
            raise SystemExit(f"{mutation.file} does not hold {mutation.old!r} once: correct this script")
        if not _passes_as_it_is(mutation.command):  # what fails without a mutation shows nothing
            raise SystemExit(f"{' '.join(mutation.command)} fails as the tree is")
        path.write_text(text.replace(mutation.old, mutation.new))
        return not _passes(mutation.command, copy, {**os.environ, "PYTHONPATH": _roots(copy)})


@functools.cache
def _passes_as_it_is(command: tuple[str, ...]) -> bool:
    return _passes(command, TREE, {**os.environ, "PYTHONPATH": _roots(TREE)})


def _roots(tree: Path) -> str:
    """Where Python looks first: at this tree, whatever is installed."""
    folders = (tree / "operator", tree / "operator" / "injector", tree / "samples" / "runner", tree)
    return os.pathsep.join(map(str, folders))


def _passes(command: tuple[str, ...], where: Path, environment: dict[str, str]) -> bool:
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, timeout=LIMIT_SECONDS, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
