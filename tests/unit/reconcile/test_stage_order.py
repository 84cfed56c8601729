"""What a master is ordered, and that it understands it."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest.core.actions import StartStage
from loadtest.core.observed import Observed
from loadtest.reconcile.execute import stage_order
from loadtest_injector.order import parse_order
from tests.unit.core.builders import NOW, plan, resource

WORKERS = ("w1", "w0")


@pytest.mark.parametrize(("load", "rate"), [({}, 0), ({"mode": "Open", "ratePerInjector": 30}, 450)])
def test_a_master_understands_the_order_of_a_stage(load: dict[str, Any], rate: int) -> None:
    of = plan({"load": load})
    order = parse_order(stage_order(Observed(now=NOW, resource=resource(of.spec)), of, StartStage(1, 1, 1, WORKERS)))
    assert (order.injectors, order.users, order.expected_workers) == (15, 3_000, ("w0", "w1"))
    assert (order.warm_up_seconds, order.duration_seconds, order.request_timeout_seconds) == (0, 1_200, 60)
    assert order.arrivals_per_second == rate
