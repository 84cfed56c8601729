"""The application over fakes of its backends: launch, pages, CSRF token, cookies, page sizes."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from sample_runner.app import Runner, application_of
from sample_runner.sessions import Session
from sample_runner.settings import Settings
from sample_runner.storage import QuestionnaireStates
from tests.unit.samples.test_tokens import token

CSRF_TOKEN = re.compile(r'<input id="csrf_token" name="csrf_token" type="hidden" value="([^"]+)">')
PLACEHOLDER = re.compile(r"{(\w+)}")


class Documents:
    """A store of documents that counts its calls."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], str] = {}
        self.calls: list[str] = []

    def read(self, kind: str, name: str) -> dict[str, Any] | None:
        self.calls.append("read")
        found = self.documents.get((kind, name))
        return None if found is None else json.loads(found)

    def write(self, kind: str, name: str, document: dict[str, Any]) -> None:
        self.calls.append("write")
        self.documents[kind, name] = json.dumps(document)


class Sessions:
    """A session backend that counts its calls."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.tokens: set[str] = set()
        self.calls: list[str] = []

    def load(self, session_id: str) -> Session | None:
        self.calls.append("load")
        return self.sessions.get(session_id)

    def save(self, session: Session) -> None:
        self.calls.append("save")
        self.sessions[session.id] = session

    def use_token(self, jti: str, seconds: int) -> bool:
        assert 0 < seconds <= 3600
        new = jti not in self.tokens
        self.tokens.add(jti)
        return new


class Respondent:
    """The application, its backends and a client with a cookie jar."""

    def __init__(self, settings: Settings, keys: Path) -> None:
        self.sessions, self.documents, self.keys = Sessions(), Documents(), keys
        runner = Runner(settings, self.sessions, QuestionnaireStates(self.documents))  # type: ignore[arg-type]
        self.app: Flask = application_of(runner)
        self.app.testing = True
        self.client: FlaskClient = self.app.test_client()
        self.csrf_token = ""

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        return {"jti": f"{time.time_ns()}", "iat": now, "exp": now + 3600, "schema_name": "household_small"} | changes

    def launch(self, **changes: Any) -> Any:
        made = token(self.keys, self.claims(**changes))
        return self.client.get("/session", query_string={"token": made})

    def get(self, url: str) -> Any:
        response = self.client.get(url)
        if found := CSRF_TOKEN.search(response.text):
            self.csrf_token = found[1]
        return response

    def post(self, url: str, data: dict[str, Any] | None = None) -> Any:
        return self.client.post(url, data={"csrf_token": self.csrf_token} | (data or {}))


@pytest.fixture
def settings(keys: Path, journeys: Path) -> Settings:
    environment = {
        "EQ_KEYS_DIR": str(keys),
        "RUNNER_JOURNEY": str(journeys),
        "EQ_ENABLE_SECURE_SESSION_COOKIE": "False",
    }
    return Settings.from_environment(environment)


@pytest.fixture
def respondent(settings: Settings, keys: Path) -> Respondent:
    return Respondent(settings, keys)


def test_status_asks_no_backend(respondent: Respondent) -> None:
    response = respondent.client.get("/status")
    assert (response.status_code, response.json["status"]) == (200, "OK")
    assert (respondent.sessions.calls, respondent.documents.calls) == ([], [])


def test_a_launch_leads_to_the_first_page(respondent: Respondent) -> None:
    launched = respondent.launch()
    assert (launched.status_code, launched.location) == (302, "/questionnaire")
    resumed = respondent.get("/questionnaire")
    assert (resumed.status_code, resumed.location) == (302, "/questionnaire/introduction/")


@pytest.mark.parametrize(("secure", "expected"), [(True, True), (False, False)])
def test_the_cookie_is_secure_where_the_setting_says_so(
    settings: Settings, keys: Path, secure: bool, expected: bool
) -> None:
    respondent = Respondent(replace(settings, secure_cookie=secure), keys)
    cookie = respondent.launch().headers["Set-Cookie"]
    assert ("Secure" in cookie.split("; ")) is expected
    assert "HttpOnly" in cookie


def test_a_token_works_once(respondent: Respondent) -> None:
    assert [respondent.launch(jti="again").status_code for _ in range(2)] == [302, 401]


def test_a_launch_without_a_good_token_is_refused_and_says_why(respondent: Respondent) -> None:
    response = respondent.client.get("/session?token=nonsense")
    assert response.status_code == 401
    assert "nonsense" not in response.text


def test_a_launch_of_an_unknown_schema_is_refused_and_names_the_known_ones(respondent: Respondent) -> None:
    response = respondent.launch(schema_name="other")
    assert response.status_code == 404
    assert "household_small" in response.text


def test_a_page_without_a_session_is_refused(respondent: Respondent) -> None:
    assert respondent.get("/questionnaire/introduction/").status_code == 401


@pytest.mark.parametrize("csrf_token", ["", "wrong", "ü"])
def test_a_post_without_the_sessions_csrf_token_is_refused(respondent: Respondent, csrf_token: str) -> None:
    respondent.launch()
    respondent.get("/questionnaire/introduction/")
    respondent.csrf_token = csrf_token
    assert respondent.post("/questionnaire/introduction/").status_code == 401


def test_another_sessions_csrf_token_is_refused(respondent: Respondent) -> None:
    respondent.launch()
    respondent.get("/questionnaire/introduction/")
    respondent.launch()
    assert respondent.post("/questionnaire/introduction/").status_code == 401


@pytest.mark.parametrize(
    ("method", "url", "expected"),
    [
        ("GET", "/questionnaire/nowhere/", 404),
        ("GET", "/questionnaire/household/AbCdEf/what-is-your-name/", 404),
        ("POST", "/questionnaire/relationships/", 405),
        ("PUT", "/questionnaire/introduction/", 405),
        ("GET", "/questionnaire/visitors/add-visitor/", 404),
        ("GET", "/", 404),
    ],
)
def test_what_the_journey_has_not_is_an_error(respondent: Respondent, method: str, url: str, expected: int) -> None:
    respondent.launch()
    assert respondent.client.open(url, method=method).status_code == expected


def test_an_answer_is_there_when_its_page_is_read_again(respondent: Respondent) -> None:
    respondent.launch()
    respondent.get("/questionnaire/do-you-live-here/")
    located = respondent.post("/questionnaire/do-you-live-here/", {"do-you-live-here-answer": "Yes, I live here"})
    page = respondent.get("/questionnaire/do-you-live-here/").text
    assert re.search(r'value="Yes, I live here" checked', page)
    name = located.location
    respondent.get(name)
    respondent.post(name, {"first-name": "<Ada> & co"})
    assert 'value="&lt;Ada&gt; &amp; co"' in respondent.get(name).text


def test_every_request_of_a_journey_reads_and_writes_session_and_answers(respondent: Respondent) -> None:
    respondent.launch()
    respondent.sessions.calls.clear()
    respondent.documents.calls.clear()
    respondent.get("/questionnaire/introduction/")
    respondent.post("/questionnaire/introduction/")
    assert respondent.sessions.calls == ["load", "save"] * 2
    assert respondent.documents.calls == ["read", "write"] * 2


@pytest.mark.parametrize("name", ["census_household_gb_eng", "household_small", "test_checkbox"])
def test_a_whole_journey_can_be_walked(respondent: Respondent, journeys: Path, name: str) -> None:
    respondent.launch(schema_name=name)
    walked = walk(respondent, json.loads((journeys / f"{name}.json").read_text())["requests"])
    assert all(len(value) == 6 and value.isalpha() for value in walked.ids.values())
    assert len(set(walked.ids.values())) == len(walked.ids)


def test_pages_are_of_the_real_runners_size(respondent: Respondent, journeys: Path) -> None:
    respondent.launch(schema_name="census_household_gb_eng")
    requests = json.loads((journeys / "census_household_gb_eng.json").read_text())["requests"]
    walked = walk(respondent, requests)
    gets = [size for method, size in walked.sizes if method == "GET"]
    posts = [size for method, size in walked.sizes if method == "POST"]
    everything = [size for _, size in walked.sizes]
    assert 16_500 < sum(gets) / len(gets) < 19_500
    assert 24_000 < max(gets) < 27_000
    assert 230 < sum(posts) / len(posts) < 350
    assert 8_500 < sum(everything) / len(everything) < 10_000


class Walked:
    """What a walk saw."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.sizes: list[tuple[str, int]] = []


def walk(respondent: Respondent, requests: list[dict[str, Any]]) -> Walked:
    """Walk the requests as a load injector does; every redirect must lead to the next request."""
    walked = Walked()

    def fill(template: str) -> str:
        return PLACEHOLDER.sub(lambda found: walked.ids[found[1]], template)

    for index, request in enumerate(requests):
        get = request["method"] == "GET"
        url = fill(request["url"])
        response = respondent.get(url) if get else respondent.post(url, request["data"])
        walked.sizes.append((request["method"], len(response.data)))
        route = request.get("redirect_route")
        assert response.status_code == (200 if get and route is None else 302), (index, url)
        if response.status_code == 302:
            expected = route or requests[index + 1]["url"]
            located = response.location.split("/")
            for part, actual in zip(expected.split("/"), located, strict=True):
                if found := PLACEHOLDER.fullmatch(part):
                    assert walked.ids.setdefault(found[1], actual) == actual
            assert response.location == fill(expected), index
    return walked
