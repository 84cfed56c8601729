"""The operator that works on a world; or two of them at once, whose steps are interleaved by a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from loadtest.reconcile.loop import Reconciler
from loadtest.reconcile.ports import Ports
from tests.unit.reconcile.world import World


class Crew:
    """One operator (`seed` is 1), or two that do not know of each other, as when a lost node comes back."""

    def __init__(self, w: World, seed: int) -> None:
        self.w = w
        if seed == 1:
            self.operators = [Reconciler(w.ports(), monotonic=w.seconds)]
        else:
            chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
            self.operators = [Reconciler(_hesitant(w.ports(), chance), monotonic=w.seconds) for _ in range(2)]

    async def step(self) -> float | None:
        """One step of each, at once; seconds until somebody has something to do."""
        steps = [asyncio.create_task(operator.step(self.w.ref())) for operator in self.operators]
        done = await asyncio.gather(*steps, return_exceptions=True)
        for result in done:
            if isinstance(result, BaseException):
                raise result
        delays = [delay for delay in done if isinstance(delay, float | int)]
        return min(delays) if delays else None


def _hesitant(ports: Ports, chance: random.Random) -> Ports:
    """The same ports, each call of which waits for a while, so that the other operator acts in between."""
    return Ports(**{name: _Hesitant(part, chance) for name, part in vars(ports).items()})


class _Hesitant:
    def __init__(self, part: Any, chance: random.Random) -> None:
        self._part, self._chance = part, chance

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Any] = getattr(self._part, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def later(*arguments: Any, **named: Any) -> Any:
            for _ in range(self._chance.randrange(6)):
                await asyncio.sleep(0)
            return await method(*arguments, **named)

        return later
