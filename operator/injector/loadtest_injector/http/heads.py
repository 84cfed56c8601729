"""Reading the head of an answer: bytes from the status line to the empty line, as llhttp has accepted them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def text_of(value: bytes) -> str:
    """A header's value as text: UTF-8 where it is that, else Latin-1, which is never wrong."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def values_of(head: bytes, lower: bytes, name: bytes) -> list[str]:
    """The values of all headers of a name, in order. `lower` is the head, `name` the name, in lower case.

    What is not UTF-8 in them is escaped, so that a cookie goes back as the bytes that came.
    """
    values = []
    key = b"\r\n" + name + b":"
    at = lower.find(key)
    while at >= 0:
        begin = at + len(key)
        end = lower.index(b"\r\n", begin)
        values.append(head[begin:end].strip(b" \t").decode("utf-8", "surrogateescape"))
        at = lower.find(key, end)
    return values


def tokens_of(head: bytes, lower: bytes, name: bytes) -> list[str]:
    """The members of a header that is a list, in lower case."""
    return [
        token for value in values_of(head, lower, name) for part in value.split(",") if (token := part.strip().lower())
    ]


class Headers(Mapping[str, str]):
    """The headers of an answer by name, in any case; several of one name are joined by a comma (see `get_all`)."""

    def __init__(self, head: bytes) -> None:
        self._values: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        for line in head.split(b"\r\n")[1:]:
            name, colon, value = line.partition(b":")
            if colon:
                key = name.decode("latin-1").lower()
                self._names.setdefault(key, name.decode("latin-1"))
                self._values.setdefault(key, []).append(text_of(value.strip(b" \t")))

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._values[name.lower()])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.values())

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Headers({dict(self)})"

    def get_all(self, name: str) -> list[str]:
        """The values of all headers of a name, in order."""
        return list(self._values.get(name.lower(), ()))
