"""What a report is made of: sections with sentences, tables and charts. How it looks is the writers' matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """A table. `title` says what it is where the section does not.

    All columns but the first hold numbers, unless it is `prose`.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a chart: points of (x, y), in the chart's own units; a gap where y was not measured (None).

    Attributes:
        style: which of the palette's colours and dashes; lines of one variant share it from chart to chart.
        dots: draw the points alone, unconnected.
    """

    label: str
    points: tuple[tuple[float, float | None], ...]
    style: int = 0
    dots: bool = False


@dataclass(frozen=True)
class Band:
    """A part of the x axis with a name, such as a stage."""

    start: float
    end: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A place on the x axis, or with `level` on the y axis, that is worth a line of its own."""

    at: float
    label: str
    level: bool = False


@dataclass(frozen=True)
class Chart:
    """A picture, and what it shows in words and as a table.

    Attributes:
        x_log: the x axis is logarithmic, and so `y_log`; every value must then be above 0.
        x_ticks: places and texts of the ticks, where the axis is not to find its own.
        table: the same figures, for whoever does not see the picture.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    table: Table
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    x_log: bool = False
    y_log: bool = False
    x_ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading with what is under it, in this order: sentences, bullets, tables, charts, sections.

    Attributes:
        folded: closed at first in HTML.
    """

    title: str
    text: tuple[str, ...] = ()
    bullets: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    sections: tuple[Section, ...] = ()
    folded: bool = False

    @property
    def pictures_only(self) -> bool:
        """Whether Markdown, which has no charts, has nothing to say here."""
        return not (self.text or self.bullets or self.tables) and all(each.pictures_only for each in self.sections)


@dataclass(frozen=True)
class Document:
    """The whole report. `lead` are the first sentences: what it was and how it ended."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...] = field(default_factory=tuple)

    def walk(self) -> Iterator[Section]:
        """All sections, outer before inner."""
        todo = list(self.sections)
        while todo:
            section = todo.pop(0)
            yield section
            todo[:0] = section.sections


def table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, prose: bool = False) -> Table:
    """A table of any sequences."""
    return Table(tuple(header), tuple(tuple(row) for row in rows), title, prose)
