from __future__ import annotations

from typing import Any

import pytest

from loadtest_injector.order import OrderError, parse_order

ORDER: dict[str, Any] = {
    "injectors": 2,
    "users": 400,
    "spawnRate": 400,
    "expectedWorkers": ["a", "b"],
    "durationSeconds": 20.0,
    "warmUpSeconds": 0,
    "joinTimeoutSeconds": 120,
    "requestTimeoutSeconds": 60,
    "context": {"any": ["thing"]},
}


def test_an_order_is_read_and_kept_as_it_was_sent():
    order = parse_order(ORDER)
    assert (order.users, order.spawn_rate, order.expected_workers) == (400, 400.0, ("a", "b"))
    assert (order.duration_seconds, order.warm_up_seconds, order.join_timeout_seconds) == (20.0, 0.0, 120.0)
    assert order.body == ORDER


def test_what_may_be_left_out_has_a_default():
    needed = ("injectors", "users", "spawnRate", "expectedWorkers", "durationSeconds")
    order = parse_order({key: ORDER[key] for key in needed})
    assert (order.warm_up_seconds, order.join_timeout_seconds, order.request_timeout_seconds) == (0, 120, 60)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"injectors": 0}, "injectors"),
        ({"injectors": 1.5}, "injectors"),
        ({"users": True}, "users"),
        ({"users": -1}, "users"),
        ({"users": 10**9}, "users"),
        ({"users": "400"}, "users"),
        ({"users": 1}, "users"),  # fewer than workers
        ({"users": None}, "users"),
        ({"spawnRate": 0}, "spawnRate"),
        ({"spawnRate": float("nan")}, "spawnRate"),
        ({"spawnRate": float("inf")}, "spawnRate"),
        ({"durationSeconds": 0}, "durationSeconds"),
        ({"durationSeconds": -60}, "durationSeconds"),
        ({"durationSeconds": "20"}, "durationSeconds"),
        ({"durationSeconds": 10**9}, "durationSeconds"),
        ({"warmUpSeconds": -0.5}, "warmUpSeconds"),
        ({"joinTimeoutSeconds": 0}, "joinTimeoutSeconds"),
        ({"requestTimeoutSeconds": 3_601}, "requestTimeoutSeconds"),
        ({"expectedWorkers": []}, "expectedWorkers"),
        ({"expectedWorkers": ["a", "a"]}, "expectedWorkers"),
        ({"expectedWorkers": ["a", 5]}, "expectedWorkers"),
        ({"expectedWorkers": ["a", ""]}, "expectedWorkers"),
        ({"expectedWorkers": ["a" * 254]}, "expectedWorkers"),
        ({"expectedWorkers": "ab"}, "expectedWorkers"),
        ({"context": []}, "context"),
        ({"arrivalsPerSecond": 0}, "arrivalsPerSecond"),
        ({"arrivalsPerSecond": 1.5}, "arrivalsPerSecond"),
        ({"arrivalsPerSecond": None}, "arrivalsPerSecond"),
        ({"durationMinutes": 1}, "durationMinutes"),
    ],
)
def test_a_wrong_order_is_refused_by_the_name_of_its_field(changes: Any, field: Any):
    with pytest.raises(OrderError) as refused:
        parse_order(ORDER | changes)
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: ")


@pytest.mark.parametrize("body", [None, [], "x", 5])
def test_an_order_is_an_object(body: Any):
    with pytest.raises(OrderError, match="body: must be a JSON object"):
        parse_order(body)
