"""Entities and transactions in memory. One thread uses it, so that each call is atomic."""

from __future__ import annotations

import itertools
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

MAX_TRANSACTIONS = 10_000
"""Transactions that were begun and never ended; the oldest are forgotten first."""


class StoreError(Exception):
    """A call that Datastore refuses."""


class InvalidArgumentError(StoreError):
    """The request makes no sense."""


class NotFoundError(StoreError):
    """An update of an entity that is not there."""


class AlreadyExistsError(StoreError):
    """An insert over an entity that is there."""


class AbortedError(StoreError):
    """The transaction read something that has changed since."""


@dataclass
class _Stored:
    entity: Any
    version: int
    size: int


@dataclass
class _Transaction:
    versions: dict[bytes, int] = field(default_factory=dict)


class Store:
    """Entities by key, bounded in bytes: the least recently used go first. A version grows with every commit."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entities: OrderedDict[bytes, _Stored] = OrderedDict()
        self._transactions: OrderedDict[bytes, _Transaction] = OrderedDict()
        self._versions = itertools.count(1)
        self._ids = itertools.count(1)

    def __len__(self) -> int:
        return len(self._entities)

    @property
    def stored_bytes(self) -> int:
        """How much the entities take, serialised."""
        return self._bytes

    def begin(self) -> bytes:
        """A new transaction."""
        identifier = secrets.token_bytes(12)
        self._transactions[identifier] = _Transaction()
        if len(self._transactions) > MAX_TRANSACTIONS:
            self._transactions.popitem(last=False)
        return identifier

    def rollback(self, transaction: bytes) -> None:
        """End a transaction with nothing written."""
        self._take(transaction)

    def lookup(self, key: Any, transaction: bytes = b"") -> tuple[Any, int] | None:
        """The entity with this key and its version; a transaction notes what it saw."""
        name = _name(key)
        stored = self._entities.get(name)
        if transaction:
            if transaction not in self._transactions:
                raise InvalidArgumentError("the transaction is unknown or has ended")
            self._transactions[transaction].versions[name] = stored.version if stored else 0
        if stored is None:
            return None
        self._entities.move_to_end(name)
        return stored.entity, stored.version

    def commit(self, mutations: Any, transaction: bytes = b"") -> list[tuple[int, Any | None]]:
        """Apply all mutations or none: per mutation the new version, and the whole key where its id was made here."""
        if transaction:
            for name, version in self._take(transaction).versions.items():
                stored = self._entities.get(name)
                if (stored.version if stored else 0) != version:
                    raise AbortedError("an entity that the transaction read was changed: try again")
        for mutation in mutations:
            self._check(mutation)
        version = next(self._versions)
        return [(version, self._apply(mutation, version)) for mutation in mutations]

    def _take(self, transaction: bytes) -> _Transaction:
        try:
            return self._transactions.pop(transaction)
        except KeyError:
            raise InvalidArgumentError("the transaction is unknown or has ended") from None

    def _check(self, mutation: Any) -> None:
        operation = mutation.WhichOneof("operation")
        if operation is None:
            raise InvalidArgumentError("a mutation has no operation")
        key = mutation.delete if operation == "delete" else getattr(mutation, operation).key
        if not key.path:
            raise InvalidArgumentError("a key has no path")
        exists = _name(key) in self._entities
        if operation == "insert" and exists:
            raise AlreadyExistsError("the entity is there already")
        if operation == "update" and not exists:
            raise NotFoundError("there is no such entity to update")
        if operation not in {"insert", "upsert"} and _is_incomplete(key):
            raise InvalidArgumentError("a key has neither id nor name")

    def _apply(self, mutation: Any, version: int) -> Any | None:
        operation = mutation.WhichOneof("operation")
        if operation == "delete":
            self._drop(_name(mutation.delete))
            return None
        entity = getattr(mutation, operation)
        made = _is_incomplete(entity.key)
        if made:
            entity.key.path[-1].id = next(self._ids)
        name = _name(entity.key)
        self._drop(name)
        size = entity.ByteSize()
        self._entities[name] = _Stored(entity, version, size)
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._entities) > 1:
            self._drop(next(iter(self._entities)))
        return entity.key if made else None

    def _drop(self, name: bytes) -> None:
        stored = self._entities.pop(name, None)
        if stored is not None:
            self._bytes -= stored.size


def _name(key: Any) -> bytes:
    return bytes(key.SerializeToString(deterministic=True))


def _is_incomplete(key: Any) -> bool:
    return key.path[-1].WhichOneof("id_type") is None
