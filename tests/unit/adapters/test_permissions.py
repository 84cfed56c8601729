from __future__ import annotations

import pytest

from loadtest.adapters.kube import Kube
from loadtest.adapters.permissions import Permissions, resolve
from loadtest.adapters.targets import KubeTargets
from loadtest.api import names
from loadtest.core.observed import Target
from loadtest.core.permission import Policy
from loadtest.ports import Unavailable
from tests.unit.adapters.memory_api import MemoryApi
from tests.unit.adapters.test_targets import SETTINGS
from tests.unit.core.builders import bare_plan, plan, release, resource, running, spec

NEW = resource(spec(), running())
BEGUN = resource(spec(), running(release=release("seven")))


class Resolver:
    """Answers every name with the same addresses, and remembers what it was asked."""

    def __init__(self, *addresses: str) -> None:
        self.addresses, self.asked = addresses, list[str]()

    async def __call__(self, name: str) -> tuple[str, ...]:
        self.asked.append(name)
        return self.addresses


def annotated(api: MemoryApi, text: str, name: str = "runner") -> None:
    api.put("namespaces", "", name, metadata={"annotations": {names.ANNOTATION_ALLOWED_FROM: text}})


async def test_the_annotation_of_the_targets_namespace_decides(api: MemoryApi, kube: Kube) -> None:
    permissions = Permissions(kube, Policy(), Resolver("10.96.1.1"))
    for text, allowed in (("performance", True), ("qa", False)):
        annotated(api, text)
        _, refused = await permissions.observe(NEW, plan())
        assert (refused is None) is allowed
    api.put("namespaces", "", "runner")
    _, refused = await permissions.observe(NEW, plan())
    assert refused is not None
    assert refused.reason == "NamespaceNotAllowed"


async def test_each_namespace_is_read_once_and_the_own_one_only_for_a_release(api: MemoryApi, kube: Kube) -> None:
    permissions = Permissions(kube, Policy(), Resolver())
    await permissions.observe(NEW, bare_plan({"target": {"url": "http://shop"}}))
    assert api.requests == []
    api.put("namespaces", "", "performance")
    own = plan({"target": {"url": "http://shop", "release": {"namespace": "performance"}}})
    assert (await permissions.observe(NEW, own))[1] is None
    assert [path for _, path, _ in api.requests] == ["/api/v1/namespaces/performance"]


async def test_a_name_that_leads_to_metadata_is_refused_before_anything_begins(api: MemoryApi, kube: Kube) -> None:
    annotated(api, "performance")
    resolver = Resolver("169.254.169.254")
    permissions = Permissions(kube, Policy(), resolver)
    _, refused = await permissions.observe(NEW, plan())
    assert refused is not None
    assert refused.reason == "HostNotAllowed"
    assert resolver.asked == ["runner.runner.svc.cluster.local"]
    assert (await permissions.observe(BEGUN, plan()))[1] is None, "later each connection is looked at by its injector"
    assert len(resolver.asked) == 1


async def test_an_unreadable_namespace_is_no_consent_and_a_silent_api_server_no_answer(
    api: MemoryApi, kube: Kube
) -> None:
    permissions = Permissions(kube, Policy(), Resolver())
    api.failures["GET", "namespaces"] = (403, "{}")
    _, refused = await permissions.observe(NEW, plan())
    assert refused is not None
    assert refused.reason == "Forbidden"
    api.failures["GET", "namespaces"] = (500, "{}")
    with pytest.raises(Unavailable):
        await permissions.observe(NEW, plan())


async def test_what_may_not_be_loaded_need_not_be_readable_until_something_was_changed(
    api: MemoryApi, kube: Kube
) -> None:
    targets = KubeTargets(kube, SETTINGS, Resolver())
    annotated(api, "qa")
    api.failures["GET", "deployments"] = (403, "{}")
    seen = await targets.observe(NEW, plan())
    assert seen == Target(refused=seen.refused)
    assert seen.refused is not None
    with pytest.raises(Unavailable):
        await targets.observe(BEGUN, plan())
    annotated(api, "performance")
    with pytest.raises(Unavailable):
        await targets.observe(NEW, plan())


async def test_a_name_that_cannot_be_looked_up_has_no_addresses() -> None:
    assert await resolve("a" * 64 + ".invalid") == ()
