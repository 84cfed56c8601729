"""Measurements on real processes: their series in the stage record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.injector.redis_server import redis_server, secret
from tests.injector.rig import Rig, free_port, write_keys

PASSWORD = "of the test"  # noqa: S105
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp("measurements"))
    try:
        write_keys(rig.directory)
        rig.write_scenario()
        rig.start_target()
        rig.start_master(LOADTEST_SECRETS=str(secret(rig.directory / "secrets", "redis", "password", PASSWORD)))
        for name in ("worker-a", "worker-b"):
            rig.start_worker(name)
        rig.wait_until_served()
        rig.mode()
        yield rig
    finally:
        rig.close()


def redis(name: str, port: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "redis": {"host": "127.0.0.1", "port": port, **more}}


def test_each_measurement_has_a_point_at_both_edges_and_every_second_between(rig: Rig) -> None:
    with redis_server("--requirepass", PASSWORD) as port:
        record = rig.run(0, durationSeconds=2.5, measurements=[redis("redis", port, password=True)])
    assert record["problems"] == []
    (series,) = record["series"]
    assert (series["name"], series["kind"], series["expected"]) == ("redis", "redis", 4)
    times = [point[0] for point in series["points"]]
    assert times == sorted(times)
    assert all(0 <= late - due < 900_000 for late, due in zip(times, [0, 1_000_000, 2_000_000, 2_500_000], strict=True))
    assert PASSWORD not in str(record)


def test_a_source_that_is_down_leaves_its_points_out_and_the_stage_valid(rig: Rig) -> None:
    with redis_server("--requirepass", PASSWORD) as port:
        measurements = [redis("gone", free_port()), redis("redis", port, password=True)]
        record = rig.run(1, durationSeconds=1.5, measurements=measurements)
    assert record["problems"] == []
    assert record["complete"] is True
    gone, there = record["series"]
    assert gone["points"] == []
    assert [(problem["reason"], problem["count"]) for problem in gone["problems"]] == [("SourceUnavailable", 3)]
    assert len(there["points"]) == there["expected"] == 3


def test_a_stage_that_is_stopped_ends_its_measurements_at_once(rig: Rig) -> None:
    rig.put(2, durationSeconds=120, measurements=[redis("gone", free_port())])
    rig.wait_for(2, {"window"})
    rig.request("DELETE", "/v1/stages/3/2/1")
    progress = rig.wait_for(2, {"stopped"})
    assert [problem["reason"] for problem in progress["problems"]] == ["Stopped"]
    _, record = rig.request("GET", "/v1/stages/3/2/1/record")
    assert record["series"][0]["points"] == []


def test_an_order_that_names_a_measurement_wrongly_starts_nothing(rig: Rig) -> None:
    status, answer = rig.put(3, measurements=[redis("redis", 70_000)])
    assert status == 400
    assert answer["error"]["message"].startswith("measurements[0].redis.port: ")
