"""The measurements of a stage order, checked field by field. Pure.

Names of Secrets and paths are not in an order: what a source needs lies in the folder of secrets, under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_MEASUREMENTS = 16
_MAX_TEXT = 4_096
_MAX_PORT = 65_535


class SourceError(ValueError):
    """A measurement is refused: `field` names what is wrong, below `measurements`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True)
class RedisSource:
    """A Redis server. With `password` there is a file of that name; with `ca` there is a file ca.crt."""

    name: str
    host: str
    port: int
    username: str | None
    password: bool
    tls: bool
    ca: bool


Source = RedisSource


def parse_sources(value: object) -> tuple[Source, ...]:
    """Read the list; SourceError names the first field that is wrong."""
    if not isinstance(value, list) or len(value) > MAX_MEASUREMENTS:
        raise SourceError("measurements", f"must be a list of at most {MAX_MEASUREMENTS} measurements")
    sources = tuple(_source(entry, f"measurements[{number}]") for number, entry in enumerate(value))
    if len({source.name for source in sources}) != len(sources):
        raise SourceError("measurements", "must have different names")
    return sources


def _source(entry: object, where: str) -> Source:
    if not isinstance(entry, dict):
        raise SourceError(where, "must be a JSON object")
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1 or not isinstance(entry[kinds[0]], dict):
        raise SourceError(where, f"must have exactly one of {', '.join(_KINDS)}, a JSON object")
    return _KINDS[kinds[0]](_text(entry, "name", where), entry[kinds[0]], f"{where}.{kinds[0]}")


def _redis(name: str, body: Mapping[str, Any], where: str) -> Source:
    port = body.get("port")
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= _MAX_PORT:
        raise SourceError(f"{where}.port", f"must be a whole number from 1 to {_MAX_PORT}")
    return RedisSource(
        name=name,
        host=_text(body, "host", where),
        port=port,
        username=_text(body, "username", where) if "username" in body else None,
        password=bool(body.get("password")),
        tls=bool(body.get("tls")),
        ca=bool(body.get("ca")),
    )


_KINDS: dict[str, Callable[[str, Mapping[str, Any], str], Source]] = {"redis": _redis}


def _text(body: Mapping[str, Any], field: str, where: str) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not 1 <= len(value) <= _MAX_TEXT:
        raise SourceError(f"{where}.{field}", f"must be a text of 1 to {_MAX_TEXT} characters")
    return value
