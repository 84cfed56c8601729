"""`python -m tests.bench`: the usual parts, or those that are named; results go to .bench/."""

import argparse
import json
import os
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import master, percentiles, replay, think, throughput
from tests.bench.cases import CASES
from tests.bench.programs import BenchError, busy_percent
from tests.bench.site import Site, serving
from tests.bench.throughput import say
from tests.cluster.binaries import ensure_binaries
from tests.cluster.log import ClusterError
from tests.cluster.packages import need, path_of
from tests.cluster.paths import TREE

OUT = TREE / ".bench"
PAGE = TREE / "docs" / "how-load-is-made.md"
MOST_BUSY_PERCENT = 5.0
USUAL = ("throughput", "think", "percentiles", "master")
"""Twelve minutes, all together."""

PARTS = (*USUAL, "replay")


def main() -> int:
    """Run the parts one after the other; 1 where a measurement could not be made or is not to be believed."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends what was started, as Ctrl-C does
    OUT.mkdir(exist_ok=True)
    try:
        if "percentiles" in arguments.parts:
            _percentiles(arguments.values)
        if {"throughput", "think", "master"} & set(arguments.parts):
            _measure(arguments)
        if "replay" in arguments.parts:
            with tempfile.TemporaryDirectory(prefix="loadtest-bench-") as folder:
                _write("replay", replay.table(replay.run(arguments.replay_seconds, Path(folder) / "replay")))
        if arguments.docs:
            fill(PAGE)
    except (BenchError, ClusterError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all but replay)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of one measurement (default: 4)")
    parser.add_argument("--think-seconds", type=float, default=12.0, help="of one stage of thinking users")
    parser.add_argument("--master-seconds", type=float, default=15.0, help="of one stage of made-up workers")
    parser.add_argument("--replay-seconds", type=float, default=300.0, help="of the replay against the sample Runner")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--values", type=int, default=1_000_000, help="of the study of percentiles")
    parser.add_argument("--docs", action="store_true", help=f"write the tables into {PAGE.relative_to(TREE)}")
    arguments = parser.parse_args()
    arguments.parts = arguments.parts or list(USUAL)
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if min(value for value in vars(arguments).values() if type(value) in {int, float}) <= 0:
        parser.error("rounds, seconds and values are above 0")
    return arguments


def _measure(arguments: argparse.Namespace) -> None:
    if (os.cpu_count() or 1) < 2:
        raise BenchError("the bench needs two cores: one for the server, one for the load")
    need("taskset")
    if (busy := busy_percent()) > MOST_BUSY_PERCENT:
        say(f"other programs use {busy:.0f} % of this machine: the figures will be theirs as much as ours")
    if "master" in arguments.parts:
        with tempfile.TemporaryDirectory(prefix="loadtest-bench-") as folder:
            crews = master.run(arguments.master_seconds, Path(folder))
        _write("master", master.table(crews, seconds=arguments.master_seconds))
    if {"throughput", "think"} & set(arguments.parts):
        _measure_site(arguments)


def _measure_site(arguments: argparse.Namespace) -> None:
    need("nginx", "wrk", "openssl")
    programs = {"k6": ensure_binaries("k6")["k6"], "wrk": path_of("wrk")}
    with tempfile.TemporaryDirectory(prefix="loadtest-bench-") as temporary, serving(Path(temporary) / "site") as site:
        folder = Path(temporary)
        if "throughput" in arguments.parts:
            _throughput(site, arguments, folder, programs)
        if "think" in arguments.parts:
            stages = think.run(site, seconds=arguments.think_seconds, folder=folder / "think")
            _write("think", think.table(stages))


def _throughput(site: Site, arguments: argparse.Namespace, folder: Path, programs: dict[str, Path]) -> None:
    cases = [CASES[name] for name in arguments.cases]
    rates = throughput.run(
        site, cases, rounds=arguments.rounds, seconds=arguments.seconds, folder=folder, programs=programs
    )
    _write("throughput", throughput.table(rates, rounds=arguments.rounds, seconds=arguments.seconds))
    (OUT / "injector.json").write_text(json.dumps(throughput.document(rates), indent=2) + "\n")
    rounds = {name: {"requestsPerSecond": of.rounds, "serverPercent": of.server_percent} for name, of in rates.items()}
    (OUT / "injector-rounds.json").write_text(json.dumps(rounds, indent=2) + "\n")
    for line in throughput.missed(rates):
        sys.stdout.write(f"below what is wanted: {line}\n")


def _percentiles(count: int) -> None:
    found = percentiles.study(count)
    (OUT / "percentiles-all.md").write_text(percentiles.table(found, count))
    _write("percentiles", percentiles.summary(found, count))


def _write(part: str, text: str) -> None:
    text += f"\nOn {_machine()}, {datetime.now(UTC):%d %B %Y}.\n"
    (OUT / f"{part}.md").write_text(text)
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


def _machine() -> str:
    """What it was measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "an unknown CPU")
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{os.cpu_count()} cores of {model}, Linux {os.uname().release.partition('-')[0]}, Python {python}"


def fill(page: Path) -> None:
    """Puts every table that was made between its markers on the page."""
    text = page.read_text()
    for part in PARTS:
        begin, end = f"<!-- bench:{part} -->\n", "<!-- bench:end -->"
        made = OUT / f"{part}.md"
        if made.exists():
            if begin not in text:
                raise BenchError(f"{page} has no place for {part}: {begin.strip()}")
            head, _, rest = text.partition(begin)
            _, _, tail = rest.partition(end)
            text = head + begin + made.read_text() + end + tail
    page.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
