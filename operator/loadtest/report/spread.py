"""The report's section on how much each stage varied within itself: blocks of 10 s, as a description and no claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from loadtest.report.document import Section, table
from loadtest.report.result import Result
from loadtest.report.series import BLOCK_SECONDS, Block
from loadtest.results.sampling import fewest_values
from loadtest.results.tables import DASH, millis

NOTE = (
    "Between the tenth and the ninetieth of a hundred blocks of 10 s, in milliseconds and requests per second: how "
    "much a stage varied within itself. It does not say how far another run would differ, which only repeats do."
)
PERCENTS = ("50", "95", "99")
FEWEST_BLOCKS = 2


def section(result: Result) -> Section | None:
    """The spread of every valid stage whose record is there; None where there is none of two whole blocks."""
    rows = []
    for variant, run, stage in result.stages():
        found = result.digest(stage)
        whole = [one for one in found.blocks if one.end - one.start == BLOCK_SECONDS] if found else []
        if stage.valid == "True" and len(whole) >= FEWEST_BLOCKS:
            rows.append(
                [
                    variant.name,
                    str(run.repeat),
                    f"{stage.index} ({stage.injectors})",
                    str(len(whole)),
                    *(_percentile(whole, percent) for percent in PERCENTS),
                    _between([one.requests_per_second for one in whole], "{:,.1f}".format),
                ]
            )
    if not rows:
        return None
    header = ["Variant", "Repeat", "Stage (injectors)", "Blocks", "50th", "95th", "99th", "Requests/s"]
    return Section("How much the stages varied", text=(NOTE,), tables=(table(header, rows),), folded=True)


def _percentile(blocks: Sequence[Block], percent: str) -> str:
    """A percentile's spread; only where every block has requests enough to say it."""
    if any(one.requests - one.failures < fewest_values(percent) for one in blocks):
        return DASH
    return _between([one.millis[percent] for one in blocks], lambda value: millis(round(1000 * value)))


def _between(values: Sequence[float], text: Callable[[float], str]) -> str:
    ordered = sorted(values)
    low, high = (ordered[math.ceil(share * len(ordered) / 10) - 1] for share in (1, 9))
    return f"{text(low)} to {text(high)}"
