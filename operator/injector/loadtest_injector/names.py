"""Names of requests, bounded: a locustfile whose urls are all different must not fill memory and record. Pure."""

from __future__ import annotations

FURTHER = "(further names)"
"""The name under which requests are counted whose own is one too many."""

MAX_NAMES = 500
"""Different names kept apart by a worker, in one attempt."""

MAX_METHODS = 20
MAX_LENGTH = 200
"""Characters of a name; what is longer is cut."""


class Names:
    """The names of one attempt. `further` counts the requests that lost theirs."""

    def __init__(self, limit: int = MAX_NAMES) -> None:
        self.limit = limit
        self.further = 0
        self._names: set[str] = set()
        self._methods: set[str] = set()

    def of(self, method: str, name: str, requests: int = 1) -> tuple[str, str]:
        """Method and name under which so many requests are counted."""
        if method in self._methods and name in self._names:
            return method, name
        method, name = method[:MAX_LENGTH], name[:MAX_LENGTH]
        known = self._kept(self._methods, method, MAX_METHODS), self._kept(self._names, name, self.limit)
        if not all(known):
            self.further += requests
        return method if known[0] else FURTHER, name if known[1] else FURTHER

    @staticmethod
    def _kept(known: set[str], word: str, limit: int) -> bool:
        if word not in known and len(known) < limit:
            known.add(word)
        return word in known
