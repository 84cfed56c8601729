"""The emulator's store: bounds, transactions, refusals."""

from typing import Any

import pytest
from google.cloud.datastore_v1 import types

from sample_runner.datastore_emulator.store import (
    MAX_TRANSACTIONS,
    AbortedError,
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    Store,
)

Mutation = types.Mutation.pb()


def key(name: str | None = None) -> Any:
    made = types.Key.pb()()
    element = made.path.add(kind="thing")
    if name is not None:
        element.name = name
    return made


def mutation(operation: str, name: str | None, text: str = "") -> Any:
    made = Mutation()
    if operation == "delete":
        made.delete.CopyFrom(key(name))
        return made
    entity = getattr(made, operation)
    entity.key.CopyFrom(key(name))
    entity.properties["data"].string_value = text
    return made


def text_of(store: Store, name: str, transaction: bytes = b"") -> str | None:
    found = store.lookup(key(name), transaction)
    return None if found is None else found[0].properties["data"].string_value


@pytest.fixture
def store() -> Store:
    return Store(max_bytes=1_000_000)


def test_what_was_stored_is_found_under_a_growing_version(store: Store) -> None:
    assert text_of(store, "a") is None
    ((first, _),) = store.commit([mutation("upsert", "a", "one")])
    ((second, _),) = store.commit([mutation("upsert", "a", "two")])
    assert (text_of(store, "a"), second > first) == ("two", True)


def test_a_deleted_entity_is_gone_and_takes_no_room(store: Store) -> None:
    store.commit([mutation("insert", "a", "one")])
    store.commit([mutation("delete", "a")])
    assert (text_of(store, "a"), len(store), store.stored_bytes) == (None, 0, 0)


def test_an_incomplete_key_gets_an_id_of_its_own(store: Store) -> None:
    made = [store.commit([mutation("insert", None, text)])[0][1] for text in ("one", "two")]
    assert len({each.path[0].id for each in made}) == 2
    assert store.lookup(made[0])[0].properties["data"].string_value == "one"  # type: ignore[index]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (mutation("insert", "there"), AlreadyExistsError),
        (mutation("update", "absent"), NotFoundError),
        (mutation("delete", None), InvalidArgumentError),
        (Mutation(), InvalidArgumentError),
    ],
)
def test_a_commit_with_one_bad_mutation_changes_nothing(store: Store, bad: Any, error: type[Exception]) -> None:
    store.commit([mutation("insert", "there", "old")])
    with pytest.raises(error):
        store.commit([mutation("upsert", "there", "new"), bad])
    assert text_of(store, "there") == "old"


def test_a_transaction_that_read_what_changed_is_aborted(store: Store) -> None:
    transaction = store.begin()
    assert text_of(store, "a", transaction) is None
    store.commit([mutation("insert", "a", "first")])
    with pytest.raises(AbortedError):
        store.commit([mutation("upsert", "a", "second")], transaction)
    assert text_of(store, "a") == "first"


def test_a_transaction_that_nobody_disturbed_commits_once(store: Store) -> None:
    transaction = store.begin()
    text_of(store, "a", transaction)
    store.commit([mutation("upsert", "a", "mine")], transaction)
    assert text_of(store, "a") == "mine"
    with pytest.raises(InvalidArgumentError):
        store.commit([], transaction)


def test_a_transaction_that_was_rolled_back_is_over(store: Store) -> None:
    transaction = store.begin()
    store.rollback(transaction)
    with pytest.raises(InvalidArgumentError):
        store.lookup(key("a"), transaction)


def test_forgotten_transactions_do_not_pile_up(store: Store) -> None:
    first = store.begin()
    for _ in range(MAX_TRANSACTIONS):
        store.begin()
    with pytest.raises(InvalidArgumentError):
        store.rollback(first)


def test_the_least_recently_used_entities_go_first() -> None:
    store = Store(max_bytes=3_500)
    for name in ("a", "b", "c"):
        store.commit([mutation("upsert", name, "x" * 1_000)])
    text_of(store, "a")
    store.commit([mutation("upsert", "d", "x" * 1_000)])
    assert [name for name in "abcd" if text_of(store, name) is not None] == ["a", "c", "d"]
    assert store.stored_bytes <= 3_500
