"""Reads and checks a requests file: the journey of one respondent, as a list of requests in order.

The file is JSON: {"schema_name", "schema_url"?, "requests": [{"method", "url", "data"?, "redirect_route"?}]}.
`{name}` in a url is filled with what an earlier request's redirect_route harvested: a path segment or the value of a
query parameter of the redirect_route that is `{name}` is taken from the same place of the Location header.

Pure, and imports nothing but the standard library: the operator checks files with this module before any load.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

MAX_REQUESTS = 10_000
MAX_URL_LENGTH = 2_000
MAX_FORM_BYTES = 64 * 1024
METHODS = ("GET", "POST")

_PLACEHOLDER = re.compile(r"{([A-Za-z_][A-Za-z0-9_]*)}")
_URL_CHARACTERS = re.compile(r"[^\x00-\x20\x7f\\]+")


class RequestsFileError(ValueError):
    """The requests file cannot be replayed; the message names the entry by its index and says what to do."""


class RouteMismatchError(ValueError):
    """A Location does not fit the redirect_route that it should be harvested by."""


@dataclass(frozen=True)
class Route:
    """A redirect_route, split into what must be there and what is harvested."""

    segments: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]

    @property
    def names(self) -> frozenset[str]:
        """The names that this route harvests."""
        parts = (*self.segments, *(value for _, value in self.parameters))
        return frozenset(found[1] for part in parts if (found := _PLACEHOLDER.fullmatch(part)))

    def harvest(self, location: str) -> dict[str, str]:
        """What `location` (absolute or not) has at the places in braces; RouteMismatchError where it goes elsewhere."""
        try:
            split = urlsplit(location)
        except ValueError as error:
            raise RouteMismatchError("the redirect goes to what is no url") from error
        found = tuple(split.path.strip("/").split("/"))
        if len(found) != len(self.segments):
            raise RouteMismatchError("the redirect goes to another path than redirect_route")
        values = {}
        for expected, actual in zip(self.segments, found, strict=True):
            placeholder = _PLACEHOLDER.fullmatch(expected)
            if placeholder and actual:
                values[placeholder[1]] = actual
            elif expected != actual:
                raise RouteMismatchError("the redirect goes to another path than redirect_route")
        query = dict(parse_qsl(split.query))
        for key, expected in self.parameters:
            placeholder = _PLACEHOLDER.fullmatch(expected)
            if placeholder and key in query:
                values[placeholder[1]] = quote(query[key], safe="")
            elif placeholder or query.get(key) != expected:
                raise RouteMismatchError(f"the redirect has not the query parameter {key} of redirect_route")
        return values


@dataclass(frozen=True)
class Entry:
    """One request of the journey. `name` is its url with every `{...}` as `{id}`, as statistics show it."""

    method: str
    url: str
    name: str
    form: str
    """The data of a POST, already form-encoded (without csrf_token)."""

    route: Route | None
    wants_token: bool
    """Whether a POST follows this page before the next one does, so that this page must have a csrf_token."""

    def path(self, values: Mapping[str, str]) -> str:
        """The url with the harvested values filled in."""
        return _PLACEHOLDER.sub(lambda found: values[found[1]], self.url) if "{" in self.url else self.url

    @property
    def is_page(self) -> bool:
        """Whether this request expects a page (200) and no redirect (302)."""
        return self.method == "GET" and self.route is None


@dataclass(frozen=True)
class Journey:
    """A whole requests file."""

    schema_name: str | None
    schema_url: str | None
    entries: tuple[Entry, ...]


def parse(text: str | bytes, *, launch: bool = False) -> Journey:
    """Read a requests file. `launch`: tokens are made for it, so that it must name a schema."""
    try:
        document = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except UnicodeDecodeError as error:
        raise RequestsFileError(f"the requests file is not UTF-8 (byte {error.start}): save it as UTF-8") from error
    except RecursionError as error:
        raise RequestsFileError("the requests file is nested too deeply: it is an object with a flat list") from error
    except ValueError as error:
        raise RequestsFileError(f"the requests file is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise RequestsFileError('the requests file must be a JSON object: {"schema_name": ..., "requests": [...]}')
    names = {key: _optional_text(document, key) for key in ("schema_name", "schema_url")}
    if launch and not any(names.values()):
        raise RequestsFileError("the requests file has neither schema_name nor schema_url: a launch needs one of them")
    requests = document.get("requests")
    if not isinstance(requests, list) or not requests:
        raise RequestsFileError('"requests" must be a list with at least one request')
    if len(requests) > MAX_REQUESTS:
        raise RequestsFileError(f'"requests" has {len(requests)} entries, at most {MAX_REQUESTS} are allowed: split it')
    return Journey(names["schema_name"], names["schema_url"], _entries(requests))


def _optional_text(document: dict[str, Any], key: str) -> str | None:
    value = document.get(key)
    if value is not None and not isinstance(value, str):
        raise RequestsFileError(f'"{key}" must be text')
    return value or None


def _entries(requests: list[Any]) -> tuple[Entry, ...]:
    entries = []
    harvested: set[str] = set()
    wants_token = False  # whether a POST follows; known when walking from the end
    tokens = []
    for request in reversed(requests):
        method = _method_of(request)
        page = method == "GET" and request.get("redirect_route") is None
        tokens.append(page and wants_token)
        wants_token = method == "POST" or (wants_token and not page)
    tokens.reverse()
    for index, request in enumerate(requests):
        where = f"requests[{index}]"
        entry = _entry(where, request, wants_token=tokens[index])
        for name in _PLACEHOLDER.findall(entry.url):
            if name not in harvested:
                raise RequestsFileError(
                    f"{where}: {{{name}}} in its url was never harvested: an earlier request needs a redirect_route "
                    f"that has {{{name}}} as a path segment or as the value of a query parameter"
                )
        if entry.route is not None:
            harvested |= entry.route.names
        entries.append(entry)
    return tuple(entries)


def _method_of(request: object) -> str:
    method = request.get("method") if isinstance(request, dict) else None
    return method.upper() if isinstance(method, str) else ""


def _entry(where: str, request: object, *, wants_token: bool) -> Entry:
    if not isinstance(request, dict):
        raise RequestsFileError(f'{where} must be an object: {{"method": ..., "url": ...}}')
    method = _method_of(request)
    if method not in METHODS:
        given = str(request.get("method"))[:40]
        raise RequestsFileError(f"{where}: method {given!r} is unknown: use {' or '.join(METHODS)}")
    url = _url(where, "url", request.get("url"))
    data = request.get("data")
    if data is not None and method == "GET":
        raise RequestsFileError(f"{where}: a GET has no data: put it into the query of its url, or make it a POST")
    route = request.get("redirect_route")
    return Entry(
        method=method,
        url=url,
        name=_PLACEHOLDER.sub("{id}", url),
        form=_form(where, data),
        route=None if route is None else _route(where, _url(where, "redirect_route", route)),
        wants_token=wants_token,
    )


def _url(where: str, key: str, value: object) -> str:
    remedy = f"{where}: {key} must be a path on the target that begins with one / (the host is the target's url)"
    if not isinstance(value, str) or not value.startswith("/") or value.startswith("//"):
        raise RequestsFileError(remedy)
    if len(value) > MAX_URL_LENGTH:
        raise RequestsFileError(f"{where}: {key} has {len(value)} characters, at most {MAX_URL_LENGTH} are allowed")
    if not _URL_CHARACTERS.fullmatch(value) or "#" in value:
        raise RequestsFileError(f"{where}: {key} has a space, a control character, a backslash or #: percent-encode it")
    rest = _PLACEHOLDER.sub("", value)
    if "{" in rest or "}" in rest:
        raise RequestsFileError(f"{where}: {key} has a brace that is no {{name}}: a name has letters, digits and _")
    return value


def _form(where: str, data: object) -> str:
    if data is None:
        return ""
    if not isinstance(data, dict):
        raise RequestsFileError(f"{where}: data must be an object of form fields")
    fields = []
    for key, value in data.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str | int | float):
                raise RequestsFileError(f"{where}: data field {key[:40]!r} must be text, a number or a list of these")
            fields.append((key, item))
    try:
        form = urlencode(fields)
    except UnicodeEncodeError as error:
        raise RequestsFileError(f"{where}: data has a lone surrogate, which no form can carry") from error
    if len(form) > MAX_FORM_BYTES:
        raise RequestsFileError(f"{where}: data has {len(form)} bytes form-encoded, at most {MAX_FORM_BYTES} are sent")
    return form


def _route(where: str, route: str) -> Route:
    split = urlsplit(route)
    built = Route(tuple(split.path.strip("/").split("/")), tuple(parse_qsl(split.query, keep_blank_values=True)))
    for part in (*built.segments, *(value for _, value in built.parameters)):
        if "{" in part and not _PLACEHOLDER.fullmatch(part):
            raise RequestsFileError(
                f"{where}: {part[:80]!r} in redirect_route can only be harvested as a whole: a path segment or the "
                "value of a query parameter is {name} and nothing else"
            )
    if any("{" in key for key, _ in built.parameters):
        raise RequestsFileError(f"{where}: redirect_route has a {{name}} as the name of a query parameter")
    return built
