from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.core.needs import BUILT_IN, FULL_PERCENT, Calibration, needs
from tests.unit.core.builders import plan

FAST = Calibration(10_000, "test")


def packed(**load: Any) -> Any:
    return plan({"load": {"stages": [{"injectors": 30, "duration": "20m"}], **load}})


def test_thirty_injectors_of_the_seeds() -> None:
    """6,000 users with 1 to 2 s after each pair of requests: 8,000 requests a second, were answers to take no time."""
    found = needs(packed(injectorsPerPod=10), FAST)
    assert (found.worker_pods, found.requests_per_second) == (3, 8_000)
    # 0.8 cores in all; at 70 % of each worker 1.143. A worker of ten injectors takes a third of 80 %.
    assert (found.cores_millis, found.worker_cpu_percent) == (1_143, 27)
    # An injector takes 2.67 % of a core.
    assert found.most_injectors_per_pod == 26


@pytest.mark.parametrize(
    ("load", "per_wait", "rate"),
    [
        ({"waitTime": {"min": "1s", "max": "1s"}}, Fraction(2), 12_000),
        ({"waitTime": {"min": "0s", "max": "1s"}}, Fraction(1), 12_000),
        ({"waitTime": {"min": "1s", "max": "2s"}}, Fraction(5, 3), 6_667),
        ({"mode": "Open", "ratePerInjector": 100}, Fraction(2), 3_000),
        ({"waitTime": {"min": "0s", "max": "0s"}}, Fraction(2), None),
    ],
)
def test_the_rate_follows_from_users_and_waits_or_is_not_known(
    load: dict[str, Any], per_wait: Fraction, rate: int | None
) -> None:
    found = needs(packed(**load), FAST, per_wait)
    assert found.requests_per_second == rate
    assert (found.cores_millis is None) == (rate is None)


def test_of_a_locustfile_only_the_pods_are_known() -> None:
    scenario = {"scenario": {"requests": None, "locustfile": {"configMap": {"name": "shop", "key": "shop.py"}}}}
    found = needs(plan(scenario))
    assert found.to_json() == {"workerPods": 15, "calibration": BUILT_IN.to_json()}


@given(st.integers(1, 1000), st.integers(1, 50), st.integers(1, 100_000))
def test_as_many_injectors_as_are_said_to_fit_do_and_one_more_does_not(injectors: int, per_pod: int, made: int) -> None:
    load = {"stages": [{"injectors": injectors, "duration": "1m"}], "injectorsPerPod": per_pod, "usersPerInjector": 100}
    found = needs(plan({"load": load}), Calibration(made, "test"))
    most, one = found.most_injectors_per_pod, Fraction(100 * 2 * 2, 3) / made
    assert most is not None
    assert most * one <= Fraction(FULL_PERCENT, 100) < (most + 1) * one


def test_a_calibration_is_read_back_and_anything_else_refused() -> None:
    assert Calibration.from_json(FAST.to_json()) == FAST
    for body in ({}, [], None, {"requestsPerCpuSecond": 0, "source": ""}, {"requestsPerCpuSecond": 1.5, "source": ""}):
        with pytest.raises(ValueError, match="requestsPerCpuSecond"):
            Calibration.from_json(body)
