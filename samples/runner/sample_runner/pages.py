"""What each page of a journey shows: a title and fields made from the requests file, the same at every start.

The file says which fields a page has and which answer is given; the choices beside it are made up. Their number makes
the size of a page: 13 to 25 kB, as eq-questionnaire-runner's pages have.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sample_runner.journey import Entry, Journey

_FEWEST_CHOICES = 2
_SPREAD_OF_CHOICES = 9
_RELATIONSHIP_CHOICES = 12
_HUB = "/questionnaire/"
_HUB_ROWS = 12

_TEXT_FIELD = re.compile(
    r"-(day|month|year|other|line\d|town|postcode|other-country)$|name|job-|business-|description|csrf|\["
)


@dataclass(frozen=True)
class Field:
    """An input of a page: free text, or one of `choices`."""

    name: str
    label: str
    kind: Literal["text", "choice"]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """What the template renders for one address."""

    title: str
    action: str
    fields: tuple[Field, ...]
    rows: tuple[str, ...]
    """The sections of a summary page."""

    paragraphs: int
    last: bool
    """The page that a journey ends with has no form."""


class Pages:
    """The pages of one journey, by the entry that asks for them."""

    def __init__(self, journey: Journey) -> None:
        posted = {entry.address: entry.data for entry in journey.entries if entry.method == "POST"}
        self._pages = {
            entry.address: _page(entry, posted.get(entry.address), last=entry.index == len(journey.entries) - 1)
            for entry in journey.entries
        }

    def page(self, entry: Entry) -> Page:
        """The page of an entry."""
        return self._pages[entry.address]


def _page(entry: Entry, data: Mapping[str, Any] | None, *, last: bool) -> Page:
    path = entry.address[0]
    fields = tuple(_field(name, str(value)) for name, value in (data or {}).items() if not name.startswith("action["))
    rows = tuple(_words(f"section-{number}-of-the-questionnaire") for number in range(1, _HUB_ROWS + 1))
    return Page(
        title=_words(_slug(path)),
        action="" if "{" in entry.url else entry.url,
        fields=fields,
        rows=rows if path == _HUB else (),
        paragraphs=2 if fields else 3 + _draw(path, 12),
        last=last and data is None,
    )


def _field(name: str, answer: str) -> Field:
    label = _words(name)
    if _TEXT_FIELD.search(name):
        return Field(name, label, "text")
    number = _FEWEST_CHOICES + _draw(name, _SPREAD_OF_CHOICES)
    if "relationship" in name:
        number = _RELATIONSHIP_CHOICES
    made_up = [f"{label}, choice {index}" for index in range(1, number)]
    place = _draw(answer, number)
    return Field(name, label, "choice", (*made_up[:place], answer or "None of these", *made_up[place:]))


def _draw(text: str, below: int) -> int:
    """A number that is always the same for a text and spread evenly over texts."""
    return zlib.crc32(text.encode()) % below


def _slug(path: str) -> str:
    parts = [part for part in path.split("/") if part and not part.startswith("{")]
    return parts[-1] if parts else "start"


def _words(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").strip().capitalize()
