"""The journey of a requests file: which request comes when, and where each one leads. Pure.

A requests file is what a load injector replays: {"schema_name", "requests": [{"method", "url", "data"?,
"redirect_route"?}]}. `{name}` in a url or redirect_route stands for an id that this application makes for the session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

THANK_YOU = "/submitted/thank-you/"
"""Where a journey ends whose file ends with a POST."""

_PLACEHOLDER = re.compile(r"{([A-Za-z_][A-Za-z0-9_]*)}")

Address = tuple[str, tuple[tuple[str, str], ...]]
"""A path and its sorted query parameters."""


class JourneyError(ValueError):
    """The requests file is none; the message names the entry."""


@dataclass(frozen=True)
class Entry:
    """One request of the journey, `index` in the order of the file. `data` is what the file posts there."""

    index: int
    method: str
    url: str
    data: Mapping[str, Any]
    redirect_route: str | None

    @property
    def address(self) -> Address:
        """What requests are matched by; ids are still `{name}`."""
        split = urlsplit(self.url)
        return address(split.path, split.query)


def address(path: str, query: str) -> Address:
    """The address of a path and a raw query string; the order of the parameters does not count."""
    return path, tuple(sorted(parse_qsl(query, keep_blank_values=True)))


class Journey:
    """All entries of one requests file, found by method and address."""

    def __init__(self, name: str, entries: tuple[Entry, ...]) -> None:
        self.name = name
        if entries[-1].method == "POST":
            entries = (*entries, Entry(len(entries), "GET", THANK_YOU, {}, None))
        self.entries = entries
        self._indices: dict[tuple[str, Address], list[int]] = {}
        for entry in entries:
            self._indices.setdefault((entry.method, entry.address), []).append(entry.index)
        self._text = " ".join(f"{entry.url} {entry.redirect_route}" for entry in entries)

    def match(
        self, method: str, path: str, query: str, *, ids: Mapping[str, str], position: int
    ) -> tuple[Entry, int] | None:
        """The entry that a request is, and the position after it; None where the journey has no such request.

        `position` is the index of the entry served last, -1 at first. Of several entries with one address that which
        comes next is taken, then the one just served (a repeat), the next one further on, the last one before. An id
        counts only if it was made for this session, under the name that the file has at its place.
        """
        for name, value in ids.items():
            path, query = path.replace(value, f"{{{name}}}"), query.replace(value, f"{{{name}}}")
        wanted = address(path, query)
        found = self._indices.get((method, wanted))
        if found:
            index = _closest(found, position)
            return self.entries[index], index
        posted = self._indices.get(("POST", wanted)) if method == "GET" else None
        if posted:  # a page that the file only posts to: a browser that follows the redirect reads it first
            return self.entries[_closest(posted, position)], position
        return None

    def has_address(self, path: str, query: str, *, ids: Mapping[str, str]) -> bool:
        """Whether any entry, of whatever method, has this address."""
        return any(self.match(method, path, query, ids=ids, position=-1) for method in ("GET", "POST"))

    def location_after(self, position: int, ids: dict[str, str], new_id: Callable[[], str]) -> str:
        """The path that the request at `position` leads to (-1: the first one); makes ids that it needs in `ids`."""
        entry = self.entries[position] if position >= 0 else None
        if entry and entry.redirect_route:
            template = entry.redirect_route
        else:
            template = self.entries[min(position + 1, len(self.entries) - 1)].url
        return _PLACEHOLDER.sub(lambda found: self._id(found[1], ids, new_id), template)

    def _id(self, name: str, ids: dict[str, str], new_id: Callable[[], str]) -> str:
        # An id that the file's own text contains, or another id's, could not be told from it in a url.
        while name not in ids:
            value = new_id()
            if value not in self._text and value not in ids.values():
                ids[name] = value
        return ids[name]


def _closest(indices: list[int], position: int) -> int:
    if position + 1 not in indices and position in indices:
        return position
    return next((index for index in indices if index > position), indices[-1])


def parse(text: str, *, name: str) -> Journey:
    """Read a requests file; `name` is its name where the file has no schema_name."""
    try:
        document = json.loads(text)
        requests = document["requests"]
        entries = tuple(_entry(index, request) for index, request in enumerate(requests))
    except (ValueError, KeyError, TypeError) as error:
        raise JourneyError(f"{name} is no requests file: {error}") from error
    if not entries:
        raise JourneyError(f"{name} has no requests")
    return Journey(document.get("schema_name") or name, entries)


def _entry(index: int, request: Mapping[str, Any]) -> Entry:
    method = request["method"].upper()
    if method not in {"GET", "POST"} or not request["url"].startswith("/"):
        raise JourneyError(f"requests[{index}] needs the method GET or POST and a url that begins with /")
    return Entry(index, method, request["url"], request.get("data") or {}, request.get("redirect_route"))


def load(path: Path) -> dict[str, Journey]:
    """The journeys of one requests file, or of every *.json of a folder, by schema name."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise JourneyError(f"{path} has no requests files (*.json)")
    journeys = [parse(file.read_text(), name=file.stem) for file in files]
    return {journey.name: journey for journey in journeys}
