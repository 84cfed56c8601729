"""Which request of a journey an address is, and where it leads."""

import itertools
import json
from pathlib import Path

import pytest

from sample_runner.journey import THANK_YOU, Journey, JourneyError, load, parse

NAME = "/questionnaire/household/{person_1_list_id}/name/"
PAIR = "/relationships/{person_1_list_id}/to/{person_2_list_id}/"
REQUESTS = [
    {"method": "GET", "url": "/hub/"},  # 0
    {"method": "POST", "url": "/hub/", "redirect_route": NAME},  # 1
    {"method": "GET", "url": NAME},  # 2
    {"method": "POST", "url": NAME, "data": {"first-name": "Ada"}},  # 3
    {"method": "POST", "url": "/who-else/", "data": {"who": "Family"}},  # 4
    {"method": "GET", "url": "/visitors/?previous=any&b=1"},  # 5
    {"method": "GET", "url": "/relationships/", "redirect_route": PAIR},  # 6
    {"method": "GET", "url": PAIR},  # 7
    {"method": "GET", "url": "/hub/"},  # 8
    {"method": "POST", "url": "/hub/"},  # 9
    {"method": "GET", "url": "/q/?person={person_2_list_id}"},  # 10
    {"method": "GET", "url": "/hub/"},  # 11
]
IDS = {"person_1_list_id": "AaAaAa", "person_2_list_id": "BbBbBb"}


@pytest.fixture
def journey() -> Journey:
    return parse(json.dumps({"schema_name": "small", "requests": REQUESTS}), name="file")


@pytest.mark.parametrize(
    ("method", "path", "query", "position", "expected"),
    [
        pytest.param("GET", "/hub/", "", -1, 0, id="the first request"),
        pytest.param("POST", "/hub/", "", 0, 1, id="what comes next"),
        pytest.param("GET", "/hub/", "", 7, 8, id="what comes next, of several with one address"),
        pytest.param("GET", "/hub/", "", 8, 8, id="a repeat is the one just served"),
        pytest.param("GET", "/hub/", "", 3, 8, id="else the next one further on"),
        pytest.param("POST", "/hub/", "", 10, 9, id="else the last one before"),
        pytest.param("GET", "/questionnaire/household/AaAaAa/name/", "", 1, 2, id="an id of this session"),
        pytest.param("GET", "/relationships/AaAaAa/to/BbBbBb/", "", 6, 7, id="two ids at their places"),
        pytest.param("GET", "/visitors/", "previous=any&b=1", 4, 5, id="with its query"),
        pytest.param("GET", "/visitors/", "b=1&previous=any", 4, 5, id="with its query in another order"),
        pytest.param("GET", "/q/", "person=BbBbBb", 9, 10, id="an id in the query"),
        pytest.param("POST", "/who-else/", "", 3, 4, id="a POST after a POST"),
    ],
)
def test_a_request_is_found_by_its_address(
    journey: Journey, method: str, path: str, query: str, position: int, expected: int
) -> None:
    matched = journey.match(method, path, query, ids=IDS, position=position)
    assert matched is not None
    assert (matched[0].index, matched[1]) == (expected, expected)


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        pytest.param("GET", "/nowhere/", "", id="an address that the file does not have"),
        pytest.param("GET", "/questionnaire/household/CcCcCc/name/", "", id="an id of nobody"),
        pytest.param("GET", "/questionnaire/household/BbBbBb/name/", "", id="an id of another name"),
        pytest.param("GET", "/relationships/BbBbBb/to/AaAaAa/", "", id="ids in the wrong places"),
        pytest.param("GET", "/questionnaire/household/{person_2_list_id}/name/", "", id="a placeholder itself"),
        pytest.param("GET", "/visitors/", "", id="without its query"),
        pytest.param("GET", "/visitors/", "previous=other&b=1", id="with another query"),
        pytest.param("GET", "/hub", "", id="without its slash"),
        pytest.param("POST", "/relationships/", "", id="another method"),
    ],
)
def test_any_other_request_is_not_found(journey: Journey, method: str, path: str, query: str) -> None:
    assert journey.match(method, path, query, ids=IDS, position=-1) is None


def test_a_page_that_the_file_only_posts_to_can_be_read_and_moves_nothing_on(journey: Journey) -> None:
    matched = journey.match("GET", "/who-else/", "", ids=IDS, position=3)
    assert matched is not None
    assert (matched[0].index, matched[1]) == (4, 3)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        pytest.param(-1, "/hub/", id="a new session goes to the first page"),
        pytest.param(1, "/questionnaire/household/AaAaAa/name/", id="a redirect_route with its id"),
        pytest.param(3, "/who-else/", id="else to the next request"),
        pytest.param(4, "/visitors/?previous=any&b=1", id="with its query"),
        pytest.param(6, "/relationships/AaAaAa/to/BbBbBb/", id="a GET with a redirect_route"),
        pytest.param(9, "/q/?person=BbBbBb", id="an id in the query"),
        pytest.param(11, "/hub/", id="after the end it stays there"),
    ],
)
def test_a_request_leads_to_what_follows_it(journey: Journey, position: int, expected: str) -> None:
    assert journey.location_after(position, dict(IDS), lambda: "unused") == expected


def test_ids_are_made_once_for_a_name(journey: Journey) -> None:
    made = (f"made{number}" for number in itertools.count())
    ids: dict[str, str] = {}
    assert journey.location_after(1, ids, lambda: next(made)) == "/questionnaire/household/made0/name/"
    assert journey.location_after(6, ids, lambda: next(made)) == "/relationships/made0/to/made1/"
    assert ids == {"person_1_list_id": "made0", "person_2_list_id": "made1"}


def test_an_id_is_never_a_word_of_the_journey_nor_given_twice(journey: Journey) -> None:
    drawn = iter(["house", "AaAaAa", "AaAaAa", "BbBbBb"])
    ids: dict[str, str] = {}
    journey.location_after(6, ids, lambda: next(drawn))
    assert ids == IDS


def test_a_journey_that_ends_with_a_post_gets_a_page_to_end_on() -> None:
    journey = parse('{"requests": [{"method": "POST", "url": "/a/"}]}', name="file")
    assert journey.location_after(0, {}, lambda: "") == THANK_YOU
    assert journey.match("GET", THANK_YOU, "", ids={}, position=0) is not None


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        "[]",
        "{}",
        '{"requests": []}',
        '{"requests": [{"method": "PUT", "url": "/a/"}]}',
        '{"requests": [{"method": "GET", "url": "a"}]}',
        '{"requests": [{"method": "GET"}]}',
    ],
)
def test_what_is_no_requests_file_is_refused(text: str) -> None:
    with pytest.raises(JourneyError):
        parse(text, name="file")


def test_a_folder_has_a_journey_for_each_file(journeys: Path) -> None:
    loaded = load(journeys)
    assert {name: len(journey.entries) for name, journey in loaded.items()} == {
        "census_household_gb_eng": 233,
        "household_small": 19,
        "test_checkbox": 7,
    }


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JourneyError):
        load(tmp_path)
