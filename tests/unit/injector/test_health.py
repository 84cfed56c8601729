from __future__ import annotations

import pytest

from loadtest_injector.health import judge
from loadtest_injector.histogram import Histogram


def delays(p99: int, count: int = 1_000) -> Histogram:
    """A histogram with exactly this 99th percentile, in microseconds."""
    made = Histogram()
    for number in range(count):
        made.add(p99 if number * 50 >= count * 49 else 0)
    return made


@pytest.mark.parametrize(
    ("cpu", "late", "problems", "notes"),
    [
        (20.0, 0, [], []),
        (70.0, 50_000, [], []),
        (70.1, 0, [], ["WorkerBusy"]),
        (90.0, 0, [], ["WorkerBusy"]),
        (90.1, 0, ["WorkerSaturated"], []),
        (20.0, 60_000, [], ["WorkerLate"]),
        (20.0, 210_000, ["WorkerLate"], []),
        (95.0, 210_000, ["WorkerSaturated", "WorkerLate"], []),
        (None, 60_000, [], ["WorkerLate"]),
    ],
)
def test_a_worker_is_judged_by_its_cpu_and_its_own_delay(
    cpu: float | None, late: int, problems: list[str], notes: list[str]
) -> None:
    found = judge("w", cpu, delays(late))
    assert [[entry.reason for entry in part] for part in found] == [problems, notes]
    for entry in (*found[0], *found[1]):
        assert "worker w" in entry.message
        assert "load.injectorsPerPod" in entry.message


def test_a_few_late_requests_and_missing_facts_decide_nothing() -> None:
    assert judge("w", None, None) == ([], [])
    assert judge("w", 20.0, delays(900_000, count=999)) == ([], [])
    assert judge("w", 20.0, delays(900_000, count=1_000))[0] != []
