"""A user's own locustfile on real processes: what the record says is what the target saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.injector.rig import ENDED, Rig

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")

LOCUSTFILE = """
import gevent
import time
from locust import FastHttpUser, HttpUser, User, constant, events, task

from loadtest_injector.http.user import FastUser
from pages import PAGES

SEEN = []


@events.request.add_listener
def remember(request_type, name, **_more):
    SEEN.append(name)


class Both(User):
    abstract = True

    @task
    def page(self):
        for page in PAGES:
            self.client.get(self.path + page, name=self.path + page)
        self.client.get(self.path + "missing/")
        with self.client.get(self.path + "caught/", catch_response=True) as answer:
            answer.failure("not what was wanted") if answer.status_code == 200 else answer.success()


class Requests(Both, HttpUser):
    wait_time = constant(0.05)
    path = "/open/requests/"


class Fast(Both, FastHttpUser):
    wait_time = constant(0.05)
    path = "/open/fast/"


class Ours(Both, FastUser):
    wait_time = constant(0.05)
    path = "/open/ours/"
    fixed_count = 2


class Idle(HttpUser):
    weight = 0

    @task
    def never(self):
        self.client.get("/open/never/")
"""
CLIENTS = ("requests", "fast", "ours")


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A target, a master and two workers with the locustfile."""
    rig = Rig(tmp_path_factory.mktemp("locustfile"))
    try:
        rig.write_locustfile(LOCUSTFILE, pages='PAGES = ["one/", "two/"]\n')
        rig.start_target()
        rig.start_master()
        for name in ("worker-a", "worker-b"):
            rig.start_worker(name)
        rig.wait_until_served()
        yield rig
    finally:
        rig.close()


def counted(record: dict[str, Any]) -> Counter[str]:
    total: Counter[str] = Counter()
    for entry in record["histograms"]:
        total[entry["name"]] += entry["count"]
    return total


def logged(rig: Rig, stage: int, segment: str = "window") -> Counter[str]:
    total: Counter[str] = Counter()
    for (_, path, _), count in rig.target_log(stage, segment=segment).items():
        total[path] += count
    return total


def test_requests_of_every_client_are_recorded_exactly_as_the_target_saw_them(rig: Rig):
    rig.mode()
    record = rig.run(0, users=8, durationSeconds=2, warmUpSeconds=0.5)
    assert (record["problems"], record["complete"]) == ([], True)
    assert counted(record) == logged(rig, 0)
    assert set(counted(record)) == {f"/open/{c}/{p}/" for c in CLIENTS for p in ("one", "two", "missing", "caught")}
    kinds = {(f["name"], f["kind"], f["message"]) for f in record["failures"]}
    assert kinds == {
        (f"/open/{client}/{page}/", kind, message)
        for client in CLIENTS
        for page, kind, message in (("missing", "status", "status 404"), ("caught", "assertion", "not what was wanted"))
    }
    warm = sum(entry["count"] for entry in record["warmUp"])
    assert warm == sum(logged(rig, 0, "warm-up").values()) > 0
    assert record["counters"] == {}, "a target that is no Runner has no launches, not 0"
    assert record["delays"]["count"] > 0
    # Each page waited 10 ms at the target.
    assert min(entry["minMicros"] for entry in record["histograms"]) >= 10_000


def test_a_request_that_never_ends_is_a_timeout_of_every_client(rig: Rig):
    rig.mode(slowPath="/open/requests/one/", slowMillis=4_000)
    record = rig.run(1, users=8, durationSeconds=1.5, requestTimeoutSeconds=0.5)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 1)
    slow = {(f["name"], f["kind"]) for f in record["failures"] if f["kind"] == "timeout"}
    assert slow == {("/open/requests/one/", "timeout")}
    rig.mode(slowPath="/open/fast/two/", slowMillis=4_000)
    record = rig.run(2, users=8, durationSeconds=1.5, requestTimeoutSeconds=0.5)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 2)
    assert {(f["name"], f["kind"]) for f in record["failures"] if "two" in f["name"]} == {
        ("/open/fast/two/", "timeout")
    }
    rig.mode(slowPath="/open/ours/two/", slowMillis=4_000)
    record = rig.run(3, users=8, durationSeconds=1.5, requestTimeoutSeconds=0.5)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 3)
    failed = next(h for h in record["histograms"] if h["name"] == "/open/ours/two/")
    assert (failed["outcome"], failed["minMicros"] >= 500_000) == ("failure", True)


def test_a_slow_request_begun_in_the_window_counts_though_it_ends_after_it(rig: Rig):
    rig.mode(delayMillis=700)
    record = rig.run(4, users=6, durationSeconds=2)
    assert record["problems"] == []
    assert counted(record) == logged(rig, 4)
    assert min(entry["minMicros"] for entry in record["histograms"]) >= 700_000
    # A user waits 50 ms for every 4 x 700 ms: at the end of the window one at least is in the middle of a request.
    assert record["window"]["drainMicros"] > 0


CUSTOM = '''
import time
from locust import User, task


class Custom(User):
    """A client of its own, of which only the events are known."""

    @task
    def call(self):
        start = time.time()
        time.sleep(0.05)
        self.fire(start, 50.0, None)
        self.fire(start, 50.0, ValueError("no"))
        for number in range(200):
            self.fire(start, 50.0, None, f"/{self.calls}/{number}")
        self.fire(start, None, None)
        self.calls += 1

    calls = 0

    def fire(self, start, took, exception, name="call"):
        self.environment.events.request.fire(
            request_type="RPC", name=name, response_time=took, response_length=10, exception=exception,
            start_time=start, context={},
        )

    def wait_time(self):
        return 0.01
'''
CARELESS = """
from locust import HttpUser, between, task


class Careless(HttpUser):
    wait_time = between(0.01, 0.05)

    @task
    def unreported(self):
        with self.client.get("/open/careless/", catch_response=True) as answer:
            answer.json()["no such field"]
"""


def start(rig: Rig, text: str) -> None:
    rig.write_locustfile(text)
    rig.start_target()
    rig.start_master()
    rig.start_worker("worker-a")
    rig.wait_until_served()


@pytest.fixture
def bare(tmp_path: Any) -> Iterator[Rig]:
    """Nothing runs yet."""
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def test_events_of_any_client_count_and_what_they_leave_out_is_said(bare: Rig):
    start(bare, CUSTOM)
    record = bare.run(0, users=2, injectors=1, durationSeconds=3, requestTimeoutSeconds=5)
    assert record["problems"] == []
    names = counted(record)
    assert names["(further names)"] > 0
    assert len(names) == 501, "500 names and what is beyond them"
    calls = next(h for h in record["histograms"] if h["name"] == "call" and h["outcome"] == "success")
    assert (calls["minMicros"], calls["maxMicros"], calls["contentBytes"]) == (50_000, 50_000, 10 * calls["count"])
    assert {(f["name"], f["kind"]) for f in record["failures"]} == {("call", "other")}
    assert {note["reason"] for note in record["notes"]} >= {"NamesCapped", "EventUnusable"}


def test_a_request_that_nobody_reports_is_a_failure_and_not_lost(bare: Rig):
    start(bare, CARELESS)
    record = bare.run(0, users=2, injectors=1, durationSeconds=2)
    assert record["problems"] == []
    assert {(f["name"], f["kind"]) for f in record["failures"]} == {("/open/careless/", "other")}
    assert counted(record)["/open/careless/"] == sum(bare.target_log(0).values()) > 0
    assert "TasksFailed" in {note["reason"] for note in record["notes"]}


def test_a_task_that_outlasts_the_window_by_more_than_the_timeout_makes_the_stage_invalid(bare: Rig):
    start(bare, "from locust import User, task\nimport time\n\n"
          "class Long(User):\n    @task\n    def sleep(self):\n        time.sleep(30)\n")  # fmt: skip
    record = bare.run(0, users=1, injectors=1, durationSeconds=1, requestTimeoutSeconds=0.5)
    assert [p["reason"] for p in record["problems"]] == ["RequestsUnfinished"]
    assert "1 users of worker worker-a" in record["problems"][0]["message"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n", "locustfile.py: line 1: SyntaxError"),
        ("import sys\nsys.exit(0)\n", "calls sys.exit(0)"),
        ("import no_such_module\n", "line 1: ModuleNotFoundError: No module named 'no_such_module': bake it into"),
        ("x = 1\n", "defines no user class"),
        ("from locust import User\nclass Empty(User):\n    pass\n", "the user class Empty has no tasks"),
    ],
)
def test_a_locustfile_that_cannot_be_used_ends_the_worker_with_the_reason(bare: Rig, text: str, says: str):
    bare.write_locustfile(text)
    worker = bare.start_worker("worker-a")
    assert worker.wait(timeout=60) == 4
    assert says in (bare.directory / "worker-a.log").read_text()


EXITS = """
import sys
from locust import User, constant, task


class Exits(User):
    wait_time = constant(3)
    calls = 0

    @task
    def leave(self):
        self.calls += 1
        if self.calls > 1:
            sys.exit(1)
"""


def test_a_task_that_ends_the_process_makes_the_stage_invalid_and_not_hang(bare: Rig):
    start(bare, EXITS)
    assert bare.put(0, users=1, injectors=1, durationSeconds=30)[0] == 200
    progress = bare.wait_for(0, ENDED, seconds=60)
    assert progress["state"] == "invalid"
    assert {p["reason"] for p in progress["problems"]} <= {"WorkerLost", "UsersMissing"}
