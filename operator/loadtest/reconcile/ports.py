"""The ports that one loop works through, together."""

from __future__ import annotations

from dataclasses import dataclass

from loadtest.ports import Clock, InjectorPool, LoadTests, Store, Targets


@dataclass(frozen=True)
class Ports:
    """Everything outside the loop."""

    loadtests: LoadTests
    targets: Targets
    injectors: InjectorPool
    store: Store
    clock: Clock
