"""Merging, hashing and writing values as helm does."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadtest.adapters.helm_job.values import has_path, merge, scalars, sha256, to_helm

_SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
_KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_JSON = st.recursive(
    _SCALARS | _KEYS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4)
)
_MAPS = st.dictionaries(_KEYS, _JSON, max_size=5)


@pytest.mark.parametrize(
    ("base", "over", "merged"),
    [
        ({}, {}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"d": 2}}}, {"a": {"b": {"c": 1, "d": 2}}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": None}, {}, {"a": None}),
        ({"a": {"b": 1}}, {"a": "text"}, {"a": "text"}),
        ({"a": "text"}, {"a": {"b": None}}, {"a": {"b": None}}),
        ({"a.b": 1}, {"a": {"b": 2}}, {"a.b": 1, "a": {"b": 2}}),
    ],
)
def test_values_merge_as_helm_merges_a_second_file(base: Any, over: Any, merged: Any) -> None:
    before = json.dumps([base, over])
    assert merge(base, over) == merged
    assert json.dumps([base, over]) == before


@given(_MAPS, _MAPS)
def test_merging_twice_is_merging_once(base: dict[str, Any], over: dict[str, Any]) -> None:
    once = merge(base, over)
    assert merge(once, over) == once


@given(_MAPS)
def test_an_empty_map_changes_nothing_on_either_side(values: dict[str, Any]) -> None:
    assert merge(values, {}) == values == merge({}, values)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("webServer", True),
        ("webServer.workers", True),
        ("webServer.threads", False),
        ("webServer.workers.more", False),
        ("nodeSelector", True),
        ("nodeSelector.disk", False),
        ("", False),
        ("web", False),
    ],
)
def test_a_path_is_known_when_the_values_have_its_key(path: str, known: bool) -> None:
    assert has_path({"webServer": {"workers": "3"}, "nodeSelector": None}, path) is known


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 10**22}, {"a": 1e22}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": ""}, {"a": None}, False),
    ],
)
def test_hashes_are_equal_exactly_where_helm_sees_no_difference(one: Any, other: Any, same: bool) -> None:
    assert (sha256(one) == sha256(other)) is same


@given(_JSON)
def test_what_is_written_for_helm_is_json_and_escapes_all_that_yaml_would_change(value: Any) -> None:
    text = to_helm(value)
    assert json.loads(text) == value
    assert not any(character in text for character in "\x7f\x85\u2028\u2029\ufeff")


@pytest.mark.parametrize(
    "text", ["a\u0085b", "a\u2028b", "\ufeff", "\U0001f600", "no", "0x10", "a: b # c", "\t\n", "1e3"]
)
def test_strings_that_yaml_treats_specially_come_through_as_they_are(text: str) -> None:
    assert yaml.safe_load(to_helm({"key": text, text: 1})) == {"key": text, text: 1}


def test_scalars_are_all_that_is_inside_but_truth_and_nothing() -> None:
    assert list(scalars({"a": [1, "two", None, True], "b": {"c": 3.5}})) == ["1", "two", "3.5"]
