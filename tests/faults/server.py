"""The operator's loop and adapters against a real API server, through a proxy that spoils one answer of each run."""

from __future__ import annotations

import asyncio
import copy
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
from kubernetes.aio import client

from loadtest.adapters import kube as kube_module
from loadtest.adapters.injectors import KubeInjectors
from loadtest.adapters.kube import Kube
from loadtest.adapters.loadtests import KubeLoadTests, parse
from loadtest.adapters.store import KubeStore
from loadtest.adapters.targets import KubeTargets
from loadtest.api import names
from loadtest.api.status import TERMINAL, LoadTestStatus
from loadtest.ports import Ref
from loadtest.reconcile.loop import Reconciler
from loadtest.reconcile.ports import Ports
from loadtest.settings import Settings
from tests.cluster.apiserver import PrivateApiServer
from tests.faults.proxy import HOWS, Proxy, serving
from tests.faults.stagehands import ORIGINAL, Masters, Stagehands
from tests.unit.reconcile.world import SPEC

NAMESPACE = "performance"
MOST_STEPS = 400
MOST_WRITES = 60
LONGEST_PAUSE = 0.1
"""Seconds: what the loop would wait for is done by then. Nothing measures time here but a stall."""
STALL_SECONDS = 8
JOURNEY = '{"schema_name": "test", "requests": [{"method": "GET", "url": "/questionnaire/"}]}'

SPOILED = {
    "read-loadtest": ("GET", r".*/loadtests/[^/]+", 5),
    "read-plan": ("GET", r".*/configmaps/ldt-[0-9a-f]+-plan", 5),
    "read-state": ("GET", r".*/configmaps/ldt-[0-9a-f]+-state", 5),
    "read-lease": ("GET", r".*/leases/[^/]+", 3),
    "list-jobs": ("GET", r".*/jobs", 5),
    "list-pods": ("GET", r".*/pods", 8),
    "list-deployments": ("GET", r".*/deployments", 4),
    "status-first": ("PATCH", r".*/status", 1),
    "status-later": ("PATCH", r".*/status", 6),
    "make-plan": ("POST", r".*/configmaps", 2),
    "make-lease": ("POST", r".*/leases", 1),
    "make-state": ("POST", r".*/configmaps", 3),
    "make-dead-man": ("POST", r".*/jobs", 1),
    "make-snapshot": ("POST", r".*/jobs", 2),
    "make-apply": ("POST", r".*/jobs", 3),
    "make-restore": ("POST", r".*/jobs", 4),
    "make-master": ("POST", r".*/pods", 1),
    "make-worker": ("POST", r".*/pods", 2),
    "store-record": ("POST", r".*/configmaps", 8),
    "delete-pod": ("DELETE", r".*/pods/[^/]+", 1),
    "delete-job": ("DELETE", r".*/jobs/[^/]+", 1),
    "delete-state": ("DELETE", r".*/configmaps/[^/]+-state", 1),
    "delete-lease": ("DELETE", r".*/leases/[^/]+", 1),
    "delete-plan": ("DELETE", r".*/configmaps/[^/]+-plan", 1),
}
"""Name -> method, path and which such request of the run is spoiled."""

NOT_APPLICABLE = {
    "apiserver/make-plan/409": "a creation is answered 409 only where the object is there, and then the plan is frozen",
    "apiserver/watch/410": "the loop watches nothing: kopf's watch only wakes it, and every step reads anew",
}
"""Id -> why there is no such run."""

LASTING = {"403", "422"}
"""The API server's definite no to a creation: the run may end for it, and must restore."""


@dataclass(frozen=True)
class Stand:
    """What all runs share."""

    server: PrivateApiServer
    session: aiohttp.ClientSession
    kube: Kube
    stagehands: Stagehands


def ids() -> Iterator[str]:
    """Every run: each way to spoil an answer, at each kind of request."""
    for what in SPOILED:
        for how in HOWS:
            if (id_ := f"apiserver/{what}/{how}") not in NOT_APPLICABLE:
                yield id_


async def run(stand: Stand, number: int, id_: str) -> list[str]:
    """What was wrong with this run."""
    _, what, how = id_.split("/")
    method, path, nth = SPOILED[what]
    proxy = Proxy(stand.server.url, stand.session, method, path, how, nth)
    try:
        async with serving(proxy) as url:
            kube = Kube(client.ApiClient(client.Configuration(host=url)))
            try:
                return await _run(stand, kube, proxy, number, what, how)
            finally:
                await kube.close()
    except Exception:  # noqa: BLE001 - a defect of the test system fails its run, not all the others
        return traceback.format_exc().splitlines()


async def _nowhere(_: str) -> tuple[str, ...]:
    return ()


async def _run(stand: Stand, kube: Kube, proxy: Proxy, number: int, what: str, how: str) -> list[str]:
    release = f"runner-{number}"
    body = await stand.kube.request("POST", kube_module.path(names.PLURAL, NAMESPACE), _loadtest(number, release))
    ref = Ref(NAMESPACE, body["metadata"]["name"], body["metadata"]["uid"])
    settings = Settings(
        namespace=NAMESPACE, watch_namespaces=(), operator_image="operator:1", injector_image="injector:1",
        image_pull_policy="Never", token_key=b"k" * 16, health_port=0, json_logs=False, helm_service_account="default",
    )  # fmt: skip
    masters: Any = Masters(stand.kube, NAMESPACE)
    ports = Ports(
        loadtests=KubeLoadTests(kube), targets=KubeTargets(kube, settings, _nowhere),
        injectors=KubeInjectors(kube, masters, settings), store=KubeStore(kube), clock=kube.clock,
    )  # fmt: skip
    reconciler = Reconciler(ports)
    for _ in range(MOST_STEPS):
        delay = await reconciler.step(ref)
        if delay is None:
            break
        await asyncio.sleep(min(delay, LONGEST_PAUSE))
    else:
        return [f"no end after {MOST_STEPS} steps"]
    return await _judge(stand, proxy, ref, release, what, how)


def _loadtest(number: int, release: str) -> dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    spec["target"] = {
        "url": f"http://runner-{number}.{NAMESPACE}.svc",
        "release": {"name": release, "namespace": NAMESPACE, "settle": "0s"},
    }
    spec["variants"] = [{"name": "two", "values": {"threads": "2"}}]
    spec["load"]["stages"] = [{"injectors": 1, "duration": "1s"}]
    meta = {"name": f"test-{number}", "namespace": NAMESPACE}
    return {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "spec": spec}


async def _judge(stand: Stand, proxy: Proxy, ref: Ref, release: str, what: str, how: str) -> list[str]:
    """The oracle: everything that is wrong with the end."""
    body = await stand.kube.get(names.PLURAL, NAMESPACE, ref.name)
    status = parse(body or {}).status
    refused = what.startswith("make-") and how in LASTING
    wrong = [] if proxy.happened else ["the fault did not happen: this run shows nothing"]
    wrong += _ending(status, before_lease=what == "make-plan", refused=refused)
    live, changes = stand.stagehands.live.get(release, ORIGINAL), stand.stagehands.changes.get(release, [])
    wrong += [] if live == ORIGINAL else [f"the release is {live}"]
    wrong += [] if refused or changes == ["two", ORIGINAL] else [f"helm did {changes}"]
    wrong += [] if proxy.writes <= MOST_WRITES else [f"{proxy.writes} writes"]
    return wrong + await _left(stand, status)


def _ending(status: LoadTestStatus, *, before_lease: bool, refused: bool) -> list[str]:
    """The run has completed, as if nothing had been; or it was refused a creation, and then has put everything back."""
    conditions = {c.type: c for c in status.conditions}
    ready, restored = conditions.get("Ready"), conditions.get("TargetRestored")
    wrong = [] if status.phase in TERMINAL else [f"the run did not end: {status.phase}"]
    if not (refused and before_lease) and (restored is None or restored.status != "True"):
        wrong.append(f"TargetRestored is {restored}")
    if refused:
        return wrong
    if ready is None or ready.status != "True":
        wrong.append(f"the run did not complete: {ready}")
    stages = [(s.valid, s.attempt, s.requests) for v in status.variants or () for r in v.runs for s in r.stages]
    return wrong if stages == [("True", 1, 10)] else [*wrong, f"the stages are {stages}"]


async def _left(stand: Stand, status: LoadTestStatus) -> list[str]:
    """What the run has left, but for its records."""
    selector = {names.LABEL_RUN: status.run_id or "none"}
    stages = [s for v in status.variants or () for r in v.runs for s in r.stages]
    results = {stage.result_ref.name for stage in stages if stage.result_ref}
    left = []
    for kind in ("pods", "jobs", "leases", "configmaps"):
        found = [entry["metadata"]["name"] for entry in await stand.kube.list(kind, NAMESPACE, selector)]
        left += [f"{kind} {name} is left" for name in found if name.rpartition("-p")[0] not in results]
    return left


def quiet() -> None:
    """What goes wrong here is meant to; a stall is as long as needed, and no longer."""
    logging.getLogger("loadtest").setLevel(logging.CRITICAL)
    kube_module.TIMEOUT_SECONDS = STALL_SECONDS
