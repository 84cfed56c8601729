"""A chart as inline SVG. Colours are classes of the page's style sheet: light, dark and print share one picture.

Every line has a colour, a dash and a marker of its own: none of the three is needed to tell two lines apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from loadtest.report.document import Chart, Line

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 26, 44
STYLES = 8
"""Colours in the page's style sheet; dashes and markers change with them."""

_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "1 4", "6 2 1 2")
_FEW = 40  # beyond so many points, markers would hide the line
_TICKS = 5


@dataclass(frozen=True)
class Axis:
    """A range of values on a range of pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        if self.log:
            share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values to label: powers of ten and their 2 and 5 where the axis is logarithmic."""
        if self.log:
            exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1, 2, 5) if self.high / self.low < 1000 else (1,)  # noqa: PLR2004 - more would not be readable
            found = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        else:
            step = nice_step((self.high - self.low) / _TICKS)
            found = [
                step * number for number in range(math.ceil(self.low / step - 1e-9), int(self.high / step + 1e-9) + 1)
            ]
        return [value for value in found if self.low <= value * (1 + 1e-9) and value <= self.high * (1 + 1e-9)]


def nice_step(rough: float) -> float:
    """The next larger of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def number(value: float) -> str:
    """A number on an axis: no more digits than it needs."""
    if value and abs(value) < 1:
        return f"{value:.3g}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def draw(chart: Chart, name: str) -> str:
    """The picture. `name` is unique on the page: title and description are known by it."""
    x_axis, y_axis = _axes(chart)
    parts = [
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}_t {name}_d" '
            f'data-x="{x_axis.low:.6g} {x_axis.high:.6g} {x_axis.start:.6g} {x_axis.end:.6g} {int(x_axis.log)}">'
        ),
        f'<title id="{name}_t">{escape(chart.title)}</title>',
        f'<desc id="{name}_d">{escape(describe(chart))}</desc>',
    ]
    parts += _bands(chart, x_axis)
    parts += _grid(chart, x_axis, y_axis)
    parts += _marks(chart, x_axis, y_axis)
    for position, line in enumerate(chart.lines):
        parts += _line(line, position, x_axis, y_axis, [band.start for band in chart.bands])
    parts.append(f'<line class="cursor" x1="0" x2="0" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/></svg>')
    return "".join(parts)


def describe(chart: Chart) -> str:
    """The chart in one sentence, for whoever does not see it."""
    names = ", ".join(line.label for line in chart.lines)
    return f"{chart.y_label} against {chart.x_label}. Lines: {names}. The figures are in the table below."


def _axes(chart: Chart) -> tuple[Axis, Axis]:
    points = [(x, y) for line in chart.lines for x, y in line.points if y is not None]
    xs = [x for x, _ in points] + [edge for band in chart.bands for edge in (band.start, band.end)]
    xs += [mark.at for mark in chart.marks if not mark.level]
    ys = [y for _, y in points] + [mark.at for mark in chart.marks if mark.level]
    x_low, x_high = _range(xs, chart.x_log, from_zero=bool(chart.bands))
    y_low, y_high = _range(ys, chart.y_log, from_zero=not chart.y_log)
    return (
        Axis(x_low, x_high, LEFT, WIDTH - RIGHT, chart.x_log),
        Axis(y_low, y_high if chart.y_log else y_high * 1.05, HEIGHT - BOTTOM, TOP, chart.y_log),
    )


def _range(values: Sequence[float], log: bool, *, from_zero: bool) -> tuple[float, float]:
    if not values:
        return (1, 10) if log else (0, 1)
    low, high = (0.0 if from_zero else min(values)), max(values)
    if log:
        return low * 0.9, high * 1.1
    if low == high:
        return (0, high or 1)
    margin = 0 if from_zero else (high - low) * 0.04
    return low - margin, high + margin


def _bands(chart: Chart, x_axis: Axis) -> Iterable[str]:
    for position, band in enumerate(chart.bands):
        left, right = x_axis.at(band.start), x_axis.at(band.end)
        shade = " odd" if position % 2 else ""
        yield (
            f'<rect class="band{shade}" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - BOTTOM - TOP}"/>'
            f'<text class="band-label" x="{(left + right) / 2:.1f}" y="{TOP - 8}">{escape(band.label)}</text>'
        )


def _grid(chart: Chart, x_axis: Axis, y_axis: Axis) -> Iterable[str]:
    bottom = HEIGHT - BOTTOM
    for value in y_axis.ticks():
        y = y_axis.at(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick y" x="{LEFT - 6}" y="{y + 4:.1f}">{number(value)}</text>'
    for value, label in chart.x_ticks or [(value, number(value)) for value in x_axis.ticks()]:
        x = x_axis.at(value)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{bottom + 18}">{escape(label)}</text>'
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    yield f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 6}">{escape(chart.x_label)}</text>'
    middle = (TOP + bottom) / 2
    yield f'<text class="label" transform="translate(13 {middle:.0f}) rotate(-90)">{escape(chart.y_label)}</text>'


def _marks(chart: Chart, x_axis: Axis, y_axis: Axis) -> Iterable[str]:
    bottom = HEIGHT - BOTTOM
    for place, mark in enumerate(chart.marks):
        if mark.level:
            y = y_axis.at(mark.at)
            yield f'<line class="mark" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="mark-label end" x="{WIDTH - RIGHT - 4}" y="{y - 5:.1f}">{escape(mark.label)}</text>'
        else:
            x = x_axis.at(mark.at)
            side, shift = (" end", -5) if x > (LEFT + WIDTH) / 2 else ("", 5)
            yield f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
            y = TOP + 14 * (1 + place % 3)  # below one another, for marks that are near each other
            yield f'<text class="mark-label{side}" x="{x + shift:.1f}" y="{y}">{escape(mark.label)}</text>'


def _line(line: Line, position: int, x_axis: Axis, y_axis: Axis, breaks: Sequence[float]) -> Iterable[str]:
    """A line, broken where there is a gap and between two stages: nothing was measured on the way."""
    style = line.style % STYLES
    yield f'<g class="line s{style}" data-line="{position}">'
    placed: list[tuple[float, float] | None] = []
    before = math.inf
    for x, y in line.points:
        if any(before < at < x for at in breaks):
            placed.append(None)
        placed.append((x_axis.at(x), y_axis.at(y)) if y is not None else None)
        before = x
    if not line.dots:
        for piece in _pieces(placed):
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y in piece)
            dash = f' stroke-dasharray="{_DASHES[style]}"' if _DASHES[style] else ""
            yield f'<polyline points="{way}"{dash}/>'
    points = [point for point in placed if point is not None]
    alone = [piece[0] for piece in _pieces(placed) if len(piece) == 1]
    for x, y in points if line.dots or len(points) <= _FEW else alone:
        yield _marker(style, x, y)
    yield "</g>"


def _pieces(placed: Sequence[tuple[float, float] | None]) -> list[list[tuple[float, float]]]:
    """The stretches between gaps."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for point in placed:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    return [piece for piece in pieces if piece]


def _marker(style: int, x: float, y: float) -> str:
    if style % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    if style % 4 == 1:
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'
    if style % 4 == 2:  # noqa: PLR2004 - the third of four shapes
        return f'<polygon points="{x:.1f},{y - 4:.1f} {x + 4:.1f},{y + 3:.1f} {x - 4:.1f},{y + 3:.1f}"/>'
    return f'<polygon points="{x:.1f},{y - 4:.1f} {x + 4:.1f},{y:.1f} {x:.1f},{y + 4:.1f} {x - 4:.1f},{y:.1f}"/>'


def swatch(style: int) -> str:
    """The line's look, for the legend."""
    style %= STYLES
    dash = f' stroke-dasharray="{_DASHES[style]}"' if _DASHES[style] else ""
    return (
        f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true"><g class="line s{style}">'
        f'<polyline points="0,6 28,6"{dash}/>{_marker(style, 14, 6)}</g></svg>'
    )
