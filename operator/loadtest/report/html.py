"""A document as one self-contained HTML page: no network, light and dark, for print, keyboard and screen reader."""

from __future__ import annotations

import re
from functools import cache
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from loadtest.report import svg
from loadtest.report.document import Chart, Document, Section


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("loadtest.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")


def text(document: Document, made: str = "") -> str:
    """The page. `made` says, at its end, when and by what it was made."""
    numbers = count(1)

    def picture(chart: Chart) -> Markup:
        return Markup(svg.draw(chart, f"c{next(numbers)}"))  # noqa: S704 - svg escapes every text that it is given

    ids = _ids(document)

    def anchor(section: Section) -> str:
        return ids[id(section)]

    def swatch(style: int) -> Markup:
        return Markup(svg.swatch(style))  # noqa: S704 - made of numbers alone

    return _template().render(
        document=document, made=made, picture=picture, swatch=swatch, anchor=anchor, places=places
    )


def _ids(document: Document) -> dict[int, str]:
    """The id on the page of each section: its title's words, and a number where another one has them, too."""
    found: dict[int, str] = {}
    for section in document.walk():
        words = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        taken = set(found.values()) | {"content"}
        more = (f"{words}-{number}" for number in count(2))
        found[id(section)] = words if words not in taken else next(each for each in more if each not in taken)
    return found


def places(chart: Chart) -> str:
    """Where on the x axis the rows of a chart's table are, for the pointer to find the nearest."""
    found = sorted({x for line in chart.lines for x, _ in line.points})
    return " ".join(f"{x:.6g}" for x in found) if len(found) == len(chart.table.rows) else ""
