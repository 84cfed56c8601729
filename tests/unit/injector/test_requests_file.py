from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loadtest_injector import requests_file
from loadtest_injector.requests_file import RequestsFileError, Route, RouteMismatchError, parse

GET = {"method": "GET", "url": "/a/"}
POST = {"method": "POST", "url": "/a/", "data": {}}


def journey(*requests: object, **more: object) -> str:
    return json.dumps({"schema_name": "s", "requests": list(requests)} | more)


def test_a_journey_is_read_with_its_names_forms_and_routes():
    text = journey(
        {"method": "get", "url": "/a/?x=1"},
        {"method": "POST", "url": "/a/", "data": {"k": "é &", "n": 3, "l": ["a", "b"]}, "redirect_route": "/p/{id}/"},
        {"method": "GET", "url": "/p/{id}/name/{id}/"},
    )
    read = parse(text, launch=True)
    assert read.schema_name == "s"
    assert [(e.method, e.name) for e in read.entries] == [
        ("GET", "/a/?x=1"),
        ("POST", "/a/"),
        ("GET", "/p/{id}/name/{id}/"),
    ]
    assert read.entries[1].form == "k=%C3%A9+%26&n=3&l=a&l=b"
    assert read.entries[2].path({"id": "Zb"}) == "/p/Zb/name/Zb/"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "must be a JSON object"),
        ('{"schema_url": "u"}', '"requests" must be a list'),
        (journey(), '"requests" must be a list with at least one'),
        (journey(*[GET] * 10_001), "10001 entries, at most 10000"),
        (journey(GET, "x"), r"requests\[1\] must be an object"),
        (journey({"method": "PUT", "url": "/a/"}), r"requests\[0\]: method 'PUT' is unknown: use GET or POST"),
        (journey({"url": "/a/"}), r"requests\[0\]: method 'None' is unknown"),
        (journey({"method": "GET"}), r"requests\[0\]: url must be a path"),
        (journey({"method": "GET", "url": "http://other/"}), "url must be a path on the target"),
        (journey({"method": "GET", "url": "//other/"}), "url must be a path on the target"),
        (journey({"method": "GET", "url": "/a b/"}), "percent-encode"),
        (journey({"method": "GET", "url": "/a\r\nX: y"}), "percent-encode"),
        (journey({"method": "GET", "url": "/" + "a" * 2_000}), "2001 characters"),
        (journey({"method": "GET", "url": "/{a-b}/"}), "brace that is no {name}"),
        (journey(GET, {"method": "GET", "url": "/{x}/"}), r"requests\[1\]: {x} in its url was never harvested"),
        (
            journey({"method": "POST", "url": "/{x}/", "redirect_route": "/{x}/"}),
            r"requests\[0\]: {x} in its url was never harvested: an earlier request needs a redirect_route",
        ),
        (journey({"method": "GET", "url": "/a/", "data": {}}), "a GET has no data"),
        (journey(POST | {"data": []}), "data must be an object"),
        (journey(POST | {"data": {"k": {"nested": 1}}}), "data field 'k' must be text"),
        (journey(POST | {"data": {"k": None}}), "data field 'k' must be text"),
        (journey(POST | {"data": {"k": "\ud800"}}), "lone surrogate"),
        (journey(POST | {"data": {"k": "x" * 70_000}}), "70002 bytes"),
        (journey(POST | {"redirect_route": 5}), "redirect_route must be a path"),
        (journey(POST | {"redirect_route": "/a-{x}/"}), "harvested as a whole"),
        (journey(POST | {"redirect_route": "/a/?k=x{y}"}), "harvested as a whole"),
        (journey(POST | {"redirect_route": "/a/?{k}=x"}), "name of a query parameter"),
        (journey(GET, schema_name=5), '"schema_name" must be text'),
        (journey(GET, schema_name=""), "neither schema_name nor schema_url"),
    ],
)
def test_a_wrong_file_is_refused_with_entry_and_remedy(text: Any, message: Any):
    with pytest.raises(RequestsFileError, match=message):
        parse(text, launch=True)


def test_a_file_without_a_schema_is_fine_where_nothing_is_launched():
    assert parse(journey(GET, schema_name=None)).schema_name is None


def test_a_page_needs_a_csrf_token_where_a_post_follows_before_the_next_page():
    redirect = {"method": "GET", "url": "/r/", "redirect_route": "/x/"}
    read = parse(journey(POST, GET, POST, POST, GET, GET, redirect, POST, GET))
    assert [e.wants_token for e in read.entries] == [False, True, False, False, False, True, False, False, False]


@pytest.mark.parametrize(
    ("route", "location", "harvested"),
    [
        ("/q/{person}/name/", "/q/aB3/name/", {"person": "aB3"}),
        ("/q/{person}/name/", "https://host:1/q/aB3/name", {"person": "aB3"}),
        ("/r/{a}/to/{b}/", "/r/1/to/2/", {"a": "1", "b": "2"}),
        ("/r/?item={id}&x=1", "/r/?x=1&item=a%20b&more=2", {"id": "a%20b"}),
        ("/plain/", "/plain/", {}),
    ],
)
def test_ids_are_harvested_from_the_same_place_of_the_location(route: Any, location: Any, harvested: Any):
    assert route_of(route).harvest(location) == harvested


@pytest.mark.parametrize(
    ("route", "location"),
    [
        ("/q/{person}/name/", "/q/aB3/"),
        ("/q/{person}/name/", "/q/aB3/other/"),
        ("/q/{person}/", "/q//"),
        ("/r/?item={id}", "/r/"),
        ("/r/?item=1", "/r/?item=2"),
        ("/q/{person}/", ""),
        ("/q/{person}/", "http://[bad/q/1/"),
    ],
)
def test_a_redirect_to_elsewhere_is_no_harvest(route: Any, location: Any):
    with pytest.raises(RouteMismatchError):
        route_of(route).harvest(location)


def route_of(route: str) -> Route:
    built = parse(journey({"method": "GET", "url": "/a/", "redirect_route": route})).entries[0].route
    assert built is not None
    return built


def test_the_module_needs_neither_locust_nor_gevent():
    root = Path(requests_file.__file__).parents[1]
    for module in ("requests_file", "histogram", "control", "order", "tally", "record"):
        code = f"import sys; sys.path.insert(0, {str(root)!r}); import loadtest_injector.{module}; "
        code += "sys.exit(any(name in sys.modules for name in ('locust', 'gevent')))"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0, module
