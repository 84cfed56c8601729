"""docs/bad-input.md: its tables, made from what really happens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.unit.bad_input.apply import AT_APPLY
from tests.unit.bad_input.stalled import STALLED

PAGE = Path(__file__).parents[3] / "docs" / "bad-input.md"
MADE_BY = ".venv/bin/python -m tests.unit.bad_input"
_TABLE = "(<!-- table: {} -->\n).*?(<!-- end -->)"


async def rendered(text: str) -> str:
    """The page with its tables made anew."""
    apply = _table(("input", "field", "message"), ((row.what, f"`{row.at}`", row.says) for row in AT_APPLY))
    found = [(row.what, *await row.probe()) for row in STALLED]
    stalled = _table(("input", "reason", "message"), ((what, f"`{reason}`", says) for what, reason, says in found))
    for name, table in (("apply", apply), ("stalled", stalled)):
        text = re.sub(_TABLE.format(name), lambda made, table=table: made[1] + table + made[2], text, flags=re.DOTALL)
    return text


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)
