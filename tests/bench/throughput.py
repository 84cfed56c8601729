"""Requests per second of every tool from one core: alternating, several rounds, medians."""

import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.cases import CASES, CEILING, CONNECTIONS, TOOLS, Case
from tests.bench.site import Site
from tests.bench.tools import measure


@dataclass
class Rates:
    """Requests per second of one case: by tool one for each round, and the server's busiest core share."""

    rounds: dict[str, list[float]] = field(default_factory=dict)
    server_percent: dict[str, list[float]] = field(default_factory=dict)

    def median(self, tool: str) -> float:
        """The middle of the rounds."""
        return statistics.median(self.rounds[tool])


def run(
    site: Site, cases: list[Case], *, rounds: int, seconds: float, folder: Path, programs: dict[str, Path]
) -> dict[str, Rates]:
    """All measurements. In each round another tool is first, so that none always follows the same one."""
    rates = {case.name: Rates() for case in cases}
    for number in range(rounds):
        for case in cases:
            first = number % len(case.tools)
            for tool in case.tools[first:] + case.tools[:first]:
                before = site.cpu_seconds()
                counted = measure(tool, site, case, seconds, folder / f"{case.name}-{tool}-{number}", programs)
                busy = (site.cpu_seconds() - before) / seconds * 100
                rates[case.name].rounds.setdefault(tool, []).append(counted.rate)
                rates[case.name].server_percent.setdefault(tool, []).append(busy)
                say(f"round {number + 1}/{rounds}  {case.title:<18} {tool:<13} {counted.rate:9,.0f} requests/s")
    return rates


def say(line: str) -> None:
    """One line of progress, apart from the result."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def document(rates: dict[str, Rates]) -> dict[str, dict[str, float]]:
    """{case: {tool: median requests per second}}."""
    return {case: {tool: round(of.median(tool), 1) for tool in TOOLS} for case, of in rates.items()}


def table(rates: dict[str, Rates], *, rounds: int, seconds: float) -> str:
    """The medians and how many times each other tool ours is, as Markdown."""
    columns = (*TOOLS, CEILING)
    lines = [
        "| requests/s | ours | FastHttpUser | k6 | wrk | wrk, unread | ours / FastHttpUser | / k6 | / wrk | / unread |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, of in rates.items():
        case = CASES[name]
        medians = " | ".join(f"{of.median(tool):,.0f}" if tool in of.rounds else "" for tool in columns)
        ratios = " | ".join(_ratio(case, of, tool) if tool in of.rounds else "" for tool in columns[1:])
        lines.append(f"| {case.title} | {medians} | {ratios} |")
    spread = max(
        (max(of.rounds[tool]) - min(of.rounds[tool])) / of.median(tool) * 100
        for of in rates.values()
        for tool in of.rounds
    )
    note = (
        f"Medians of {rounds} rounds of {seconds:g} s, {CONNECTIONS} connections; widest spread of one cell "
        f"{spread:.0f} %. Every tool's count was the server's. In brackets: what is wanted at least."
    )
    return "\n".join([*lines, "", note]) + "\n"


def _ratio(case: Case, of: Rates, tool: str) -> str:
    ratio = of.median("ours") / of.median(tool)
    wanted = case.wanted.get(tool)
    return f"{ratio:.2f}" + (f" ({wanted:.1f})" if wanted is not None else "")


def missed(rates: dict[str, Rates]) -> list[str]:
    """Every ratio that is below what is wanted."""
    return [
        f"{CASES[name].title}: {of.median('ours') / of.median(tool):.2f} x {tool}, wanted {wanted:.1f}"
        for name, of in rates.items()
        for tool, wanted in CASES[name].wanted.items()
        if of.median("ours") / of.median(tool) < wanted
    ]
