from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadtest.local.documents import BadFile, content, parse, read

LOADTEST = "apiVersion: loadtest.eqrunner.dev/v1alpha1\nkind: LoadTest\nmetadata: {name: a}\nspec: {}\n"
CONFIG_MAP = "kind: ConfigMap\nmetadata: {name: b}\ndata: {k: v}\n"


def test_a_file_holds_one_loadtest_and_what_it_refers_to() -> None:
    documents = parse(f"{CONFIG_MAP}---\n---\n{LOADTEST}---\nkind: Namespace\nmetadata: {{name: c}}\n", "here")
    assert (documents.name, documents.namespace) == ("a", "default")
    assert documents.ignored == ("Namespace c",)
    found = documents.find("ConfigMap", "b")
    assert found
    assert content(found) == {"k": b"v"}
    assert documents.find("Secret", "b") is None


def test_an_object_of_another_namespace_is_not_found() -> None:
    elsewhere = CONFIG_MAP.replace("{name: b}", "{name: b, namespace: elsewhere}")
    assert parse(f"{elsewhere}---\n{LOADTEST}", "here").find("ConfigMap", "b") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "here: this is not YAML"),
        (CONFIG_MAP, "here holds no LoadTest: give a file with exactly one"),
        (f"{LOADTEST}---\n{LOADTEST}", "here holds 2 LoadTests"),
        ("just text", "here, document 1: kind is missing"),
        ("kind: LoadTest\nmetadata: {}\n", r"document 1 \(LoadTest\): metadata.name is missing: give it a name"),
        (
            LOADTEST.replace("v1alpha1", "v9"),
            "apiVersion of the LoadTest is .*v9': write loadtest.eqrunner.dev/v1alpha1",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place_and_the_remedy(text: str, message: str) -> None:
    with pytest.raises(BadFile, match=message):
        parse(text, "here")


def test_an_added_file_serves_as_configmap_and_as_secret(tmp_path: Path) -> None:
    (tmp_path / "test.yaml").write_text(LOADTEST)
    (tmp_path / "key").write_bytes(b"\x00secret")
    documents = read(tmp_path / "test.yaml", (f"keys/signing.pem={tmp_path / 'key'}",))
    for kind in ("ConfigMap", "Secret"):
        found = documents.find(kind, "keys")
        assert found
        assert content(found) == {"signing.pem": b"\x00secret"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("keys=x", "write it as name/key=path"),
        ("keys/a", "write it as name/key=path"),
        ("keys/a=/nowhere/at/all", "No such file"),
        ("b/a={}", "b is in the file already"),
    ],
)
def test_an_added_file_that_cannot_be_used_is_refused(tmp_path: Path, entry: str, message: str) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(f"{CONFIG_MAP}---\n{LOADTEST}")
    with pytest.raises(BadFile, match=message):
        read(path, (entry.format(path),))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"kind": "ConfigMap", "data": {"a": "1"}, "binaryData": {"b": "Mg=="}}, {"a": b"1", "b": b"2"}),
        ({"kind": "Secret", "data": {"a": "MQ=="}, "stringData": {"a": "2"}}, {"a": b"2"}),
        ({"kind": "Secret"}, {}),
    ],
)
def test_content_is_read_as_kubernetes_reads_it(body: dict[str, Any], expected: dict[str, bytes]) -> None:
    assert content(body | {"metadata": {"name": "x"}}) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "Secret", "data": {"a": "not base64!"}}, "Secret x, data.a: this is not base64"),
        ({"kind": "ConfigMap", "data": {"a": 1}}, "ConfigMap x, data.a: the value must be text: put it in quotes"),
    ],
)
def test_content_that_kubernetes_would_refuse_is_refused(body: dict[str, Any], message: str) -> None:
    with pytest.raises(BadFile, match=message):
        content(body | {"metadata": {"name": "x"}})
