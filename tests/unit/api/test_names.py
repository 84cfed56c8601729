import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.api import names
from loadtest.api.target import Release

RUN = "0123456789abcdef"
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", re.ASCII)
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)

# The largest numbers that the CRD lets a plan have: 200 repeats in all, 50 stages, 6 attempts, 1000 workers.
EVERY_NAME = [
    names.plan(RUN),
    names.state(RUN),
    names.helm_request(RUN),
    names.snapshot(RUN),
    names.scenario(RUN),
    names.helm_job(RUN, names.snapshot_key(999)),
    names.helm_job(RUN, names.apply_key(200, 999)),
    names.helm_job(RUN, names.restore_key(999)),
    names.master(RUN, 200, 9999),
    names.worker(RUN, 200, 9999, 999),
    names.result(RUN, 200, 49, 6),
    names.result(RUN, 200, 49, 6, 9999),
    names.host_lease("a" * 300),
]


@pytest.mark.parametrize("name", EVERY_NAME)
def test_every_derived_name_is_a_dns_label(name: str):
    assert DNS_LABEL.fullmatch(name)
    assert len(name) <= names.MAX_NAME


def test_derived_names_do_not_collide():
    assert len(set(EVERY_NAME)) == len(EVERY_NAME)


def test_names_are_those_that_the_parts_agreed_upon():
    assert names.state(RUN) == f"ldt-{RUN}-state"
    assert names.helm_request(RUN) == f"ldt-{RUN}-helm"
    assert names.snapshot(RUN) == f"ldt-{RUN}-snapshot"
    assert names.apply_key(2, 1) == "apply-2-1"
    assert names.master(RUN, 2, 1) == f"ldt-{RUN}-2-1-master"
    assert names.worker(RUN, 2, 1, 0) == f"ldt-{RUN}-2-1-w0"
    assert names.result(RUN, 2, 0, 1) == f"ldt-{RUN}-r2-s0-a1"
    assert names.result(RUN, 2, 0, 1, 3) == f"ldt-{RUN}-r2-s0-a1-p3"
    assert names.release_lease("runner") == "loadtest-runner"


def test_the_lease_of_the_longest_release_name_fits():
    longest = Release(name="r" * 53, namespace="runner").name
    assert len(names.release_lease(longest)) <= names.MAX_NAME


def test_the_lease_of_a_host_does_not_depend_on_its_case():
    assert names.host_lease("Runner.svc:80") == names.host_lease("runner.svc:80")
    assert names.host_lease("runner.svc:80") != names.host_lease("runner.svc:81")


def test_a_run_id_is_16_hexadecimal_digits():
    assert re.fullmatch("[0-9a-f]{16}", names.run_id("uid", {"a": 1}, ""))


def test_a_run_id_does_not_depend_on_the_order_of_fields():
    assert names.run_id("u", {"a": 1, "b": {"c": 2, "d": 3}}, "") == names.run_id(
        "u", {"b": {"d": 3, "c": 2}, "a": 1}, ""
    )


def test_a_run_id_never_changes_between_versions():
    # A run in progress is known by it: an operator that computes another one would take it for an edit.
    assert names.run_id("5f9c", {"load": {"stages": [{"injectors": 1}]}}, "2") == "3c6bc2b3f70dab31"


@pytest.mark.parametrize(
    ("uid", "spec", "rerun"),
    [("v", {"a": 1}, ""), ("u", {"a": 2}, ""), ("u", {"a": 1}, "again"), ("u", {"a": "1"}, "")],
)
def test_uid_spec_and_rerun_each_make_another_run(uid: str, spec: dict[str, object], rerun: str):
    assert names.run_id(uid, spec, rerun) != names.run_id("u", {"a": 1}, "")


def test_canonical_json_has_no_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        names.canonical_json({"a": float("nan")})


@pytest.mark.parametrize("text", ["a", "two-threads", "A_b.c", "x" * 63])
def test_a_text_that_can_be_a_label_value_stays_as_it_is(text: str):
    assert names.label_value(text) == text


@given(st.text(max_size=300))
def test_any_text_becomes_a_label_value(text: str):
    value = names.label_value(text)
    assert LABEL_VALUE.fullmatch(value)
    assert 1 <= len(value) <= names.MAX_NAME


@given(st.text(max_size=100), st.text(max_size=100))
def test_different_texts_become_different_label_values(one: str, other: str):
    assert (names.label_value(one) == names.label_value(other)) == (one == other)


def test_a_name_of_253_characters_can_still_be_recognised_in_its_label():
    assert names.label_value("n" * 253).startswith("n" * 52 + "-")


def test_the_selector_finds_what_the_labels_mark():
    marked = names.labels(RUN, "uid")
    assert all(f"{key}={marked[key]}" in names.run_selector(RUN) for key in (names.LABEL_MANAGED_BY, names.LABEL_RUN))
