"""When the dead-man Job takes the Lease, and when it must not."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest.adapters.helm_job.dead_man import LOOKS, DeadMan, Silence
from loadtest.adapters.helm_job.kube import Api, ApiError
from tests.unit.helm_job.releases import request

REQUEST = request()
LIMIT = 1200.0
Lease = dict[str, Any]


def lease(version: int, holder: str | None = REQUEST.holder) -> Lease:
    return {"metadata": {"name": REQUEST.lease, "resourceVersion": str(version)}, "spec": {"holderIdentity": holder}}


class World(Api):
    """An API server with one Lease, and time. `script` says what happens to the Lease at which second."""

    def __init__(self, script: dict[float, Lease | ApiError | None]) -> None:
        self.now = 0.0
        self.script = dict(sorted(script.items()))
        self.writes: list[Any] = []
        self.lease: Lease | None = lease(1)
        self.down: ApiError | None = None

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for at in [at for at in self.script if at <= self.now]:
            event = self.script.pop(at)
            self.down = event if isinstance(event, ApiError) else None
            if not isinstance(event, ApiError):
                self.lease = event

    def get(self, path: str, accept: str = "") -> Any:
        if self.down:
            raise self.down
        return self.lease

    def replace(self, path: str, body: object) -> bool:
        self.writes.append(body)
        return True

    def create(self, collection: str, body: object) -> bool:
        self.writes.append(body)
        return True

    def dead_man(self) -> DeadMan:
        return DeadMan(self, REQUEST, LIMIT, lambda: self.now, self.sleep)


def test_a_lease_that_nobody_renews_is_taken_in_the_version_that_was_seen() -> None:
    world = World({})
    assert world.dead_man().wait()
    assert LIMIT <= world.now <= LIMIT + 2 * LIMIT / LOOKS
    (written,) = world.writes
    assert written["metadata"]["resourceVersion"] == "1"
    assert written["spec"]["holderIdentity"] == f"{REQUEST.holder}/dead-man"


def test_a_lease_that_is_renewed_once_a_minute_is_left_alone_and_its_last_renewal_counts() -> None:
    renewals = {60.0 * n: lease(n + 1) for n in range(1, 600)}
    world = World(dict(renewals))
    assert world.dead_man().wait()
    assert world.now >= max(renewals) + LIMIT


@pytest.mark.parametrize("minutes", [10, 60, 600])
def test_a_blackout_of_the_api_server_counts_for_nothing(minutes: int) -> None:
    """Nobody could have renewed it; the operator needs a minute or two once the server is back."""
    back = 60.0 + 60 * minutes
    world = World({60.0: ApiError(0, "Unreachable", "no answer"), back: lease(1), back + 120: lease(2)})
    assert world.dead_man().wait()
    assert world.now >= back + 120 + LIMIT


def test_a_lease_that_another_run_holds_is_none_of_its_business() -> None:
    world = World({300.0: lease(2, "performance/other/uid-2/run")})
    assert not world.dead_man().wait()
    assert world.writes == []


def test_a_lease_that_it_holds_already_is_held() -> None:
    world = World({300.0: lease(2, f"{REQUEST.holder}/dead-man")})
    assert world.dead_man().wait()
    assert world.writes == []


@pytest.mark.parametrize("gone", [None, lease(2, None), lease(2, "")])
def test_a_lease_that_was_deleted_or_emptied_and_not_taken_again_is_taken(gone: Lease | None) -> None:
    world = World({300.0: gone})
    assert world.dead_man().wait()
    assert world.now >= 300 + LIMIT
    assert world.writes[-1]["spec"]["holderIdentity"] == f"{REQUEST.holder}/dead-man"


def test_whoever_renews_in_the_last_moment_keeps_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({LIMIT + 30: lease(2)})
    monkeypatch.setattr(world, "replace", lambda *_: world.now > LIMIT + 60)
    assert world.dead_man().wait()
    assert world.now >= 2 * LIMIT + 30


def test_what_passed_between_two_looks_counts_no_more_than_it_may() -> None:
    silence = Silence(30.0)
    assert silence.saw("1", 0.0) == 0.0
    assert silence.saw("1", 15.0) == 15.0
    assert silence.saw("1", 3615.0) == 45.0, "the process was stopped, or the server away, for an hour"
    assert silence.saw("2", 3616.0) == 0.0
