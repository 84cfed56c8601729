"""docs/security.md says exactly what the charts grant."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cluster.paths import TREE
from tests.unit.charts.rendering import of_kind, render, rules

_PAGE = (TREE / "docs" / "security.md").read_text()
_FORBIDDEN = {"*", "escalate", "bind", "impersonate", "deletecollection"}

Rights = set[tuple[str, str, str]]
"""Group, resource, verb."""


def documented(table: str) -> Rights:
    """The rights of one table of the page."""
    found = re.search(rf"<!-- rights: {table} -->\n(.*?)<!-- end -->", _PAGE, re.DOTALL)
    assert found is not None
    rows = [line.strip("|").split("|") for line in found[1].strip().splitlines()[2:]]
    return {
        (_word(group), resource, verb)
        for group, resources, verbs, _ in rows
        for resource in _word(resources).split()
        for verb in _word(verbs).split()
    }


def _word(cell: str) -> str:
    inside = re.search("`([^`]*)`", cell)
    return inside[1] if inside else ""


def granted(objects: list[dict[str, Any]], *names: str) -> Rights:
    """What the roles of these names grant."""
    roles = [each for kind in ("Role", "ClusterRole") for each in of_kind(objects, kind)]
    wanted = [each for each in roles if each["metadata"]["name"] in names]
    assert {each["metadata"]["name"] for each in wanted} == set(names)
    return {
        (group, resource, verb)
        for rule in rules(wanted)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    ("table", "chart", "role"),
    [
        ("operator", "loadtest-operator", "loadtest-operator:loadtest-system"),
        ("own", "loadtest-operator", "loadtest-operator-leases"),
        ("target", "loadtest-target", "loadtest-operator-target"),
        ("helm", "loadtest-target", "loadtest-helm"),
    ],
)
def test_the_page_says_what_each_role_grants(table: str, chart: str, role: str) -> None:
    assert documented(table) == granted(render(chart), role)


def test_with_listed_namespaces_the_operator_has_the_same_rights_but_for_namespaces() -> None:
    listed = granted(render("loadtest-operator", {"watchNamespaces": ["performance"]}), "loadtest-operator")
    assert listed == documented("operator") - {("", "namespaces", "get")}


def test_the_page_explains_every_role_of_the_charts() -> None:
    found = {
        each["metadata"]["name"]
        for chart in ("loadtest-operator", "loadtest-target")
        for kind in ("Role", "ClusterRole")
        for each in of_kind(render(chart), kind)
    }
    assert found == {
        "loadtest-operator:loadtest-system", "loadtest-operator-leases", "loadtest-operator-target", "loadtest-helm"
    }  # fmt: skip


def test_nobody_has_wildcards_or_rights_that_make_rights_and_the_operator_no_secrets() -> None:
    everything = {table: documented(table) for table in ("operator", "own", "target", "helm")}
    for rights in everything.values():
        assert not {verb for _, _, verb in rights} & _FORBIDDEN
        assert not {resource for _, resource, _ in rights} & {"*", "nodes", "nodes/proxy", "pods/exec", "secrets/*"}
    for table in ("operator", "own", "target"):
        assert "secrets" not in {resource for _, resource, _ in everything[table]}
