"""Figures as text, and Markdown tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

DASH = "-"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, prose: bool = False) -> str:
    """A Markdown table whose columns line up as plain text too; all but the first are right-aligned, unless `prose`.

    A cell is one line; what would end it is escaped.
    """
    head, *body = ([_cell(cell) for cell in row] for row in (header, *rows))
    widths = [max(3, *(len(cells[column]) for cells in [head, *body])) for column in range(len(head))]

    def text(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if n == 0 or prose else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rules = ("-" * width if n == 0 or prose else "-" * (width - 1) + ":" for n, width in enumerate(widths))
    rule = "| " + " | ".join(rules) + " |"
    return "\n".join([text(head), rule, *(text(row) for row in body)])


def _cell(text: str) -> str:
    return " ".join(text.splitlines()).replace("|", "\\|")


def millis(micros: int | None) -> str:
    """Microseconds as milliseconds: whole from 100 ms, with one digit from 10 ms, with two below."""
    if micros is None:
        return DASH
    value = micros / 1000
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"  # noqa: PLR2004 - as documented


def count(number: int | None) -> str:
    """A count with thousands separators."""
    return DASH if number is None else f"{number:,}"


def ratio(permille: int | None) -> str:
    """A ratio in thousandths as a decimal number."""
    return DASH if permille is None else f"{permille / 1000:.3f}"
