"""Locust masters and workers as pods in the LoadTest's namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadtest.adapters.kube import Kube, Missing, Rejected
from loadtest.adapters.locust import LocustMasters, token_sha256
from loadtest.api import names
from loadtest.core import injector_pods, network, pods
from loadtest.core.expand import RunPlan
from loadtest.core.observed import InjectorPod, Injectors, Observed, Resource
from loadtest.ports import Outdated, Refused, Unavailable
from loadtest.settings import Settings

ROLES = frozenset({names.ROLE_MASTER, names.ROLE_WORKER})


class KubeInjectors:
    """The `InjectorPool` port."""

    def __init__(self, kube: Kube, masters: LocustMasters, settings: Settings) -> None:
        self._kube = kube
        self._masters = masters
        self._settings = settings

    async def observe(self, resource: Resource, plan: RunPlan) -> Injectors:
        """The run's pods, and what the newest running master says."""
        bodies = await self._kube.list("pods", resource.namespace, {names.LABEL_RUN: plan.run})
        found = tuple(
            pods.injector_pod(body) for body in bodies if body["metadata"]["labels"].get(names.LABEL_ROLE) in ROLES
        )
        master = current_master(found)
        if master is None:
            return Injectors(pods=found)
        try:
            return Injectors(pods=found, master=await self._masters.status(master.ip, plan.run))
        except Unavailable as error:
            return Injectors(pods=found, unreachable=str(error))

    async def create_master(self, resource: Resource, plan: RunPlan, position: int, generation: int) -> None:
        """Create the master pod, its NetworkPolicies first."""
        settings = self._settings
        if settings.network_policies:
            await self._fence(resource, plan)
        hashed = token_sha256(settings.token_key, plan.run)
        await self._create(
            resource,
            injector_pods.master_pod(
                resource, plan, position, generation,
                image=settings.injector_image, pull_policy=settings.image_pull_policy, token_sha256=hashed,
            ),
        )  # fmt: skip

    async def create_worker(
        self, resource: Resource, plan: RunPlan, position: int, generation: int, index: int, master_ip: str
    ) -> None:
        """Create one worker pod."""
        settings = self._settings
        await self._create(
            resource,
            injector_pods.worker_pod(
                resource, plan, position, generation, index, master_ip,
                image=settings.injector_image, pull_policy=settings.image_pull_policy,
            ),
        )  # fmt: skip

    async def _fence(self, resource: Resource, plan: RunPlan) -> None:
        scenario = await self._kube.get("configmaps", resource.namespace, names.scenario(plan.run))
        if scenario is None:
            raise Outdated("the scenario of the run is gone")
        for body in network.policies(resource, plan, self._settings.namespace, scenario):
            await self._create(resource, body, "networkpolicies")

    async def _create(self, resource: Resource, body: dict[str, Any], kind: str = "pods") -> None:
        try:
            await self._kube.create(kind, resource.namespace, body)
        except (Rejected, Missing) as error:
            raise Refused("InjectorsNotReady", str(error)) from error
        except Unavailable as error:
            if error.forbidden:  # a quota, an admission policy, or a right that is missing: the message says which
                reason = "QuotaExceeded" if "quota" in str(error) else "Forbidden"
                raise Refused(reason, str(error)) from error
            raise

    async def delete(self, resource: Resource, names: tuple[str, ...]) -> None:
        """Delete pods. Their grace is short: what they measured has been collected, or is not wanted."""
        await self._kube.delete_all("pods", resource.namespace, list(names), grace=1)

    async def start_stage(self, o: Observed, position: int, stage: int, attempt: int, order: Mapping[str, Any]) -> None:
        """Order the stage from the current master."""
        ip, run = self._address(o)
        await self._masters.start(ip, run, position, stage, attempt, order)

    async def record(self, o: Observed, position: int, stage: int, attempt: int) -> dict[str, Any]:
        """Fetch a record from the current master."""
        ip, run = self._address(o)
        return await self._masters.record(ip, run, position, stage, attempt)

    @staticmethod
    def _address(o: Observed) -> tuple[str, str]:
        master = current_master(o.injectors.pods)
        if master is None or o.plan is None:
            raise Unavailable("no Locust master is running")
        return master.ip, o.plan.run


def current_master(found: tuple[InjectorPod, ...]) -> InjectorPod | None:
    """The running master of the latest repeat and generation."""
    masters = [pod for pod in found if pod.is_master and pod.running and pod.ip and not pod.terminating]
    return max(masters, key=lambda pod: (pod.position, pod.generation), default=None)
