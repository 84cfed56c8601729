from __future__ import annotations

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from loadtest.report import build, html
from loadtest.report.document import Document
from loadtest.report.result import Result
from tests.unit.report import samples

VOID = {"meta", "link", "br", "input"}
HOSTILE = '<script>alert(1)</script>"&'


class Page(HTMLParser):
    """Reads a page as strictly as XML: what is opened is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self._cell: list[str] | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self._cell = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in {"td", "th"} and self._cell is not None:
            self.tables[-1][-1].append("".join(self._cell))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def document() -> Document:
    return build.document(samples.result(samples.spec(repeats=2)))


@pytest.fixture(scope="module")
def text(document: Document) -> str:
    return html.text(document, "Made by a test.")


def test_the_page_is_well_formed_and_no_id_is_used_twice(text: str) -> None:
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_asks_nothing_of_any_network(text: str) -> None:
    # The one address is the target's, in the profile, as text.
    shown = text.replace("http://runner.runner.svc:80", "")
    assert not re.search(r"(?i)https?://|//[a-z0-9]+\.|@import|url\(", shown)
    for tag, attributes in Page(text).tags:
        assert tag not in {"img", "iframe", "object", "embed", "form"}
        assert tag != "link" or attributes["href"] == "data:,"
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    assert "default-src 'none'" in text


def test_every_table_of_the_document_is_on_the_page_cell_for_cell(text: str, document: Document) -> None:
    sections = list(document.walk())
    expected = [table for each in sections for table in (*each.tables, *(chart.table for chart in each.charts))]
    found = Page(text).tables
    assert len(found) == len(expected) > 20
    as_cells = [[list(table.header), *(list(row) for row in table.rows)] for table in expected]
    assert sorted(found) == sorted(as_cells)


def test_every_picture_has_words_and_a_table_and_can_be_used_by_keyboard(text: str, document: Document) -> None:
    page = Page(text)
    charts = [chart for section in document.walk() for chart in section.charts]
    pictures = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]
    assert len(pictures) == len(charts) > 8
    for attributes in pictures:
        for name in str(attributes["aria-labelledby"]).split():
            assert name in page.ids
    buttons = [attributes for tag, attributes in page.tags if tag == "button"]
    assert len(buttons) == sum(len(chart.lines) for chart in charts)
    assert all(attributes["aria-pressed"] == "true" for attributes in buttons)
    assert [attributes for tag, attributes in page.tags if tag == "html"] == [{"lang": "en"}]


def test_headings_have_no_gaps_and_the_contents_lead_to_them(text: str, document: Document) -> None:
    page = Page(text)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    links = {str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a"}
    assert len(links - {"content"}) == len(document.sections)
    assert links <= set(page.ids)


@pytest.mark.parametrize("name", ["results", "content", "c1-t", "over-time"])
def test_a_variant_may_have_the_name_of_a_section(name: str) -> None:
    result = samples.result()
    result.variants[0].name = name
    page = Page(html.text(build.document(result)))
    assert len(page.ids) == len(set(page.ids))


def test_text_of_a_spec_stays_text() -> None:
    plain = samples.result()
    hostile = Result(HOSTILE, plain.namespace, plain.spec, plain.status.model_copy(deep=True), plain.records)
    assert hostile.status.variants is not None
    hostile.status.variants[0].name = HOSTILE
    text = html.text(build.document(hostile))
    assert HOSTILE not in text
    assert text.count("<script>") == 1
    Page(text)


def test_without_records_there_are_tables_but_no_curves_over_time() -> None:
    document = build.document(samples.result(records=False))
    titles = {section.title for section in document.walk()}
    assert "Over time" not in titles
    assert "Percentile curve" not in titles
    assert "Results" in titles
    Page(html.text(document))


def test_a_loadtest_that_has_not_begun_has_a_page_too() -> None:
    plain = samples.result()
    fresh = replace(plain, status=type(plain.status)(), records={})
    text = html.text(build.document(fresh))
    assert "Run not started: Pending" in text
    Page(text)
