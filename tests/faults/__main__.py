"""All fault runs, or some: `python -m tests.faults [--only ID] [--layer loop] [--every 20] [--list]`.

Each run has an id, and the id alone repeats it. The last line says how many passed, failed, and are not applicable.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from tests.faults import layers


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 1 where a run failed, 2 where nothing was asked for."""
    asked = _arguments(arguments)
    chosen = [layer for layer in layers.LAYERS if asked.layer in {layer.name, "all"}]
    total: Counter[str] = Counter()
    for layer in chosen:
        ids = _chosen(layer, asked)
        if asked.list:
            click.echo("\n".join(ids))
            continue
        if not ids:
            continue
        begun = time.monotonic()
        click.echo(f"{layer.name}: {len(ids)} runs: {layer.what}")
        count = _run(layer, ids)
        total += count
        seconds = time.monotonic() - begun
        click.echo(f"{layer.name}: {count['passed']} passed, {count['failed']} failed, {seconds:.0f} s")
    if asked.list:
        return 0
    if not asked.only and asked.every == 1:
        total["not applicable"] += _not_applicable(chosen)
    click.echo(f"faults: {total['passed']} passed, {total['failed']} failed, {total['not applicable']} not applicable")
    if not total["passed"] + total["failed"]:
        click.echo(f"no run has the id {asked.only}: see --list", err=True)
        return 2
    return 1 if total["failed"] else 0


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Fault runs; see docs/test-faults.md.")
    parser.add_argument("--only", action="append", default=[], help="an id, or a pattern with * (may be repeated)")
    parser.add_argument("--layer", default="all", choices=["all", *(layer.name for layer in layers.LAYERS)])
    parser.add_argument("--every", type=int, default=1, help="only each n-th run: a slice of everything")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    return parser.parse_args(arguments)


def _chosen(layer: layers.Layer, asked: argparse.Namespace) -> list[str]:
    ids = list(layer.ids())
    if asked.only:
        return [id_ for id_ in ids if any(fnmatch.fnmatchcase(id_, pattern) for pattern in asked.only)]
    return ids[:: asked.every]


def _run(layer: layers.Layer, ids: list[str]) -> Counter[str]:
    count: Counter[str] = Counter()
    for id_, wrong in layer.run(ids):
        count["failed" if wrong else "passed"] += 1
        if wrong:
            click.echo("\n".join([f"FAILED {id_}", *(f"    {line[:600]}" for line in wrong)]))
            click.echo(f"    again: python -m tests.faults --only '{id_}'")
    return count


def _not_applicable(chosen: list[layers.Layer]) -> int:
    cells = list(_reasons(chosen))
    for id_, reason in cells:
        click.echo(f"not applicable: {id_}: {reason}")
    return len(cells)


def _reasons(chosen: list[layers.Layer]) -> Iterator[tuple[str, str]]:
    for layer in chosen:
        yield from layer.not_applicable()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
