"""The operator put together: settings -> adapters -> loop -> handlers. The only place where they meet."""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import dataclass

import kopf

from loadtest.adapters.injectors import KubeInjectors
from loadtest.adapters.kube import Kube
from loadtest.adapters.loadtests import KubeLoadTests
from loadtest.adapters.locust import LocustMasters
from loadtest.adapters.store import KubeStore
from loadtest.adapters.targets import KubeTargets
from loadtest.core.observed import Resource
from loadtest.handlers.configure import configure, register_login
from loadtest.handlers.health import Health
from loadtest.handlers.janitor import Janitor
from loadtest.handlers.loadtest import register
from loadtest.handlers.wakeups import Wakeups
from loadtest.reconcile.loop import Reconciler
from loadtest.reconcile.ports import Ports
from loadtest.settings import Settings

log = logging.getLogger(__name__)


@dataclass
class Operator:
    """Everything that one operator process holds."""

    settings: Settings
    kube: Kube
    masters: LocustMasters
    reconciler: Reconciler
    janitor: Janitor
    health: Health


async def compose(settings: Settings) -> Operator:
    """Connect to the cluster and put the parts together."""
    kube = await Kube.connect(settings.context)
    masters = LocustMasters(settings.token_key)
    store = KubeStore(kube)
    ports = Ports(
        loadtests=KubeLoadTests(kube),
        targets=KubeTargets(kube, settings),
        injectors=KubeInjectors(kube, masters, settings),
        store=store,
        clock=kube.clock,
    )
    reconciler = Reconciler(ports)
    health = Health(reconciler, kube.requests)
    reconciler.observer = health.metrics.observe
    reconciler.on_event = health.metrics.told

    async def remove(resource: Resource) -> None:
        await store.forget(resource, None)

    return Operator(settings, kube, masters, reconciler, Janitor(remove), health)


async def run(settings: Settings, *, ready: asyncio.Event | None = None, stop: asyncio.Event | None = None) -> None:
    """Run the operator until a signal, or `stop`. A run that is on goes on when the operator is back."""
    operator = await compose(settings)
    registry = kopf.OperatorRegistry()
    register_login(registry)
    register(registry, operator.reconciler, Wakeups(), operator.janitor, operator.health.metrics)
    stopping = stop or asyncio.Event()
    started = ready or asyncio.Event()
    loop = asyncio.get_running_loop()
    if stop is None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopping.set)
    kopf_settings = kopf.OperatorSettings()
    configure(kopf_settings)
    runner = await operator.health.serve(settings.health_port)
    background = [
        asyncio.create_task(operator.janitor.run()),
        asyncio.create_task(operator.health.measure_lag()),
        asyncio.create_task(_when_ready(started, operator.health)),
    ]
    try:
        await kopf.operator(
            registry=registry,
            settings=kopf_settings,
            namespaces=settings.watch_namespaces,
            clusterwide=not settings.watch_namespaces,
            ready_flag=started,
            stop_flag=stopping,
        )
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await runner.cleanup()
        await operator.masters.close()
        await operator.kube.close()


async def _when_ready(started: asyncio.Event, health: Health) -> None:
    await started.wait()
    health.ready = True
    log.info("watching for LoadTests")
