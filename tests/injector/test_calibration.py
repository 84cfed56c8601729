"""The calibration, for real: this machine, with a worker's users and a target on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_a_calibration_counts_requests_and_cpu_and_is_kept(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "loadtest", "calibrate", "--seconds", "3"],
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "loadtest" / "calibration.json").read_text())
    assert f"{kept['requestsPerCpuSecond']:,} requests per second of CPU" in done.stdout
    # Python makes some thousands; less than 300, or more than a million, would be another quantity.
    assert 300 < kept["requestsPerCpuSecond"] < 1_000_000
