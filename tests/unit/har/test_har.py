from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from loadtest.cli.import_har import import_har as command
from loadtest.har import HarError, import_har, looks_generated
from loadtest_injector.requests_file import parse

JOURNEYS = Path(__file__).parents[3] / "samples" / "runner" / "journeys"
HOST = "https://runner.example"
FORM = "application/x-www-form-urlencoded"


def page(path: str, *, status: int = 200, kind: str = "text/html; charset=utf-8", host: str = HOST) -> dict[str, Any]:
    return {
        "request": {"method": "GET", "url": host + path, "headers": []},
        "response": {"status": status, "content": {"mimeType": kind}, "redirectURL": "", "headers": []},
    }


def moved(path: str, to: str, *, status: int = 302) -> dict[str, Any]:
    entry = page(path, status=status, kind="x-unknown")
    entry["response"]["redirectURL"] = to
    return entry


def form(path: str, text: str, to: str, *, status: int = 302) -> dict[str, Any]:
    entry = moved(path, to, status=status)
    entry["request"] |= {"method": "POST", "postData": {"mimeType": FORM, "text": text}}
    return entry


def refused(path: str) -> dict[str, Any]:
    """A form that is shown again with what is wrong in it."""
    entry = page(path)
    entry["request"] |= {"method": "POST", "postData": {"mimeType": FORM, "text": "x=1"}}
    return entry


def har(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"log": {"version": "1.2", "entries": list(entries)}}


def requests_of(*entries: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    document = import_har(har(*entries), **options).document
    parse(json.dumps(document))
    requests: list[dict[str, Any]] = document["requests"]
    return requests


def test_pages_pdfs_and_forms_are_kept_and_what_pages_load_is_not():
    assert requests_of(
        page("/questionnaire/name/"),
        page("/static/style.css", kind="text/css"),
        page("/api/session-expires-at", kind="application/json"),
        page("/collect", host="https://analytics.example"),
        form("/questionnaire/name/", "name=Zo%C3%AB+B&csrf_token=secret", "/questionnaire/done/"),
        page("/submitted/download.pdf?lang=en", kind="application/pdf"),
    ) == [
        {"method": "GET", "url": "/questionnaire/name/"},
        {"method": "POST", "url": "/questionnaire/name/", "data": {"name": "Zoë B"}},
        {"method": "GET", "url": "/submitted/download.pdf?lang=en"},
    ]


def test_the_launch_and_all_before_it_are_left_to_the_injector():
    assert requests_of(
        page("/launcher-on-the-same-host"),
        moved("/session?token=abc", "/questionnaire/"),
        moved("/questionnaire", "/questionnaire/first/"),
        page("/questionnaire/first/"),
    ) == [{"method": "GET", "url": "/questionnaire/first/"}]


def test_an_id_that_a_redirect_brings_and_a_later_request_uses_is_harvested():
    requests = requests_of(
        page("/who/"),
        form("/who/", "who=family", f"{HOST}/household/aBcDeF/name/"),
        page("/household/aBcDeF/name/"),
        form("/household/aBcDeF/name/", "first=Joe", "/household/aBcDeF/age/"),
        moved("/relationships/", "/relationships/aBcDeF/to/GhIjKl/?from=aBcDeF&x=1"),
        page("/relationships/aBcDeF/to/GhIjKl/?from=aBcDeF&x=1"),
    )
    assert [(request["url"], request.get("redirect_route")) for request in requests] == [
        ("/who/", None),
        ("/who/", "/household/{id_1}/name/"),
        ("/household/{id_1}/name/", None),
        ("/household/{id_1}/name/", None),
        ("/relationships/", "/relationships/{id_1}/to/{id_2}/?from={id_1}&x=1"),
        ("/relationships/{id_1}/to/{id_2}/?from={id_1}&x=1", None),
    ]


def recording_of(requests: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """What a browser would record of a walk along a requests file, and the ids that the target made up."""
    ids: dict[str, str] = {}

    def filled(url: str) -> str:
        return re.sub(r"{(\w+)}", lambda found: ids.setdefault(found[1], f"aBcD{chr(97 + len(ids))}Z"), url)

    entries = []
    for index, request in enumerate(requests):
        following = (later["url"] for later in requests[index + 1 :] if later["method"] == "GET")
        route = request.get("redirect_route")
        if request["method"] == "POST":
            text = urlencode({**request.get("data", {}), "csrf_token": "x"}, doseq=True)
            entries.append(form(filled(request["url"]), text, filled(route or next(following, "/end/"))))
        elif route:
            entries.append(moved(filled(request["url"]), HOST + filled(route)))
        else:
            entries.append(page(filled(request["url"])))
    return har(*entries), ids


@pytest.mark.parametrize("file", sorted(JOURNEYS.glob("*.json")), ids=lambda file: file.stem)
def test_a_recorded_walk_along_a_requests_file_gives_that_file_back(file: Path):
    journey = json.loads(file.read_text())
    recording, ids = recording_of(journey["requests"])
    imported = import_har(recording, schema_name=journey["schema_name"])
    assert imported.document["schema_name"] == journey["schema_name"]
    assert set(imported.ids.values()) == set(ids.values())
    parse(json.dumps(imported.document), launch=True)
    original = {name: f"{{{key}}}" for key, name in ids.items()}
    back = json.dumps(imported.document["requests"])
    for name, recorded in imported.ids.items():
        back = back.replace(f"{{{name}}}", original[recorded])
    for ours, theirs in zip(json.loads(back), journey["requests"], strict=True):
        assert (ours["method"], ours["url"]) == (theirs["method"], theirs["url"])
        assert ours.get("data", {}) == {
            key: value if isinstance(value, list) else str(value) for key, value in theirs.get("data", {}).items()
        }


def test_an_id_that_never_comes_back_is_left_in_nothing():
    requests = requests_of(page("/a/"), form("/a/", "", "/thanks/aBcDeF"), page("/b/"))
    assert "redirect_route" not in requests[1]


def test_an_id_that_no_redirect_brings_is_sent_as_recorded_and_said():
    imported = import_har(har(page("/people/"), page("/people/aBcDeF/remove/")))
    assert imported.document["requests"][1]["url"] == "/people/aBcDeF/remove/"
    assert [warning for warning in imported.warnings if "aBcDeF" in warning]


def test_an_id_that_looks_like_a_word_is_harvested_when_it_is_named():
    entries = (page("/a/"), form("/a/", "", "/p/abcdef/"), page("/p/abcdef/"))
    assert "redirect_route" not in requests_of(*entries)[1]
    assert requests_of(*entries, ids=("abcdef",))[1]["redirect_route"] == "/p/{id_1}/"


def test_a_page_that_is_redirected_says_where_to():
    assert requests_of(page("/a/"), moved("/next/", "/b/?q=1"))[1] == {
        "method": "GET",
        "url": "/next/",
        "redirect_route": "/b/?q=1",
    }


@pytest.mark.parametrize(
    ("post", "data"),
    [
        ({"mimeType": FORM, "text": "a=1&b=&a=2&a=3"}, {"a": ["1", "2", "3"], "b": ""}),
        ({"mimeType": f"{FORM};charset=UTF-8", "params": [{"name": "a", "value": "x y"}]}, {"a": "x y"}),
        ({"mimeType": FORM, "text": "a=x%2By", "params": [{"name": "a", "value": "x%2By"}]}, {"a": "x+y"}),
        ({"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "a", "value": "1"}]}, {"a": "1"}),
        ({}, {}),
    ],
)
def test_form_data_is_what_the_target_was_sent(post: dict[str, Any], data: dict[str, Any]):
    entry = form("/a/", "", "/b/")
    entry["request"]["postData"] = post
    assert requests_of(page("/a/"), entry)[1]["data"] == data


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        (refused("/a/"), "not accepted"),
        (page("/missing/", status=404), "404"),
        (moved("/a", "/a/", status=308), "308"),
        (moved("/out", "https://elsewhere.example/"), "its own host"),
    ],
)
def test_what_cannot_be_replayed_is_left_out_and_said(entry: dict[str, Any], word: str):
    imported = import_har(har(page("/a/"), entry))
    assert len(imported.document["requests"]) == 1
    assert [warning for warning in imported.warnings if word in warning]


@pytest.mark.parametrize(
    ("post", "word"),
    [
        ({"mimeType": "application/json", "text": "{}"}, "no form"),
        ({"mimeType": "multipart/form-data", "params": [{"name": "f", "fileName": "a.txt"}]}, "uploads"),
        ({"mimeType": "multipart/form-data", "text": "--x"}, "multipart"),
    ],
)
def test_a_post_that_is_no_form_is_left_out_and_said(post: dict[str, Any], word: str):
    entry = form("/a/", "", "/b/")
    entry["request"]["postData"] = post
    imported = import_har(har(page("/a/"), entry))
    assert len(imported.document["requests"]) == 1
    assert [warning for warning in imported.warnings if word in warning]


def test_a_page_from_the_browsers_cache_is_a_page():
    assert len(requests_of(page("/a/"), page("/b/", status=304, kind=""))) == 2


@pytest.mark.parametrize(
    ("part", "generated"),
    [
        ("aBcDeF", True),
        ("TSEsSP", True),
        ("a1b2c3d4", True),
        ("2f7d1e64-52a7-4b9f-9d3c-0a1b2c3d4e5f", True),
        ("20201", True),
        ("what-is-your-name", False),
        ("household", False),
        ("Household", False),
        ("v1", False),
        ("", False),
    ],
)
def test_ids_are_told_from_words(part: str, generated: bool):
    assert looks_generated(part) is generated


@pytest.mark.parametrize(
    "broken", [[], {}, {"log": {}}, har(), har(page("/a.css", kind="text/css")), {"log": {"entries": [{}]}}]
)
def test_what_is_no_recording_of_a_journey_is_refused(broken: Any):
    with pytest.raises(HarError):
        import_har(broken)


def test_the_command_writes_a_file_that_the_injector_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    recording, requests = tmp_path / "walk.har", tmp_path / "requests.json"
    recording.write_text(json.dumps(har(page("/a/"), form("/a/", "x=1", "/p/aBcDeF/"), page("/p/aBcDeF/"))))
    assert command(recording, requests, "test_small", None, ()) == 0
    journey = parse(requests.read_bytes(), launch=True)
    assert [entry.name for entry in journey.entries] == ["/a/", "/a/", "/p/{id}/"]
    assert "{id_1} was aBcDeF" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{}", '{"log": 1}', "\xff"])
def test_the_command_says_what_is_wrong_with_a_file_and_writes_nothing(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    recording, requests = tmp_path / "walk.har", tmp_path / "requests.json"
    recording.write_text(text, encoding="latin-1")
    assert command(recording, requests, None, None, ()) == 2
    assert not requests.exists()
    assert "walk.har" in capsys.readouterr().err
