"""`loadtest run --local`: from a file to a result on this machine; the exit code says how it went."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import click

from loadtest.cli.live import LiveView
from loadtest.cli.report import FILES, save, written
from loadtest.cli.sources import load
from loadtest.cli.watch import exit_code
from loadtest.local import sample
from loadtest.local.documents import BadFile, read
from loadtest.local.engine import Laptop, Outcome
from loadtest.local.served import Options
from loadtest.report import build, markdown

LOG = "run.log"
UNUSABLE = 2
INTERRUPTED = 130


def run_local(file: Path, files: tuple[str, ...], options: Options, *, strict: bool = False) -> int:
    """Run the LoadTest of `file` on child processes of this machine; `strict` as for `exit_code`."""
    try:
        documents = read(file, files)
        view = LiveView()
        laptop = Laptop(documents, options, lambda text: view.say(f"* {text}"))
    except (BadFile, sample.Missing) as error:
        click.echo(f"{error}", err=True)
        return UNUSABLE
    _log_to(laptop.folder / LOG)
    try:
        outcome = asyncio.run(_drive(laptop, view))
        view.close()
    except KeyboardInterrupt:
        click.echo("stopped at once; what was measured by then is kept", err=True)
        return INTERRUPTED
    _tell(outcome)
    return exit_code(outcome.status, strict=strict)


async def _drive(laptop: Laptop, view: LiveView) -> Outcome:
    """Run it; the first signal aborts as `spec.abort` does, the second ends everything at once."""
    abort, loop, task = asyncio.Event(), asyncio.get_running_loop(), asyncio.current_task()

    def interrupt() -> None:
        if abort.is_set() and task is not None:
            task.cancel()
            return
        view.say("! aborting: the load is stopped, and what was measured is kept (once more: stop at once)")
        abort.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupt)
    try:
        return await laptop.run(abort, view.show)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _tell(outcome: Outcome) -> None:
    """Write the report in every format, print it, and say where everything is."""
    source = load(str(outcome.folder), None, None)
    for form, file in FILES.items():
        save(outcome.folder / file, written(source, form))
    click.echo()
    click.echo(markdown.text(build.brief(build.document(source.result))))
    ending = outcome.status.ending
    if ending is not None and ending.phase != "Succeeded":
        click.echo(f"{ending.phase}: {ending.reason}: {ending.message}\n")
    click.echo(f"report: {outcome.folder / FILES['html']}")
    click.echo(f"every figure, the records, the logs: {outcome.folder}")


def _log_to(path: Path) -> None:
    """The loop's own log goes to a file: the screen is for the view."""
    logging.basicConfig(
        filename=path, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
