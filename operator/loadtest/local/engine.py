"""The laptop engine put together: the file's documents, the ports on this machine, the operator's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from loadtest.adapters.injectors import KubeInjectors
from loadtest.adapters.loadtests import KubeLoadTests, parse
from loadtest.adapters.locust import LocustMasters
from loadtest.adapters.store import KubeStore
from loadtest.api import names
from loadtest.api.conditions import Reason
from loadtest.api.status import LoadTestStatus, PlanRef, initial_status
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Resource
from loadtest.local.api import LocalApi
from loadtest.local.documents import Documents, content
from loadtest.local.fit import CannotFit, fit
from loadtest.local.kubelet import ProcessKubelet
from loadtest.local.programs import free_port
from loadtest.local.served import Options, Served, check, served
from loadtest.local.target import LocalTargets
from loadtest.ports import Ref, Refused
from loadtest.reconcile.loop import Reconciler
from loadtest.reconcile.ports import Ports
from loadtest.settings import Settings

PROGRESS_SECONDS = 1.0
"""The status is shown, not sent: it may be written more often than in a cluster."""

PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets"}

Show = Callable[[LoadTestStatus], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """How it went, and the folder that holds all of it."""

    status: LoadTestStatus
    folder: Path


class FittingStore(KubeStore):
    """The cluster's store, whose frozen plan is the one that holds on this machine."""

    def __init__(self, api: LocalApi, target: Served, say: Say) -> None:
        super().__init__(api)
        self._target, self._say = target, say

    async def freeze(self, resource: Resource, plan: RunPlan) -> PlanRef:
        """Freeze the fitted plan; Refused where it cannot hold here."""
        try:
            fitted = fit(plan, self._target.url, self._target.redis)
        except CannotFit as error:
            raise Refused(Reason.SETTING_NOT_SUPPORTED, str(error)) from error
        for note in fitted.notes:
            self._say(note)
        return await super().freeze(resource, fitted.plan)


class Laptop:
    """One run on this machine.

    Args:
        documents: the LoadTest and what it refers to.
        options: what serves the target, and where results go.
        say: told what people should know and the status does not say.

    Raises:
        BadFile, sample.Missing: the file, or this machine, lacks something; nothing was started.
    """

    def __init__(self, documents: Documents, options: Options, say: Say) -> None:
        self._documents, self._say = documents, say
        body = _new(documents)
        resource = parse(body)
        if resource.spec is not None:  # else the loop says why
            check(resource.spec, documents, options)
        self.folder = options.results.resolve() / documents.name / resource.desired_run
        for name in ("logs", "pods", "work"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        control = free_port()
        self._kubelet = ProcessKubelet(self.folder, self._find, control, free_port())
        self._api = LocalApi(self.folder, self._kubelet)
        self._served = (
            served(resource.spec, documents, options, self.folder, self._give_secret) if resource.spec else Served()
        )
        if self._served.serving is not None:
            where = f"{self._served.what}, a process on this machine, at {self._served.url}"
            body["metadata"]["annotations"] = {
                **(body["metadata"].get("annotations") or {}),
                names.ANNOTATION_RAN_ON: where,
            }
        self._give_all(body)
        self._targets = LocalTargets(self._served.serving)
        settings = _settings(documents.namespace)
        self._masters = LocustMasters(settings.token_key, control)
        self._loadtests = KubeLoadTests(self._api)
        self._ref = Ref(documents.namespace, documents.name, body["metadata"]["uid"])
        ports = Ports(
            loadtests=self._loadtests,
            targets=self._targets,
            injectors=KubeInjectors(self._api, self._masters, settings),
            store=FittingStore(self._api, self._served, say),
            clock=self._api.clock,
        )
        self._loop = Reconciler(ports, progress_seconds=PROGRESS_SECONDS)

    async def run(self, abort: asyncio.Event, show: Show) -> Outcome:
        """Run to the end, or until `abort` is set: then stop the load, and keep what was measured."""
        for ignored in self._documents.ignored:
            self._say(f"not used on this machine: {ignored}")
        if self._served.serving is not None:
            self._say(f"the target is {self._served.what}, at {self._served.url}")
        try:
            return Outcome(await self._drive(abort, show), self.folder)
        except BaseException:
            self._cut()
            raise
        finally:
            await self._close()

    async def _drive(self, abort: asyncio.Event, show: Show) -> LoadTestStatus:
        while True:
            delay = await self._loop.step(self._ref)
            status = await self._status()
            show(status)
            if delay is None:
                return status
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await abort.wait()
            if abort.is_set():
                abort = asyncio.Event()
                self._targets.hurry()
                edit = {"spec": {"abort": True, "suspend": False}}
                await self._api.patch(names.PLURAL, self._ref.namespace, self._ref.name, edit)

    async def _status(self) -> LoadTestStatus:
        resource = await self._loadtests.read(self._ref)
        return resource.status if resource is not None else LoadTestStatus()

    def _cut(self) -> None:
        """Kill everything at once."""
        if self._served.serving is not None:
            self._served.serving.cut()
        if self._served.backends is not None:
            self._served.backends.cut()

    async def _close(self) -> None:
        """Whatever happened: nothing runs any more, and no key is left on the disk."""
        await self._targets.close()
        if self._served.serving is not None:
            await self._served.serving.stop()
        await self._kubelet.close()
        if self._served.backends is not None:
            await self._served.backends.stop()
        await self._masters.close()
        for name in ("pods", "work"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    # -- the objects --------------------------------------------------------------------------------------------

    def _give_all(self, loadtest: dict[str, Any]) -> None:
        for body in self._documents.others:
            content(body)  # says so now where it cannot be used
            namespace = body["metadata"].get("namespace") or self._documents.namespace
            self._api.add(PLURALS[body["kind"]], namespace, body)
        self._api.add(names.PLURAL, self._documents.namespace, loadtest)

    def _give_secret(self, name: str, texts: Mapping[str, str]) -> None:
        body = {"kind": "Secret", "metadata": {"name": name}, "stringData": dict(texts)}
        self._api.add("secrets", self._documents.namespace, body)

    def _find(self, plural: str, name: str) -> dict[str, Any] | None:
        return self._api.find(plural, self._documents.namespace, name)


def _new(documents: Documents) -> dict[str, Any]:
    """The LoadTest as a new object: with a uid, and so a run id, of its own."""
    meta = documents.loadtest["metadata"] | {
        "namespace": documents.namespace,
        "uid": str(uuid4()),
        "generation": 1,
        "resourceVersion": "0",
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": meta,
        "spec": documents.loadtest.get("spec") or {},
        "status": initial_status(),
    }


def _settings(namespace: str) -> Settings:
    """An operator's settings, for adapters that write them into pods: no image is pulled here."""
    return Settings(
        namespace=namespace,
        watch_namespaces=(),
        operator_image="local",
        injector_image="local",
        image_pull_policy="Never",
        token_key=secrets.token_bytes(32),
        health_port=0,
        json_logs=False,
        helm_service_account="",
    )
