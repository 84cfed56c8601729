"""The target in the cluster: its Lease, the helm Jobs beside it, its Deployments and pods.

The operator reads no Secret here. What it knows of the release itself, helm Jobs wrote into the state ConfigMap.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from loadtest.adapters.kube import Kube, Missing, Rejected
from loadtest.adapters.permissions import Permissions, Resolve, resolve
from loadtest.api import names
from loadtest.core import manifests, pods
from loadtest.core.expand import RunPlan
from loadtest.core.observed import HelmJob, Lease, Outcome, Resource, Target, Workload
from loadtest.core.permission import Consent
from loadtest.ports import Outdated, Refused, Unavailable
from loadtest.settings import Settings

HELM_OWNER = "meta.helm.sh/release-name"


class KubeTargets:
    """The `Targets` port."""

    def __init__(self, kube: Kube, settings: Settings, resolve: Resolve = resolve) -> None:
        self._kube = kube
        self._settings = settings
        self._permissions = Permissions(kube, settings.policy, resolve)

    async def observe(self, resource: Resource, plan: RunPlan) -> Target:
        """Everything about the target: whether it may be loaded, then the rest, read at once."""
        found, refused = await self._permissions.observe(resource, plan)
        try:
            seen = await self._observe(resource, plan, found)
        except Unavailable as error:
            if refused is None or not error.forbidden or resource.status.release is not None:
                raise
            seen = Target()  # what may not be loaded may often not be read either
        return replace(seen, refused=refused)

    async def _observe(self, resource: Resource, plan: RunPlan, found: Mapping[str, Consent]) -> Target:
        release = plan.spec.target.release
        if release is None:
            lease, workloads = await asyncio.gather(self._lease(resource, plan), self._bare(resource, plan))
            return Target(lease=lease, workloads=workloads)
        if not found[release.namespace].exists:
            return Target(gone=True)
        lease, state, jobs, workloads = await asyncio.gather(
            self._lease(resource, plan),
            self._kube.get("configmaps", release.namespace, names.state(plan.run)),
            self._jobs(plan, release.namespace),
            self._deployments(release.namespace, release.name),
        )
        return Target(
            lease=lease,
            prepared=state is not None,
            outcomes=outcomes((state or {}).get("data") or {}),
            jobs=jobs,
            workloads=workloads,
        )

    async def _jobs(self, plan: RunPlan, namespace: str) -> dict[str, HelmJob]:
        labels = {names.LABEL_RUN: plan.run}
        jobs = await self._kube.list("jobs", namespace, labels)
        # The pods tell why a Job does not get on; one whose pod runs, as the dead-man's does, gives no cause to ask.
        running = any(job.running and not job.ready for job in (pods.helm_job(job, ()) for job in jobs))
        job_pods = await self._kube.list("pods", namespace, labels) if running else []
        found = (
            pods.helm_job(job, [pod for pod in job_pods if pods.matches(pod, {"job-name": job["metadata"]["name"]})])
            for job in jobs
        )
        return {job.key: job for job in found}

    async def _deployments(self, namespace: str, release: str) -> tuple[Workload, ...]:
        deployments, all_pods = await asyncio.gather(
            self._kube.list("deployments", namespace), self._kube.list("pods", namespace)
        )
        mine = [d for d in deployments if (d["metadata"].get("annotations") or {}).get(HELM_OWNER) == release]
        return tuple(pods.workload(deployment, all_pods) for deployment in mine)

    async def _bare(self, resource: Resource, plan: RunPlan) -> tuple[Workload, ...]:
        target = plan.spec.target
        if target.selector is None:
            return ()
        namespace = target.namespace or resource.namespace
        return (pods.bare_workload(await self._kube.list("pods", namespace, target.selector.match_labels), "selector"),)

    # -- the Lease ----------------------------------------------------------------------------------------------

    async def _lease(self, resource: Resource, plan: RunPlan) -> Lease:
        namespace, name = manifests.lease_place(plan.spec, self._settings.namespace)
        body = await self._kube.get("leases", namespace, name)
        spec = (body or {}).get("spec") or {}
        holder = spec.get("holderIdentity") or None
        if holder is None:
            return Lease()
        renewed = pods.timestamp(spec.get("renewTime"))
        if holder.startswith(f"{resource.owner}/{resource.uid}/"):
            return Lease(holder=holder, renewed_at=renewed, seconds=self._settings.lease_seconds)
        return await self._other_holder(holder, renewed, namespace)

    async def _other_holder(self, holder: str, renewed: datetime | None, namespace: str) -> Lease:
        """Another run holds the Lease: is its LoadTest still there, and did it leave a changed release behind?"""
        owner_namespace, name, uid, run = (*holder.split("/"), "", "", "", "")[:4]
        body = await self._kube.get(names.PLURAL, owner_namespace, name) if name else None
        exists = body is not None and body["metadata"]["uid"] == uid
        state = None if exists or not run else await self._kube.get("configmaps", namespace, names.state(run))
        done = outcomes((state or {}).get("data") or {})
        restored = any(outcome.ok for key, outcome in done.items() if key.startswith(names.DEAD_MAN))
        left = state is not None and not restored
        return Lease(holder=holder, renewed_at=renewed, holder_exists=exists, holder_left_state=left)

    async def acquire(self, resource: Resource, plan: RunPlan, seen: Target) -> None:
        """Create, renew or take over the Lease; whoever was faster keeps it."""
        namespace, name = manifests.lease_place(plan.spec, self._settings.namespace)
        me = f"{resource.owner}/{resource.uid}/{plan.run}"
        now = self._kube.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": me, "leaseDurationSeconds": self._settings.lease_seconds, "renewTime": now}
        body = await self._kube.get("leases", namespace, name)
        if body is None:
            meta = {"name": name, "namespace": namespace, "labels": names.labels(plan.run, resource.uid)}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
            await self._create("leases", namespace, lease | {"spec": spec | {"acquireTime": now}})
            return
        if (body.get("spec") or {}).get("holderIdentity") not in {me, seen.lease.holder, None, ""}:
            raise Outdated("another run has taken the Lease meanwhile")
        body["spec"] = (body.get("spec") or {}) | spec
        body["metadata"]["labels"] = names.labels(plan.run, resource.uid)
        await self._kube.replace("leases", namespace, name, body)

    async def release(self, resource: Resource, plan: RunPlan) -> None:
        """Delete the Lease if it is ours."""
        namespace, name = manifests.lease_place(plan.spec, self._settings.namespace)
        body = await self._kube.get("leases", namespace, name)
        me = f"{resource.owner}/{resource.uid}/{plan.run}"
        if body is not None and (body.get("spec") or {}).get("holderIdentity") in {me, names.dead_man_holder(me)}:
            await self._kube.delete("leases", namespace, name, uid=body["metadata"]["uid"])

    # -- helm ---------------------------------------------------------------------------------------------------

    async def prepare(self, resource: Resource, plan: RunPlan) -> None:
        """Create the state ConfigMap and, owned by it, the request."""
        namespace = self._namespace(plan)
        await self._create("configmaps", namespace, manifests.state_config_map(resource, plan, namespace))
        await self._create("configmaps", namespace, manifests.helm_request(resource, plan, await self._state(plan)))

    async def helm(self, resource: Resource, plan: RunPlan, op: str, key: str, variant: str) -> None:
        """Create the Job of that key, once."""
        settings = self._settings
        state = await self._state(plan)
        # An operator that died within `prepare` has left the state without the request, and the Job could not start.
        await self._create("configmaps", self._namespace(plan), manifests.helm_request(resource, plan, state))
        job = manifests.helm_job(
            resource,
            plan,
            op,
            key,
            variant,
            state=state,
            image=settings.operator_image,
            pull_policy=settings.image_pull_policy,
            account=settings.helm_service_account,
            lease_seconds=settings.lease_seconds,
        )
        await self._create("jobs", self._namespace(plan), job)

    async def dismiss(self, plan: RunPlan, key: str) -> None:
        """Delete a Job, and its pod."""
        await self._kube.delete("jobs", self._namespace(plan), names.helm_job(plan.run, key))

    async def clean(self, plan: RunPlan) -> None:
        """Delete the Jobs and the state ConfigMap; the garbage collector follows its owner references."""
        namespace = self._namespace(plan)
        jobs = await self._kube.list("jobs", namespace, {names.LABEL_RUN: plan.run})
        await self._kube.delete_all("jobs", namespace, [job["metadata"]["name"] for job in jobs])
        if not jobs:
            await self._kube.delete("configmaps", namespace, names.helm_request(plan.run))
            await self._kube.delete("configmaps", namespace, names.state(plan.run))

    async def _state(self, plan: RunPlan) -> dict[str, Any]:
        body = await self._kube.get("configmaps", self._namespace(plan), names.state(plan.run))
        if body is None:
            raise Outdated("the state ConfigMap is gone")
        return body

    async def _create(self, kind: str, namespace: str, body: dict[str, Any]) -> None:
        """Create an object in the target's namespace, telling lasting refusals apart."""
        try:
            await self._kube.create(kind, namespace, body)
        except Missing as error:
            raise Refused(
                "TargetGone", f"namespace {namespace} does not exist: correct spec.target.release.namespace"
            ) from error
        except Rejected as error:
            raise Refused("OperatorError", str(error)) from error
        except Unavailable as error:
            if error.forbidden:
                hint = f"install charts/loadtest-target in namespace {namespace}, which grants it"
                raise Refused("Forbidden", f"{error}: {hint}") from error
            raise

    @staticmethod
    def _namespace(plan: RunPlan) -> str:
        release = plan.spec.target.release
        if release is None:
            raise ValueError("a run without a release has nothing beside its target")
        return release.namespace


def outcomes(data: dict[str, str]) -> dict[str, Outcome]:
    """The outcomes that helm Jobs wrote, by key; text that is no outcome is left out."""
    found = {}
    for key, text in data.items():
        try:
            entry = json.loads(text)
            release = entry.get("release") or {}
            found[key] = Outcome(
                key=key,
                op=str(entry["op"]),
                ok=entry["outcome"] == "ok",
                reason=str(entry.get("reason", "")),
                message=str(entry.get("message", "")),
                changed=bool(entry.get("changed")),
                revision=int(release["revision"]) if "revision" in release else None,
                values_sha256=str(release.get("valuesSha256", "")),
                manifest_sha256=str(release.get("manifestSha256", "")),
                chart=str(release.get("chart", "")),
                unsupported=tuple(f"{u['setting']} (values path {u['path']})" for u in entry.get("unsupported") or ()),
                finished_at=pods.timestamp(entry.get("finishedAt")),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found
