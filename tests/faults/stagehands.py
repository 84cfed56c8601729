"""What a bare API server lacks: helm Jobs that are done, pods that run, and a Locust master that answers.

Simulated: the Job controller and helm (an outcome in the state ConfigMap; the release is kept here), the kubelet (pods
run as soon as they are seen), and Locust (every stage is over at the second look). There is no garbage collector, and
there are no Deployments. Real are the API server, with its rules for objects, versions and conflicts, and the
operator's adapters and loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from loadtest.adapters.kube import Kube
from loadtest.api import names
from loadtest.core.observed import Master, StageProgress
from loadtest.ports import Unavailable
from tests.unit.reconcile.world import record

Json = dict[str, Any]
ORIGINAL = "original"


class Stagehands:
    """They work on one namespace, past the proxy.

    Attributes:
        changes: what was done to each release, by its name.
    """

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace
        self.live: dict[str, str] = {}
        self.changes: dict[str, list[str]] = {}

    async def work(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(Unavailable):  # a slow server: the next look may do
                jobs, pods = await asyncio.gather(
                    self._kube.list("jobs", self._namespace), self._kube.list("pods", self._namespace)
                )
                # What is gone, or changed, meanwhile fails alone, and is looked at again.
                await asyncio.gather(*map(self._job, jobs), *map(self._pod, pods), return_exceptions=True)
            await asyncio.sleep(0.05)

    async def _job(self, job: Json) -> None:
        meta, status = job["metadata"], job.get("status") or {}
        if status.get("conditions") or status.get("ready"):
            return
        labels = meta["labels"]
        run, key = labels[names.LABEL_RUN], labels[names.LABEL_KEY]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if key.startswith(names.DEAD_MAN):
            done: Json = {"startTime": now, "active": 1, "ready": 1}
        else:
            command = job["spec"]["template"]["spec"]["containers"][0]["command"]
            outcome = await self._helm(run, command)
            text = json.dumps(outcome | {"finishedAt": now})
            await self._kube.patch("configmaps", self._namespace, names.state(run), {"data": {key: text}})
            conditions = [
                {"type": word, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}
                for word in ("SuccessCriteriaMet", "Complete")
            ]
            done = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions}
        await self._kube.patch("jobs", self._namespace, meta["name"], {"status": done}, status=True)

    async def _helm(self, run: str, command: list[str]) -> Json:
        """What the Job does, and says: as `helm_job` does, it compares first."""
        request = await self._kube.get("configmaps", self._namespace, names.helm_request(run))
        release = json.loads((request or {})["data"]["request.json"])["release"]
        operation = command[2]
        wanted = command[command.index("--variant") + 1] if "--variant" in command else ORIGINAL
        changed = operation != "snapshot" and self.live.get(release, ORIGINAL) != wanted
        if changed:
            self.live[release] = wanted
            self.changes.setdefault(release, []).append(wanted)
        revision = 1 + len(self.changes.get(release, []))
        told = {"revision": revision, "valuesSha256": "v", "manifestSha256": "m", "chart": "runner-1.0.0"}
        return {"op": operation, "outcome": "ok", "changed": changed, "release": told}

    async def _pod(self, pod: Json) -> None:
        if (pod.get("status") or {}).get("phase") != "Pending":
            return
        name = pod["metadata"]["name"]
        container = pod["spec"]["containers"][0]["name"]
        state = {"running": {"startedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}}
        statuses = [{"name": container, "ready": True, "restartCount": 0, "image": "x", "imageID": "x", "state": state}]
        status = {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
            "containerStatuses": statuses,
        }
        await self._kube.patch("pods", self._namespace, name, {"status": status}, status=True)


class Masters:
    """In place of `LocustMasters`: the Locust master of one run."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace
        self.orders: dict[tuple[int, int, int], tuple[Json, int]] = {}

    async def status(self, ip: str, run: str) -> Master:
        """Who has joined, and the stages: over at the second look."""
        selector = {names.LABEL_RUN: run, names.LABEL_ROLE: names.ROLE_WORKER}
        workers = await self._kube.list("pods", self._namespace, selector)
        stages = {}
        for key, (order, looks) in self.orders.items():
            self.orders[key] = order, looks + 1
            state = "complete" if looks > 1 else "window"
            seconds = float(order["durationSeconds"])
            stages[key[1:]] = StageProgress(*key[1:], state, order["users"], seconds, seconds)
        return Master(tuple(pod["metadata"]["name"] for pod in workers), stages)

    async def start(self, ip: str, run: str, position: int, stage: int, attempt: int, order: Mapping[str, Any]) -> None:
        """The same order twice is one order."""
        self.orders.setdefault((position, stage, attempt), (dict(order), 0))

    async def record(self, ip: str, run: str, position: int, stage: int, attempt: int) -> Json:
        """A small record."""
        if (position, stage, attempt) not in self.orders:
            raise Unavailable("no such stage")
        return record(run, position, stage, attempt, self.orders[position, stage, attempt][0], None)
