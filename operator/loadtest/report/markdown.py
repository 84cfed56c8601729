"""A document as Markdown, which has no pictures: what the charts show is in the tables."""

from __future__ import annotations

from collections.abc import Iterator

from loadtest.report.document import Document, Section
from loadtest.results.tables import markdown_table


def text(document: Document) -> str:
    """The document as Markdown."""
    lines = [f"# {document.title}", "", *_paragraphs(document.lead)]
    for section in document.sections:
        lines += _section(section, 2)
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section, level: int) -> Iterator[str]:
    if section.pictures_only:
        return
    yield from (f"{'#' * level} {section.title}", "")
    yield from _paragraphs(section.text)
    if section.bullets:
        yield from (*(f"- {' '.join(line.split())}" for line in section.bullets), "")
    for table in section.tables:
        if table.title:
            yield from (f"{table.title}:", "")
        yield from (markdown_table(table.header, table.rows, prose=table.prose), "")
    for inner in section.sections:
        yield from _section(inner, level + 1)


def _paragraphs(sentences: tuple[str, ...]) -> Iterator[str]:
    for sentence in sentences:
        yield from (sentence, "")
