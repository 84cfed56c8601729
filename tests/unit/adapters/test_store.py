from __future__ import annotations

import base64
import hashlib
import json
import random
from typing import Any

import pytest

from loadtest.adapters import store as store_module
from loadtest.adapters.kube import Kube
from loadtest.adapters.store import PART_BYTES, KubeStore, encode
from loadtest.api import names
from loadtest.ports import Refused
from tests.unit.adapters.memory_api import MemoryApi
from tests.unit.core.builders import RUN, plan, resource, running, spec
from tests.unit.results.records import endpoint, histogram, stored

ME = resource(spec(), running())
NAME = names.result(RUN, 1, 0, 1)
JOURNEY = json.dumps({"schema_name": "census", "requests": [{"method": "GET", "url": "/questionnaire/"}]})
WITH_LAUNCH = {"scenario": {"requests": {"launch": {"keysSecret": {"name": "keys"}}}}}


def journey(api: MemoryApi, **content: Any) -> None:
    content = content or {"data": {"census_household_gb_eng.json": JOURNEY}}
    api.put("configmaps", "performance", "census-household", **content)


def large() -> dict[str, Any]:
    """A record whose compressed form does not fit into one part."""
    rng = random.Random(7)  # noqa: S311 - the same numbers each time
    values = [rng.randrange(1, 3_600_000_000) for _ in range(200_000)]
    entries = [endpoint(histogram(values[n::8]), name=f"/{n}/") for n in range(8)]
    return stored(*entries, noise=rng.randbytes(900_000).hex())


async def test_plan_and_scenario_are_frozen_and_read_back(api: MemoryApi, kube: Kube) -> None:
    journey(api)
    store, of = KubeStore(kube), plan()
    reference = await store.freeze(ME, of)
    assert reference.name == names.plan(RUN)
    frozen = api.of("configmaps")[reference.name]
    assert frozen["immutable"] is True
    assert hashlib.sha256(frozen["data"]["plan.json"].encode()).hexdigest() == reference.sha256
    assert api.of("configmaps")[names.scenario(RUN)]["data"]["requests.json"] == JOURNEY
    assert await store.plan(ME, RUN) == of
    await store.drop_plan(ME, RUN)
    assert await store.plan(ME, RUN) is None
    assert set(api.of("configmaps")) == {"census-household"}


async def test_the_scenario_is_stored_before_the_plan_that_admits_the_run(api: MemoryApi, kube: Kube) -> None:
    journey(api)
    await KubeStore(kube).freeze(ME, plan())
    created = [body["metadata"]["name"] for method, _, body in api.requests if method == "POST"]
    assert created == [names.scenario(RUN), names.plan(RUN)]


def binary(content: bytes) -> dict[str, Any]:
    return {"binaryData": {"census_household_gb_eng.json": base64.b64encode(content).decode()}}


@pytest.mark.parametrize(
    ("content", "change", "reason", "says"),
    [
        (None, {}, "ScenarioNotFound", "ConfigMap performance/census-household does not exist"),
        ({"data": {"other.json": "{}"}}, {}, "ScenarioNotFound", "has no key 'census_household_gb_eng.json'"),
        ({"data": {}}, {}, "ScenarioNotFound", "it has: none"),
        ({"data": {"b": ""}, "binaryData": {"a": ""}}, {}, "ScenarioNotFound", "it has: a, b"),
        ({"data": {"census_household_gb_eng.json": "{"}}, {}, "InvalidScenario", "is not JSON"),
        ({"data": {"census_household_gb_eng.json": '{"requests": []}'}}, {}, "InvalidScenario", "at least one request"),
        (binary(b"\xff\xfe{}"), {}, "InvalidScenario", "not UTF-8"),
        ({"data": {"census_household_gb_eng.json": JOURNEY.replace("schema_name", "x")}}, WITH_LAUNCH,
         "InvalidScenario", "a launch needs"),
    ],
)  # fmt: skip
async def test_a_scenario_that_cannot_be_used_is_refused_before_anything_is_stored(
    api: MemoryApi, kube: Kube, content: dict[str, Any] | None, change: dict[str, Any], reason: str, says: str
) -> None:
    if content is not None:
        journey(api, **content)
    with pytest.raises(Refused, match=says) as refusal:
        await KubeStore(kube).freeze(ME, plan(change))
    assert refusal.value.reason == reason
    assert set(api.of("configmaps")) <= {"census-household"}


async def test_a_requests_file_may_be_binary_data(api: MemoryApi, kube: Kube) -> None:
    journey(api, **binary(JOURNEY.encode()))
    await KubeStore(kube).freeze(ME, plan())
    assert api.of("configmaps")[names.scenario(RUN)]["data"]["requests.json"] == JOURNEY


LOCUSTFILE = {"scenario": {"requests": None, "locustfile": {"configMap": {"name": "shop", "key": "shop.py"}}}}


async def test_a_locustfile_is_frozen_with_the_files_beside_it(api: MemoryApi, kube: Kube) -> None:
    data = {"shop.py": "import pages", "pages.py": "PAGES = []"}
    api.put("configmaps", "performance", "shop", data=data, binaryData={"cart": base64.b64encode(b"\xff").decode()})
    await KubeStore(kube).freeze(ME, plan(LOCUSTFILE))
    frozen = api.of("configmaps")[names.scenario(RUN)]
    assert frozen["data"].keys() == {"shop.py", "pages.py", "scenario.json"}
    assert frozen["data"]["pages.py"] == "PAGES = []"
    assert base64.b64decode(frozen["binaryData"]["cart"]) == b"\xff"


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (None, "ScenarioNotFound", "correct spec.scenario.locustfile.configMap.name"),
        ({"other.py": ""}, "ScenarioNotFound", "correct spec.scenario.locustfile.configMap.key"),
        ({"shop.py": "def broken(:"}, "InvalidScenario", "ConfigMap performance/shop, key shop.py, line 1: "),
        ({"shop.py": "", "scenario.json": ""}, "InvalidScenario", "key scenario.json: this name is taken"),
    ],
)
async def test_a_locustfile_that_cannot_be_used_is_refused_before_anything_is_stored(
    api: MemoryApi, kube: Kube, data: dict[str, str] | None, reason: str, says: str
) -> None:
    if data is not None:
        api.put("configmaps", "performance", "shop", data=data)
    with pytest.raises(Refused, match=says) as refusal:
        await KubeStore(kube).freeze(ME, plan(LOCUSTFILE))
    assert refusal.value.reason == reason
    assert set(api.of("configmaps")) <= {"shop"}


async def test_a_plan_that_does_not_fit_is_refused_and_leaves_no_scenario(api: MemoryApi, kube: Kube) -> None:
    journey(api)
    api.put("configmaps", ME.namespace, names.scenario(RUN))
    api.failures["POST", "configmaps"] = (413, '{"message": "too large"}')
    with pytest.raises(Refused, match="too large") as refusal:
        await KubeStore(kube).freeze(ME, plan())
    assert refusal.value.reason == "PlanTooLarge"
    assert set(api.of("configmaps")) == {"census-household"}


async def test_a_record_is_stored_and_read_back_with_its_hash(api: MemoryApi, kube: Kube) -> None:
    store, written = KubeStore(kube), stored(endpoint(histogram([1, 2, 3])))
    assert await store.get("performance", NAME) is None
    put = await store.put(ME, NAME, written)
    assert (put.name, put.parts, put.sha256) == (NAME, 1, hashlib.sha256(encode(written)).hexdigest())
    assert await store.get("performance", NAME) == (written, put)


# aiohttp warns that a body of more than 1 MiB holds the loop while it is sent: that is a millisecond.
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_large_record_is_stored_in_parts_that_fit_into_a_config_map(api: MemoryApi, kube: Kube) -> None:
    store, written = KubeStore(kube), large()
    assert len(encode(written)) > PART_BYTES
    put = await store.put(ME, NAME, written)
    parts = api.of("configmaps")
    assert put.parts == len(parts) >= 2
    assert set(parts) == {f"{NAME}-p{n}" for n in range(put.parts)}
    sizes = [len(base64.b64decode(part["binaryData"]["record.json.gz"])) for part in parts.values()]
    assert max(sizes) <= PART_BYTES
    assert sum(sizes) == len(encode(written))
    assert await store.get("performance", NAME) == (written, put)
    del api.objects["configmaps", "performance", f"{NAME}-p1"]
    assert await store.get("performance", NAME) is None, "half a record is none"


async def test_what_is_stored_whole_stays_and_is_what_the_status_will_name(api: MemoryApi, kube: Kube) -> None:
    store, first = KubeStore(kube), stored(endpoint(histogram([1])))
    put = await store.put(ME, NAME, first)
    assert await store.put(ME, NAME, stored(endpoint(histogram([2])))) == put
    assert await store.get("performance", NAME) == (first, put)


async def test_what_is_left_of_half_a_record_is_not_mixed_with_another(
    api: MemoryApi, kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that died between two parts: the target's pods may look different to the next."""
    monkeypatch.setattr(store_module, "PART_BYTES", 100)
    store = KubeStore(kube)
    await store.put(ME, NAME, stored(endpoint(histogram(range(500)))))
    del api.objects["configmaps", "performance", f"{NAME}-p1"]
    second = stored(endpoint(histogram(range(700))))
    put = await store.put(ME, NAME, second)
    assert await store.get("performance", NAME) == (second, put)


async def test_what_other_runs_stored_is_forgotten_and_nothing_else(api: MemoryApi, kube: Kube) -> None:
    journey(api)
    store = KubeStore(kube)
    await store.freeze(ME, plan())
    await store.put(ME, NAME, stored())
    api.put("configmaps", "performance", "of-another", metadata={"labels": names.labels(RUN, "uid-2")})
    labels = names.labels(RUN, "uid-1") | {names.LABEL_ROLE: "state"}
    api.put("configmaps", "performance", names.state(RUN), metadata={"labels": labels})
    await store.forget(ME, RUN)
    assert f"{NAME}-p0" in api.of("configmaps")
    await store.forget(ME, None)
    assert set(api.of("configmaps")) == {"census-household", "of-another", names.state(RUN)}
