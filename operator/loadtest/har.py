"""Makes a requests file out of what a browser recorded (HAR 1.2: http://www.softwareishard.com/blog/har-12-spec/).

Pure. A recording has everything the browser fetched; a journey is only its pages (HTML and PDF), its forms and its
redirects. An id that the target makes up for each respondent is another one at every replay: where a redirect brings it
and a later request uses it, the request that was redirected gets a `redirect_route` with a name in its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

FORM_TYPE = "application/x-www-form-urlencoded"
CSRF_FIELD = "csrf_token"
LAUNCH_PATHS = ("/session", "/questionnaire")
"""What a launch token brings: the injector sends these two by itself, so that they are no part of the file."""

_PAGES = ("text/html", "application/xhtml+xml", "application/pdf")
_NO_TYPE = ("", "x-unknown")  # what browsers write for a redirect without content
_FOUND = 302
_OK = (200, 304)  # 304: the browser had the page in its cache; the injector has none
_REDIRECTS = (301, 302, 303, 307, 308)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]{6,}")
_NUMBER = re.compile(r"\d{4,}")
_TITLE_CASE = re.compile(r"[A-Z][a-z]+|[A-Z]+|[a-z]+")


class HarError(ValueError):
    """The recording cannot be read, or has no journey in it; the message says what to do."""


@dataclass(frozen=True)
class Imported:
    """A requests file, as the JSON document it is, and what a person should look at before using it."""

    document: dict[str, Any]
    warnings: tuple[str, ...]
    ids: dict[str, str]
    """Names of harvested ids to what they were in the recording."""


@dataclass
class _Step:
    """One request of the journey, still with the recorded ids."""

    method: str
    url: str
    data: dict[str, Any] | None
    location: str | None
    """Where it was redirected to on the same host, path and query; None where it was not."""

    harvests: bool = False
    known: dict[str, str] = field(default_factory=dict)
    """Recorded ids to names, of this redirect and all before it."""


def import_har(
    har: object, *, schema_name: str | None = None, host: str | None = None, ids: tuple[str, ...] = ()
) -> Imported:
    """The requests file of a HAR's decoded JSON.

    `schema_name` goes into the file as it is. `host` is host[:port] of the target (left out: that of the first page).
    `ids` are recorded ids to harvest that do not look like one. HarError where there is no journey.
    """
    warnings: list[str] = []
    steps = _steps(_entries(har), host, warnings)
    if not steps:
        raise HarError("the recording has no HTML page, PDF or form of the target's host: record it with content")
    names = _names(steps, ids)
    requests = [_request(step, names, warnings, number) for number, step in enumerate(steps)]
    warnings += _not_harvested(steps, names, ids)
    document: dict[str, Any] = {"schema_name": schema_name} if schema_name else {}
    return Imported({**document, "requests": requests}, tuple(warnings), {name: value for value, name in names.items()})


def _entries(har: object) -> list[dict[str, Any]]:
    log = har.get("log") if isinstance(har, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise HarError("this is no HAR file: it has no log.entries (in the browser: network tab, Save all as HAR)")
    for index, entry in enumerate(entries):
        request, response = (entry.get(key) if isinstance(entry, dict) else None for key in ("request", "response"))
        if not isinstance(request, dict) or not isinstance(response, dict):
            raise HarError(f"log.entries[{index}] has no request or no response")
        if not isinstance(request.get("url"), str) or not isinstance(request.get("method"), str):
            raise HarError(f"log.entries[{index}].request has no url or no method")
    return entries


def _steps(entries: list[dict[str, Any]], host: str | None, warnings: list[str]) -> list[_Step]:
    steps: list[_Step] = []
    for entry in entries:
        request, response = entry["request"], entry["response"]
        split = urlsplit(request["url"])
        if split.scheme not in {"http", "https"} or not _belongs(request, response):
            continue
        host = host or split.netloc
        if split.netloc != host:
            continue
        path = (split.path or "/") + (f"?{split.query}" if split.query else "")
        if split.path in LAUNCH_PATHS and request["method"] == "GET" and response.get("status") in _REDIRECTS:
            steps.clear()  # the journey begins at its launch
            continue
        where = f"{request['method']} {split.path}"
        step = _step(where, path.replace("{", "%7B").replace("}", "%7D"), request, response, warnings)
        if step is not None:
            steps.append(step)
    return steps


def _belongs(request: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether a person asked for it: a page, a form or a redirect; neither styles, scripts, pictures nor calls."""
    content = response.get("content")
    kind = str(content.get("mimeType") or "") if isinstance(content, dict) else ""
    kind = kind.split(";")[0].strip().lower()
    if kind in _PAGES:
        return True
    accept = _header(request, "accept")
    asked_for_page = accept is None or "text/html" in accept
    # Without a body there is no type of one: a redirect, or a page from the cache.
    return asked_for_page and response.get("status") in (*_REDIRECTS, 304) and kind in _NO_TYPE


def _step(
    where: str, path: str, request: dict[str, Any], response: dict[str, Any], warnings: list[str]
) -> _Step | None:
    status, method = response.get("status"), request["method"].upper()
    location = _location(request["url"], response) if status in _REDIRECTS else None
    if method == "GET" and status in _OK:
        return _Step(method, path, None, None)
    if method == "GET" and status in _REDIRECTS:
        if status == _FOUND and location is not None:
            return _Step(method, path, None, location)
        warnings.append(f"{where}: left out: redirected with {status} and not with 302 on its own host")
    elif method == "POST" and status in _REDIRECTS:
        data = _form(where, request.get("postData") or {}, warnings)
        if data is None:
            return None
        if status != _FOUND:
            warnings.append(f"{where}: was redirected with {status}; a replay expects 302 and fails here")
        return _Step(method, path, data, location)
    elif method in {"GET", "POST"}:
        note = ": the form was not accepted" if method == "POST" and status in _OK else ""
        warnings.append(f"{where}: left out: answered {status}{note}")
    else:
        warnings.append(f"{where}: left out: a requests file has GET and POST only")
    return None


def _form(where: str, post: dict[str, Any], warnings: list[str]) -> dict[str, Any] | None:
    """The fields of a form without csrf_token; None, with a warning, where it is no form.

    The text comes before the params: browsers differ in whether they decode the params.
    """
    kind = str(post.get("mimeType") or FORM_TYPE).split(";")[0].strip().lower()
    if kind == FORM_TYPE and isinstance(post.get("text"), str):
        pairs = parse_qsl(post["text"], keep_blank_values=True)
    elif kind in {FORM_TYPE, "multipart/form-data"}:
        params = [param for param in post.get("params") or [] if isinstance(param, dict)]
        if any(param.get("fileName") for param in params):
            warnings.append(f"{where}: left out: it uploads a file")
            return None
        if kind != FORM_TYPE and not params:
            warnings.append(f"{where}: left out: the recording has not the fields of its multipart form")
            return None
        pairs = [(str(param.get("name", "")), str(param.get("value") or "")) for param in params]
    else:
        warnings.append(f"{where}: left out: it sends {kind} and no form")
        return None
    data: dict[str, Any] = {}
    for name, value in pairs:
        if name == CSRF_FIELD:
            continue
        if name not in data:
            data[name] = value
        elif isinstance(data[name], list):
            data[name].append(value)
        else:
            data[name] = [data[name], value]
    return data


def _location(url: str, response: dict[str, Any]) -> str | None:
    target = response.get("redirectURL") or _header(response, "location")
    if not target:
        return None
    split = urlsplit(urljoin(url, str(target)))
    if split.netloc != urlsplit(url).netloc:
        return None
    return (split.path or "/") + (f"?{split.query}" if split.query else "")


def _header(message: dict[str, Any], name: str) -> str | None:
    for header in message.get("headers") or []:
        if isinstance(header, dict) and str(header.get("name", "")).lower() == name:
            return str(header.get("value", ""))
    return None


def looks_generated(part: str) -> bool:
    """Whether a path segment or parameter looks made up by a program: a UUID, a number, a random word.

    Words of people are in one case (or begin with a capital) and without digits between their letters.
    """
    if _UUID.fullmatch(part) or _NUMBER.fullmatch(part):
        return True
    return bool(_ALPHANUMERIC.fullmatch(part)) and not _TITLE_CASE.fullmatch(part)


def _parts(url: str) -> list[str]:
    """Path segments and parameter values, as they are written in the url."""
    path, _, query = url.partition("?")
    return [*path.strip("/").split("/"), *(pair.partition("=")[2] for pair in query.split("&") if "=" in pair)]


def _names(steps: list[_Step], ids: tuple[str, ...]) -> dict[str, str]:
    """Recorded ids to the names they are harvested by, in order of appearance; marks the steps that harvest.

    An id is harvested where a redirect brings it before any request used it, and a later request does.
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    for index, step in enumerate(steps):
        used.update(_parts(step.url))
        for part in _parts(step.location or ""):
            if part in names or part in used or not (part in ids or looks_generated(part)):
                continue
            if any(part in _parts(later.url) for later in steps[index + 1 :]):
                names[part] = f"id_{len(names) + 1}"
                step.harvests = True
        step.known = dict(names)
    return names


def _with_names(url: str, names: dict[str, str]) -> str:
    """The url with every id in the path and in the parameters replaced by its {name}."""
    path, mark, query = url.partition("?")
    path = "/".join(f"{{{names[part]}}}" if part in names else part for part in path.split("/"))
    pairs = [pair.partition("=") for pair in query.split("&")] if mark else []
    return (
        path
        + mark
        + "&".join(
            f"{key}={{{names[value]}}}" if value in names else key + equals + value for key, equals, value in pairs
        )
    )


def _request(step: _Step, names: dict[str, str], warnings: list[str], number: int) -> dict[str, Any]:
    request: dict[str, Any] = {"method": step.method, "url": _with_names(step.url, names)}
    if step.data is not None:
        request["data"] = step.data
        held = sorted({str(value) for value in step.data.values() if str(value) in names})
        if held:
            warnings.append(f"requests[{number}]: its form sends the recorded {', '.join(held)}: forms are not filled")
    # A GET that is redirected always says where to: without a redirect_route a GET expects a page.
    if step.location is not None and (step.harvests or step.method == "GET"):
        request["redirect_route"] = _with_names(step.location, step.known)
    return request


def _not_harvested(steps: list[_Step], names: dict[str, str], ids: tuple[str, ...]) -> list[str]:
    """Ids that are sent as recorded, because no redirect brings them."""
    warnings, told = [], set()
    for number, step in enumerate(steps):
        for part in _parts(step.url):
            if part not in names and part not in told and (part in ids or looks_generated(part)):
                told.add(part)
                warnings.append(
                    f"requests[{number}]: {part!r} looks like an id, but no redirect before it brings it: it is sent "
                    "as recorded"
                )
    return warnings
