"""`loadtest`: the commands, each in a module of its own. Imports are late, so that a small command starts fast."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="loadtest-operator", prog_name="loadtest")
def cli() -> None:
    """Run a whole performance investigation from one LoadTest resource.

    \b
    Typical use:
      loadtest plan loadtest.yaml               # what it would run
      loadtest run --local loadtest.yaml        # on this machine
      loadtest run loadtest.yaml                # on a cluster: apply, follow, tables, exit code
      kubectl apply -f loadtest.yaml
      loadtest watch my-test -n performance     # live
      loadtest wait my-test -n performance      # exit code by the result
      loadtest report my-test -n performance    # tables in Markdown
    """  # noqa: D301 - click reads the character itself: lines after it are not filled


@cli.command()
def operator() -> None:
    """Run the operator (its settings come from the environment; see the chart)."""
    from loadtest.cli.operator import main as run_operator

    sys.exit(run_operator())


@cli.command()
def crd() -> None:
    """Print the CustomResourceDefinition, for `kubectl apply -f -`."""
    from loadtest.api.crd import text

    click.echo(text(), nl=False)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and options in your shell.

    \b
    bash  loadtest completion bash > ~/.local/share/bash-completion/completions/loadtest
    zsh   loadtest completion zsh > ~/.zfunc/_loadtest      (a folder of your fpath)
    fish  loadtest completion fish > ~/.config/fish/completions/loadtest.fish
    """  # noqa: D301 - click reads the character itself: lines after it are not filled
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    if script is None:
        raise click.ClickException(f"this version of click completes nothing in {shell}")
    click.echo(script(cli, {}, "loadtest", "_LOADTEST_COMPLETE").source())


@cli.command(
    "helm-job",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
    hidden=True,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def helm_job(arguments: tuple[str, ...]) -> None:
    """Snapshot, change or restore a release; run by the operator as a Job."""
    from loadtest.adapters.helm_job import run

    sys.exit(run(arguments))


namespace_option = click.option(
    "-n", "--namespace", default=None, help="Namespace of the LoadTest; the context's own if left out."
)
context_option = click.option("--context", default=None, help="Context of the kubeconfig to use.")
strict_option = click.option("--strict", is_flag=True, help="Any missed objective gives exit code 3.")


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "-o", "--output", type=click.Choice(["md", "json", "yaml"]), default="md", show_default=True, help="Format."
)
def plan(file: Path, output: str) -> None:
    """Show what the LoadTest of a file would run: repeats, stages, time, pods, and what each variant sets.

    Nothing is touched and no cluster is needed. FILE may be - and hold other documents beside the LoadTest. Exit code
    2: it cannot be run; the message names the field and the remedy.
    """
    from loadtest.cli.plan import plan as run_plan

    sys.exit(run_plan(file, output))


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@namespace_option
@context_option
@strict_option
@click.option("--rerun", is_flag=True, help="In a cluster: run again a test that ran before, by a new spec.rerun.")
@click.option("--interval", default=2.0, show_default=True, help="In a cluster: seconds between two looks.")
@click.option("--local", is_flag=True, help="Run it on child processes of this machine: no cluster, no root.")
@click.option("--command", help="Local: shell command that serves the target on $PORT; else the sample Runner.")
@click.option(
    "--directory", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Local: where the command runs."
)
@click.option("--backends", is_flag=True, help="Local: also start Redis and a Datastore emulator for the command.")
@click.option("--file", "files", multiple=True, metavar="NAME/KEY=PATH", help="Local: a key of a ConfigMap or Secret.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Local: folder in which each run gets one of its own.  [default: loadtest-results]",
)
def run(
    file: Path,
    namespace: str | None,
    context: str | None,
    *,
    strict: bool,
    rerun: bool,
    interval: float,
    local: bool,
    command: str | None,
    directory: Path | None,
    backends: bool,
    files: tuple[str, ...],
    results: Path | None,
) -> None:
    """Run the LoadTest of FILE, follow it to its end, and print the result. The exit code is that of `wait`.

    FILE may also hold the ConfigMaps and Secrets that the LoadTest refers to. In a cluster all of it is applied.

    With --local, each variant's settings become environment variables of the target, by the preset or by
    target.release.settings, and the target is started anew for each. Ctrl-C aborts, and keeps what was measured.

    Exit code 2: the file, or the machine, lacks something; nothing was started.
    """
    only_local = {"--command": command, "--directory": directory, "--backends": backends, "--file": files}
    only_cluster = {"--namespace": namespace, "--context": context, "--rerun": rerun}
    for option, value in (only_cluster if local else only_local | {"--results": results}).items():
        if value:
            raise click.UsageError(f"{option} {'is for a cluster' if local else 'needs --local'}: leave one out")
    if not local:
        from loadtest.cli.apply import run_in_cluster

        sys.exit(run_in_cluster(file, namespace, context, rerun=rerun, interval=interval, strict=strict))
    if find_spec("locust") is None:
        raise click.ClickException(
            "--local needs Locust beside this command: use .venv/bin/loadtest of a clone after `make venv`"
        )
    from loadtest.cli.run import run_local
    from loadtest.local.served import Options

    options = Options(results or Path("loadtest-results"), command, directory, backends)
    sys.exit(run_local(file, files, options, strict=strict))


@cli.command()
@click.option("--seconds", type=click.IntRange(2, 600), default=10, show_default=True, help="How long to measure.")
def calibrate(seconds: int) -> None:
    """Measure how many requests a second of CPU makes on this machine, for `loadtest plan`.

    Users of a requests file load a small server on loopback. The figure is kept in loadtest/calibration.json under
    $XDG_CONFIG_HOME or ~/.config. Needs the injector's libraries beside the operator's.
    """
    from loadtest.cli.calibrate import calibrate as run_calibrate

    sys.exit(run_calibrate(seconds))


@cli.command()
@click.argument("name")
@namespace_option
@context_option
@click.option("--interval", default=2.0, show_default=True, help="Seconds between two looks.")
@strict_option
def watch(name: str, namespace: str | None, context: str | None, interval: float, strict: bool) -> None:
    """Follow a LoadTest until it ends: progress, current p99 and requests/s, and each finished stage."""
    from loadtest.cli.watch import watch as run_watch

    sys.exit(run_watch(name, namespace, context, interval, strict=strict))


@cli.command()
@click.argument("name")
@namespace_option
@context_option
@click.option("--timeout", default="13h", show_default=True, help="Give up after this long (exit code 124).")
@strict_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["line", "md", "json", "yaml"]),
    default="line",
    show_default=True,
    help="What to print at the end: one line, the tables, or the LoadTest.",
)
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write JUnit XML to this file.")
def wait(
    name: str,
    namespace: str | None,
    context: str | None,
    timeout: str,
    strict: bool,
    output: str,
    junit: Path | None,
) -> None:
    """Wait for the end of a LoadTest. The exit code says how it went.

    \b
    0  ran, no objective failed      5  could not run; the target is as it was
    3  ran, failed an objective      6  aborted or past its deadline; the target is as it was
    4  inconclusive                  7  the target is NOT restored
                                     124  still running after --timeout
    """  # noqa: D301 - as above
    from loadtest.cli.watch import wait as run_wait

    sys.exit(run_wait(name, namespace, context, timeout, strict=strict, form=output, junit=junit))


@cli.command()
@click.argument("name")
@namespace_option
@context_option
@click.option(
    "-o", "--output", type=click.Choice(["md", "html", "csv", "json"]), default="md", show_default=True, help="Format."
)
@click.option("-f", "--file", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to the screen.")
@click.option(
    "--save",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also keep the LoadTest, its records and the report in this folder.",
)
@click.option("--brief", is_flag=True, help="Only what fits on a screen; for -o md and html.")
@click.option(
    "--no-records",
    is_flag=True,
    help="Read no stored records, which take 100 MB of memory each for a long stage: no curves over time.",
)
@click.option(
    "--verify", is_flag=True, help="Recompute every figure from the stored records, and fail where one differs."
)
def report(
    name: str,
    namespace: str | None,
    context: str | None,
    output: str,
    file: Path | None,
    save: Path | None,
    *,
    brief: bool,
    no_records: bool,
    verify: bool,
) -> None:
    """Write the report of a LoadTest, or of a result that was saved.

    \b
    NAME is a LoadTest of the cluster, a folder that --save or `run --local` made, or a file with the YAML or JSON
    of `kubectl get loadtest`.
    -o html  one page with charts that needs no network      -o csv   every stage's figures, one row each
    -o md    the tables                                      -o json  the LoadTest with its status
    """  # noqa: D301 - click reads the character itself: lines after it are not filled
    from loadtest.cli.report import report as run_report

    sys.exit(
        run_report(name, namespace, context, output, file, save, brief=brief, records=not no_records, verify=verify)
    )


@cli.command()
@click.argument("first")
@click.argument("second")
@namespace_option
@context_option
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="FIRST=SECOND",
    help="Variants that belong together; those of the same name if left out.",
)
@click.option(
    "-o", "--output", type=click.Choice(["md", "html", "json"]), default="md", show_default=True, help="Format."
)
@click.option("-f", "--file", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to the screen.")
def compare(
    first: str,
    second: str,
    namespace: str | None,
    context: str | None,
    variants: tuple[str, ...],
    output: str,
    file: Path | None,
) -> None:
    """Compare a second result with a first one, stage by stage, and say what may be claimed of it.

    Each is a LoadTest of the cluster, a folder or file as for `report`, or a folder of published Locust CSVs. With
    the last, only the figures of past reports are compared: a LoadTest has them too. Exit code 2: the two have nothing
    in common.
    """
    from loadtest.cli.compare import compare as run_compare

    sys.exit(run_compare(first, second, namespace, context, variants, output, file))


@cli.command()
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    envvar="LOADTEST_WATCH_NAMESPACES",
    help="Only these namespaces; those of the operator's settings, or all, if left out.",
)
@context_option
@click.option("--timeout", default="15m", show_default=True, help="How long to wait for the targets to be restored.")
def uninstall(namespaces: tuple[str, ...], context: str | None, timeout: str) -> None:
    """Abort every running LoadTest and wait until its target is restored; before the operator is removed."""
    from loadtest.cli.uninstall import uninstall as run_uninstall

    chosen = tuple(name for entry in namespaces for name in entry.split(",") if name)
    sys.exit(run_uninstall(chosen, context, timeout))


@cli.command()
@click.argument("name")
@namespace_option
@context_option
@click.option("--timeout", default="15m", show_default=True, help="How long to wait for the target to be restored.")
def restore(name: str, namespace: str | None, context: str | None, timeout: str) -> None:
    """Have the target of a LoadTest put back: a run that is on is aborted, a restore that failed is tried again.

    \b
    0  the target is as it was       7  it is not; the last line says why and what to do
    """  # noqa: D301 - as above
    from loadtest.cli.restore import restore as run_restore

    sys.exit(run_restore(name, namespace, context, timeout))


@cli.group("import")
def import_() -> None:
    """Read what other tools made: recordings of browsers, results of Locust."""


@import_.command("har")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to the screen.")
@click.option("--schema-name", help="Name of the questionnaire that launch tokens are made for.")
@click.option("--host", help="Only requests to this host; the one of the first page if left out.")
@click.option("--id", "ids", multiple=True, help="A text of the recording that is an id made up by the target.")
def har(file: Path, output: Path | None, schema_name: str | None, host: str | None, ids: tuple[str, ...]) -> None:
    """Make a requests file out of a browser's recording (HAR).

    Pages (HTML and PDF) and forms are taken, without csrf_token. Ids that come back are proposed as redirect_route.
    """
    from loadtest.cli.import_har import import_har

    sys.exit(import_har(file, output, schema_name, host, ids))


@import_.command("locust")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Choice(["md", "json"]), default="md", show_default=True, help="Format.")
def locust(path: Path, output: str) -> None:
    """Read published Locust CSVs: every *_stats.csv of a folder, of any version of Locust.

    Shows the figures of past reports (request-weighted means of percentiles), Locust's own percentiles of all requests
    beside them, and what the former hide. In JSON nothing is rounded, and times are in milliseconds.
    """
    from loadtest.cli.import_locust import import_locust

    sys.exit(import_locust(path, output))


def main() -> None:
    """Entry point of the console script."""
    cli()
