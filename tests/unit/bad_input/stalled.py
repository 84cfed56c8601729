"""What only the operator can refuse: each row makes it happen, and gives the reason and the message of Stalled."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from loadtest.adapters.kube import Kube
from loadtest.adapters.store import KubeStore
from loadtest.api.conditions import ConditionType, find_condition
from loadtest.core.observed import Problem
from loadtest.core.permission import Consent, Policy, namespaces, refusal
from loadtest.ports import Refused
from tests.unit.adapters.memory_api import memory_api
from tests.unit.api.cases.base import BARE, merged
from tests.unit.core.builders import plan, resource, running, spec
from tests.unit.reconcile.world import SPEC, World, drive

Probe = Callable[[], Awaitable[tuple[str, str]]]
FILE = "census_household_gb_eng.json"
GET = {"method": "GET", "url": "/questionnaire/"}


@dataclass(frozen=True)
class Row:
    """One bad input."""

    what: str
    probe: Probe


def of_loop(what: str, change: dict[str, Any] | None = None, **world: Any) -> Row:
    """A run of the loop in the world in memory, until it stalls."""

    async def probe() -> tuple[str, str]:
        made = World(spec=merged(SPEC, change or {}), **world)
        await drive(made)
        assert made.upgrades == [], "nothing was changed"
        found = find_condition(made.parsed.conditions, ConditionType.STALLED)
        assert found is not None
        return found.reason, found.message

    return Row(what, probe)


def of_file(what: str, *requests: Any, text: str | bytes | None = None, there: bool = True, key: str = FILE) -> Row:
    """A requests file that is frozen for a run."""

    async def probe() -> tuple[str, str]:
        content = text if text is not None else json.dumps({"schema_name": "s", "requests": list(requests)})
        async with memory_api() as (api, kube):
            if there:
                api.put("configmaps", "performance", "census-household", data={key: content})
            return await _refused(kube)

    return Row(what, probe)


def of_locustfile(what: str, *, key: str = "locustfile.py", text: str = "") -> Row:
    """A locustfile that is frozen for a run."""

    async def probe() -> tuple[str, str]:
        source = {"requests": None, "locustfile": {"configMap": {"name": "load", "key": "locustfile.py"}}}
        async with memory_api() as (api, kube):
            api.put("configmaps", "performance", "load", data={key: text})
            return await _refused(kube, {"scenario": source})

    return Row(what, probe)


def too_large() -> Row:
    """A plan that the API server finds too large for a ConfigMap."""

    async def probe() -> tuple[str, str]:
        async with memory_api() as (api, kube):
            api.put("configmaps", "performance", "census-household", data={FILE: json.dumps({"requests": [GET]})})
            body = json.dumps({"message": "data: Too long: may not be more than 1048576 bytes"})
            api.failures["POST", "configmaps"] = (422, body)
            return await _refused(kube)

    return Row("values of a megabyte", probe)


async def _refused(kube: Kube, change: dict[str, Any] | None = None) -> tuple[str, str]:
    try:
        await KubeStore(kube).freeze(resource(spec(change), running()), plan(change))
    except Refused as refusal_:
        return refusal_.reason, refusal_.message
    return "", ""


def of_target(what: str, target: dict[str, Any], policy: Policy | None = None, **load: Any) -> Row:
    """A target or a load that is not allowed; every other namespace allows those of `qa` alone."""

    async def probe() -> tuple[str, str]:
        allowed = policy or Policy()
        of = plan(merged({"target": target}, {"load": load}), BARE)
        consents = {name: Consent.of("qa") for name in namespaces(of, "performance", allowed)}
        no = refusal(of, "performance", consents, allowed)
        return (no.reason, no.message) if no else ("", "")

    return Row(what, probe)


STALLED = (
    of_loop("a matrix that excludes all", {
        "variants": None,
        "matrix": {"axes": [{"setting": "threads", "values": ["2"]}], "exclude": [{"threads": "2"}]},
    }),
    of_loop("a matrix whose exclude names no axis", {
        "variants": None,
        "matrix": {"axes": [{"setting": "threads", "values": ["2"]}], "exclude": [{"thread": "2"}]},
    }),
    of_loop("a word for a number in a matrix", {
        "variants": None, "matrix": {"axes": [{"setting": "threads", "values": ["many"]}]},
    }),
    of_loop("a deadline shorter than the load", {"deadline": "1m", "load": {"warmUp": "50s"}}),
    of_loop("abort before the run", {"abort": True}),
    of_loop("a setting that the chart does not have", unsupported=("sessionBackend (values path session.backend)",)),
    of_loop("a right taken from the operator in the target's namespace",
            refused=Problem("Forbidden", "POST jobs: forbidden: install charts/loadtest-target in namespace runner")),
    of_target("a Service of a namespace that does not allow it", {"url": "http://shop.other.svc"}),
    of_target("a host outside the cluster that is not listed", {"url": "https://www.example.org"}),
    of_target("a metadata address", {"url": "http://169.254.169.254"}),
    of_target("a metadata address as one number", {"url": "http://2852039166"}),
    of_target("the API server", {"url": "https://kubernetes.default.svc"}),
    of_target("the injector itself", {"url": "http://localhost:8090"}),
    of_target("more users than the operator allows", {"url": "http://shop"}, Policy(max_users=1000)),
    of_target("more users a second than the operator allows", {"url": "http://shop"}, Policy(max_spawn_rate=100)),
    of_target("more requests a second than the operator allows", {"url": "http://shop"}, Policy(max_request_rate=100),
              mode="Open", ratePerInjector=50),
    of_target("a longer load than the operator allows", {"url": "http://shop"}, Policy(max_load_seconds=600)),
    too_large(),
    of_file("a ConfigMap that is not there", there=False),
    of_file("a key that is not in the ConfigMap", GET, key="other.json"),
    of_file("a requests file that is not JSON", text="{"),
    of_file("a requests file without requests"),
    of_file("100,000 requests", *[GET] * 100_000),
    of_file("an unknown method", {"method": "PUT", "url": "/a/"}),
    of_file("a URL of another host", {"method": "GET", "url": "http://other/"}),
    of_locustfile("a locustfile with a syntax error", text="class Load(HttpUser)\n    pass\n"),
    of_locustfile("a locustfile that is not in the ConfigMap", key="load.py"),
    of_file("a {name} that was never harvested", GET, {"method": "GET", "url": "/person/{person}/"}),
)  # fmt: skip
