"""The cookies of one user, by RFC 6265: domain, path, expiry, deletion, Secure.

Not `http.cookiejar`: that takes more time for a request than all the rest of it. Differences to a browser: there is no
list of public suffixes, so a Domain needs a dot inside and no more; SameSite means nothing without pages.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_tz
from ipaddress import ip_address

MAX_COOKIES = 1_000
"""Cookies of a user; beyond it the oldest goes."""

MAX_COOKIE_BYTES = 4_096
"""Name and value of a cookie; a longer one is ignored, as browsers do."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search


@dataclass(slots=True)
class Cookie:
    """One cookie. `expires` is seconds since the epoch, None for one of the session."""

    name: str
    value: str
    domain: str
    path: str
    host_only: bool = True
    secure: bool = False
    expires: float | None = None

    def matches(self, host: str, path: str) -> bool:
        """Whether it belongs to a request for this path of this host."""
        if host != self.domain and (self.host_only or not host.endswith("." + self.domain)):
            return False
        mine = self.path
        return mine == "/" or (path.startswith(mine) and (len(path) == len(mine) or "/" in (mine[-1], path[len(mine)])))


class Cookies:
    """The cookies of one user. `secure_over_http`: Secure ones go over plain http too, for targets that set them so."""

    def __init__(self, *, secure_over_http: bool = False, now: Callable[[], float] = time.time) -> None:
        self._cookies: dict[tuple[str, str, str], Cookie] = {}
        self._secure_over_http = secure_over_http
        self._now = now
        # Where all cookies are of the path / and last, the header depends on host and scheme alone.
        self._lines: dict[tuple[str, bool], str] | None = {}
        # Headers that would change nothing: most targets send the same session cookie again and again.
        self._repeated: set[tuple[str, str, bool]] = set()

    def __iter__(self) -> Iterator[Cookie]:
        return iter(list(self._cookies.values()))

    def __len__(self) -> int:
        return len(self._cookies)

    def clear(self) -> None:
        """Forget all."""
        self._cookies.clear()
        self._changed()

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of the cookie of that name that was set last."""
        return next((cookie.value for cookie in reversed(self._cookies.values()) if cookie.name == name), default)

    def set(self, cookie: Cookie) -> None:
        """Add a cookie, or replace the one of the same name, domain and path."""
        key = (cookie.domain, cookie.path, cookie.name)
        if self._cookies.get(key) == cookie:
            return
        if key not in self._cookies and len(self._cookies) >= MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]
        self._cookies[key] = cookie
        self._changed()

    def line(self, host: str, target: str, *, https: bool) -> str:
        """The line `Cookie: ...` of a request with its line end; empty where there is none."""
        if not self._cookies:
            return ""
        lines = self._lines
        if lines is not None:
            line = lines.get((host, https))
            if line is None:
                line = lines[host, https] = self._line(host, "/", https)
            return line
        return self._line(host, target.partition("?")[0], https)

    def _line(self, host: str, path: str, https: bool) -> str:
        secure = https or self._secure_over_http
        now = self._now()
        expired = [key for key, cookie in self._cookies.items() if cookie.expires is not None and cookie.expires <= now]
        for key in expired:
            del self._cookies[key]
        found = [c for c in self._cookies.values() if (secure or not c.secure) and c.matches(host, path)]
        if not found:
            return ""
        found.sort(key=lambda cookie: -len(cookie.path))  # longer paths first; otherwise as they came
        pairs = (f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in found)
        return f"Cookie: {'; '.join(pairs)}\r\n"

    def receive(self, header: str, host: str, target: str, *, https: bool) -> None:
        """Take over a Set-Cookie header of an answer from `host` for `target`; one that is not right is ignored."""
        key = (header, host, https)
        if key in self._repeated:
            return
        cookie = _parse(header, host, self._now())
        if cookie is None or not _prefix_is_kept(cookie, https):
            return
        if cookie.expires is not None and cookie.expires <= self._now():
            self._cookies.pop((cookie.domain, cookie.path or _default_path(target), cookie.name), None)
            self._changed()
        elif not cookie.path:
            cookie.path = _default_path(target)
            self.set(cookie)
        else:
            self.set(cookie)
            if cookie.expires is None:
                self._repeated.add(key)

    def _changed(self) -> None:
        self._repeated.clear()
        plain = all(cookie.path == "/" and cookie.expires is None for cookie in self._cookies.values())
        self._lines = {} if plain else None


def _parse(header: str, host: str, now: float) -> Cookie | None:
    """The cookie of a header; its path is empty where the header gives none."""
    pair, *attributes = header.split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", pair.strip())
    if not (name or value) or len(name) + len(value) > MAX_COOKIE_BYTES or _CONTROL(name + value):
        return None
    cookie = Cookie(name, value, host, "")
    max_age: float | None = None
    for attribute in attributes:
        key, _, raw = attribute.partition("=")
        text = raw.strip()
        match key.strip().lower():
            case "domain" if text.strip("."):
                domain = text.lower().removeprefix(".")
                if not _may_set(domain, host):
                    return None
                cookie.domain, cookie.host_only = domain, _is_address(host)
            case "path":
                cookie.path = text if text.startswith("/") else ""
            case "secure":
                cookie.secure = True
            case "max-age" if text.removeprefix("-").isdecimal():
                max_age = now + int(text[:12])
            case "expires":
                at = _instant(text)
                cookie.expires = cookie.expires if at is None else at
    if max_age is not None:
        cookie.expires = max_age  # it overrides Expires
    return cookie


def _instant(date: str) -> float | None:
    """Seconds since the epoch of a date in any of the forms that servers write."""
    parts = parsedate_tz(date)
    if parts is None:
        return None
    try:
        return calendar.timegm((*parts[:6], 0, 0, 0)) - (parts[9] or 0)
    except (ValueError, OverflowError):
        return None


def _default_path(target: str) -> str:
    path = target.partition("?")[0]
    return path[: path.rfind("/")] or "/"


def _may_set(domain: str, host: str) -> bool:
    return host == domain or (host.endswith("." + domain) and "." in domain and not _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _prefix_is_kept(cookie: Cookie, https: bool) -> bool:
    """What the names __Secure- and __Host- promise."""
    name = cookie.name.lower()
    if name.startswith("__host-"):
        return https and cookie.secure and cookie.host_only and cookie.path == "/"
    return not name.startswith("__secure-") or (https and cookie.secure)
