"""Whole journeys against real servers: nothing fails, everything is logged once, backends are really used."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.runner.stack import JOURNEYS, Served, Stack
from tests.runner.walker import WINDOW, Walker

CENSUS = JOURNEYS / "census_household_gb_eng.json"
SMALL = JOURNEYS / "household_small.json"
CROWD = 12


class Kind(NamedTuple):
    """A way to serve, and what the process list must show of it."""

    server: str
    backend: str
    grpc: str
    arguments: str


KINDS = [
    Kind("gunicorn-threads", "ephemeral_storage", "True", "--worker-class=gthread --workers=2 --threads=3"),
    Kind("gunicorn-threads", "storage", "False", "--worker-class=gthread --workers=2 --threads=3"),
    Kind("gunicorn-async", "ephemeral_storage", "False", "--worker-class=gevent --workers=2"),
    Kind("gunicorn-async", "storage", "False", "--worker-class=gevent --workers=2"),
    Kind("uwsgi-threads", "storage", "True", "--processes=2 --threads=3"),
    Kind("uwsgi", "ephemeral_storage", "True", "--processes=2"),
    Kind("uwsgi-async", "storage", "False", "--processes=2 --gevent=20"),
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: " ".join(kind[:3]))
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(scope="module")
def served(stack: Stack, kind: Kind) -> Iterator[Served]:
    """A Runner of each kind in turn, shared by the tests here."""
    with stack.serve(kind.server, kind.backend, kind.grpc) as served:
        yield served


def test_a_whole_journey_is_served_and_logged(stack: Stack, kind: Kind, served: Served) -> None:
    calls, sessions = stack.calls(), stack.redis_keys("eq-session:*")
    walker = Walker(served.port, stack.keys, CENSUS)
    walker.walk()

    assert len(walker.sent) == 235
    assert set(walker.ids) == {"person_1_list_id", "person_2_list_id", "visitor_1_id"}
    logged = served.lines(235)
    assert [(line["method"], line["path"], line["status"]) for line in logged] == walker.sent
    assert {line["window"] for line in logged} == {WINDOW}
    assert all(0 < line["duration_us"] < 60_000_000 for line in logged)
    assert walker.launch() == 401
    assert walker.token[:40] not in served.log()

    used, other = ("grpc", "http") if kind.grpc == "True" else ("http", "grpc")
    made = {transport: counted - calls[transport] for transport, counted in stack.calls().items()}
    in_datastore = kind.backend == "storage"
    # Each of the 234 requests after the launch reads and writes the answers, and the session where it is there too;
    # the launch writes both, and either launch looks its token up in a transaction of its own.
    assert made[used]["Lookup"] == (470 if in_datastore else 234)
    assert made[used]["Commit"] == (472 if in_datastore else 235)
    assert made[used]["BeginTransaction"] == (2 if in_datastore else 0)
    assert made[other] == Counter()
    assert stack.redis_keys("eq-session:*") - sessions == (0 if in_datastore else 1)


def test_the_process_list_shows_the_web_server(kind: Kind, served: Served) -> None:
    commands = served.commands()
    assert len(commands) == (4 if kind.server.startswith("uwsgi") else 3), commands  # uwsgi's router is one more
    assert all(set(kind.arguments.split()) <= set(command.split()) for command in commands), commands


def test_respondents_at_the_same_time_do_not_disturb_each_other(stack: Stack, served: Served) -> None:
    before = len(served.lines())
    crowd = [Walker(served.port, stack.keys, SMALL) for _ in range(CROWD)]
    with ThreadPoolExecutor(CROWD) as pool:
        for done in [pool.submit(walker.walk) for walker in crowd]:
            done.result()
    sent = Counter(request for walker in crowd for request in walker.sent)
    logged = served.lines(before + sent.total())[before:]
    assert Counter((line["method"], line["path"], line["status"]) for line in logged) == sent
    assert "Traceback" not in served.errors()
