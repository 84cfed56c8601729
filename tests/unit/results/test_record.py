from __future__ import annotations

import gzip
import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadtest.adapters.store import decode, encode
from loadtest.results.record import BadRecord, Problem, parse
from tests.unit.results.records import endpoint, histogram, record, stored

TWO = (endpoint(histogram([1_000, 2_000, 2_000]), content_bytes=50), endpoint(histogram([9]), "POST", success=False))


def test_a_record_is_read_as_it_was_written() -> None:
    read = record(*TWO, seen=(Problem("TargetChanged", "pod x"),), problems=[{"reason": "WorkerLost", "message": "w"}])
    assert (read.position, read.stage, read.attempt, read.injectors, read.users) == (1, 0, 1, 2, 400)
    assert (read.complete, read.duration_micros, read.launches, read.submissions) == (True, 10_000_000, 3, 2)
    assert [(entry.method, entry.name, entry.success, entry.content_bytes) for entry in read.endpoints] == [
        ("GET", "/page/", True, 50), ("POST", "/page/", False, 0)
    ]  # fmt: skip
    assert (read.endpoints[0].histogram.count, read.endpoints[0].histogram.sum_micros) == (3, 5_000)
    assert read.problems == (Problem("WorkerLost", "w"), Problem("TargetChanged", "pod x"))


@given(st.lists(st.integers(0, 10**9), max_size=30), st.text(max_size=20))
@settings(max_examples=50)
def test_storage_changes_nothing(values: list[int], name: str) -> None:
    written = stored(endpoint(histogram(values), name=name))
    data = encode(written)
    assert decode(data) == written
    assert encode(decode(data)) == data, "the same record gives the same bytes, so that its hash can be checked"


def test_stored_bytes_depend_neither_on_the_order_of_keys_nor_on_the_time() -> None:
    written = stored(*TWO)
    backwards = {key: written[key] for key in reversed(written)}
    assert encode(written) == encode(backwards)
    assert json.loads(gzip.decompress(encode(written))) == written


def without(path: str) -> dict[str, Any]:
    written: Any = deepcopy(stored(*TWO))
    *parents, last = path.split("/")
    inside = written
    for parent in parents:
        inside = inside[int(parent) if parent.isdigit() else parent]
    del inside[last]
    return dict(written)


def changed(path: str, value: Any) -> dict[str, Any]:
    written: Any = deepcopy(stored(*TWO))
    *parents, last = path.split("/")
    inside = written
    for parent in parents:
        inside = inside[int(parent) if parent.isdigit() else parent]
    inside[int(last) if last.isdigit() else last] = value
    return dict(written)


BAD: list[tuple[str, Any, str]] = [
    ("nothing at all", {}, "not whole"),
    ("no envelope", stored(*TWO)["record"], "not whole"),
    ("another envelope", changed("format", "loadtest.eqrunner.dev/stage-result/v2"), "unknown format"),
    (
        "a record of another version",
        changed("record/format", "loadtest.eqrunner.dev/stage-record/v2"),
        "unknown format",
    ),
    ("no record", without("record"), "not whole"),
    ("no order", without("record/order"), "not whole"),
    ("no users", without("record/order/users"), "not whole"),
    ("no stage", without("record/stage"), "not whole"),
    ("no word on completeness", without("record/complete"), "not whole"),
    ("an endpoint without a method", without("record/histograms/0/method"), "not whole"),
    ("an endpoint without its buckets", without("record/histograms/0/buckets"), "not whole"),
    ("a problem without a reason", changed("record/problems", [{"message": "m"}]), "not whole"),
    ("a record that is a list", changed("record", []), "not whole"),
    ("counts that contradict their buckets", changed("record/histograms/0/count", 4), "the buckets hold 3"),
    ("a bucket that is named twice", changed("record/histograms/0/buckets", [[5, 1], [5, 2]]), "named twice"),
    ("a bucket beyond the layout", changed("record/histograms/1/buckets", [[10**9, 1]]), "no bucket has the index"),
]


@pytest.mark.parametrize(("bad", "says"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_record_is_refused_that_has(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRecord, match=says):
        parse(bad)
