"""What is to be known before a target may be loaded: the consent of the namespaces concerned, the host's addresses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping

from loadtest.adapters.kube import Kube, Missing
from loadtest.api import names
from loadtest.core import permission
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Problem, Resource
from loadtest.core.permission import Consent, Policy
from loadtest.ports import Unavailable

LOOKUP_SECONDS = 5.0

Resolve = Callable[[str], Awaitable[tuple[str, ...]]]


async def resolve(name: str) -> tuple[str, ...]:
    """The addresses of a full name by this machine's resolver; () where there are none, or no answer in time."""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)
    except (TimeoutError, OSError, UnicodeError):
        return ()
    return tuple(sorted({str(entry[4][0]).partition("%")[0] for entry in found}))


class Permissions:
    """Looks at each step of a run whether it is allowed, by one read for each namespace concerned."""

    def __init__(self, kube: Kube, policy: Policy, resolve: Resolve) -> None:
        self._kube = kube
        self._policy = policy
        self._resolve = resolve

    async def observe(self, resource: Resource, plan: RunPlan) -> tuple[Mapping[str, Consent], Problem | None]:
        """What the namespaces of the plan say, that of the release always among them; and why it may not run, if so."""
        own = resource.namespace
        asked = permission.namespaces(plan, own, self._policy)
        release = plan.spec.target.release
        wanted = sorted({*asked, *([release.namespace] if release else [])})
        consents, addresses = await asyncio.gather(
            asyncio.gather(*(self._consent(name) for name in wanted)), self._look_up(resource, plan)
        )
        found = dict(zip(wanted, consents, strict=True))
        others = {name: consent for name, consent in found.items() if name in asked}
        return found, permission.refusal(plan, own, others, self._policy, addresses)

    async def _consent(self, namespace: str) -> Consent:
        try:
            body = await self._kube.request("GET", f"api/v1/namespaces/{namespace}")
        except Missing:
            return Consent(exists=False)
        except Unavailable as error:
            if error.forbidden:
                return Consent(readable=False)
            raise
        meta = body["metadata"]
        if meta.get("deletionTimestamp"):
            return Consent(exists=False)
        return Consent.of((meta.get("annotations") or {}).get(names.ANNOTATION_ALLOWED_FROM, ""))

    async def _look_up(self, resource: Resource, plan: RunPlan) -> dict[str, tuple[str, ...]]:
        """Addresses of each host before anything of the run has begun, none where they cannot be known.

        Later looks are left to the injectors, which look at the address of every connection that they make.
        """
        if resource.status.release is not None or resource.status.variants:
            return {}
        found = {}
        for one in permission.destinations(plan):
            if name := permission.lookup_name(one.host, resource.namespace, self._policy):
                found[one.host] = await self._resolve(name)
        return found
