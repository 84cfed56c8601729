from __future__ import annotations

from pathlib import Path

import pytest
from locust import FastHttpUser

from loadtest_injector import locustfile
from loadtest_injector.http.user import FastUser
from loadtest_injector.locustfile import is_custom, load_users
from loadtest_injector.scenario import Locustfile, ScenarioError

USERS = """
from locust import FastHttpUser, User, task

from loadtest_injector.http import FastUser

HOST = "http://elsewhere"


class Base(FastUser):
    abstract = True

    @task
    def page(self):
        self.client.get("/")


class Ours(Base):
    host = HOST


class Again(FastHttpUser):
    @task
    def page(self):
        self.client.get("/")


class Own(User):
    fixed_count = 3

    @task
    def call(self):
        pass


Alias = Own
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "users.py"


def fail(why: str) -> None:
    raise AssertionError(why)


def test_user_classes_get_the_targets_host_and_what_it_wants(file: Path) -> None:
    file.write_text(USERS)
    classes = load_users(Locustfile(file, "http://target:80", send_secure_cookies_over_http=True), fail)
    assert [user.__name__ for user in classes] == ["Ours", "Again", "Own"]
    assert {user.host for user in classes} == {"http://target:80"}
    assert [is_custom(user) for user in classes] == [False, False, True]
    ours, again, own = classes
    assert issubclass(ours, FastUser)
    assert ours.secure_cookies_over_http is True
    assert issubclass(again, FastHttpUser)
    assert own.fixed_count == 3


def test_an_import_that_does_not_end_is_given_up(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locustfile, "IMPORT_SECONDS", 0.2)
    file.write_text("import os\nwhile not os.path.exists('given-up'):\n    pass\n")
    said: list[str] = []

    def give_up(why: str) -> None:
        said.append(why)
        (file.parent / "given-up").touch()

    with pytest.raises(ScenarioError, match="no user class"):
        load_users(Locustfile(file, "http://target"), give_up)
    assert said == ["users.py: its import did not end within 0.2 s"]


def test_the_line_of_an_error_is_that_of_the_locustfile(file: Path) -> None:
    (file.parent / "helper_of_users.py").write_text("def fail():\n    raise ValueError('no')\n")
    file.write_text("import helper_of_users\n\nhelper_of_users.fail()\n")
    with pytest.raises(ScenarioError, match=r"users\.py: line 3: ValueError: no"):
        load_users(Locustfile(file, "http://target"), fail)
