"""Many injectors' users in few workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.injector.rig import Rig

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


def test_the_users_of_thirty_injectors_share_two_workers(tmp_path: Path):
    rig = Rig(tmp_path)
    try:
        journey = {"schema_name": "packed", "requests": [{"method": "GET", "url": "/open/page/"}]}
        (tmp_path / "packed.json").write_text(json.dumps(journey))
        waits = {"minSeconds": 1, "maxSeconds": 2}
        rig.write_scenario(requests=str(tmp_path / "packed.json"), launch=None, waitTime=waits)
        rig.start_target()
        rig.start_master()
        for name in ("worker-a", "worker-b"):
            rig.start_worker(name)
        rig.wait_until_served()
        record = rig.run(0, injectors=30, users=600, spawnRate=600, durationSeconds=3)
    finally:
        rig.close()
    # Not that nothing is wrong with a machine that others use, too; but that nothing is lost.
    assert {problem["reason"] for problem in record["problems"]} <= {"WorkerLate", "WorkerSaturated"}
    assert record["complete"] is True
    assert [worker["users"] for worker in record["workers"]] == [300, 300]
    requests = sum(worker["requests"] for worker in record["workers"])
    assert requests == sum(entry["count"] for entry in record["histograms"]) > 600
