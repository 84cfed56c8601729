"""The Secrets and the ConfigMap that the Job reads and writes by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from loadtest.adapters.helm_job import release as releases
from loadtest.adapters.helm_job import snapshot as snapshots
from loadtest.adapters.helm_job.errors import JobError, Reason
from loadtest.adapters.helm_job.kube import NAMES_ONLY, Api, ApiError, core
from loadtest.adapters.helm_job.release import Release
from loadtest.adapters.helm_job.request import Request
from loadtest.adapters.helm_job.snapshot import Snapshot


class Store:
    """What the API server holds for one request."""

    def __init__(self, api: Api, request: Request) -> None:
        self._api = api
        self._request = request
        self._namespace = request.namespace

    def latest(self) -> Release | None:
        """The newest revision of the release, whatever its status."""
        query = f"?labelSelector=owner%3Dhelm,name%3D{self._request.release}"
        for _ in range(3):
            found = self._api.get(core(self._namespace, "secrets") + query, accept=NAMES_ONLY) or {}
            revisions = [int(each["metadata"]["labels"]["version"]) for each in found.get("items") or []]
            if not revisions:
                return None
            newest = self.stored(max(revisions))
            if newest:
                return newest
        return None

    def stored(self, revision: int) -> Release | None:
        """One revision; None if helm no longer keeps it.

        Raises:
            JobError: what is stored cannot be read.
        """
        name = releases.secret_name(self._request.release, revision)
        secret = self._api.get(core(self._namespace, "secrets", name))
        try:
            return None if secret is None else releases.from_secret(secret)
        except ValueError as error:
            raise JobError(Reason.CHART_NOT_REBUILDABLE, f"Secret {name}: {error}") from error

    def put_back(self, original: Release) -> None:
        """Puts a revision that helm has pruned from its history back there, as an old one."""
        body = releases.to_secret(original, self._namespace, releases.SUPERSEDED)
        self._api.create(core(self._namespace, "secrets"), body)

    def snapshot(self) -> Snapshot | None:
        """The run's snapshot; None if there is none yet.

        Raises:
            JobError: it is there and cannot be read.
        """
        secret = self._api.get(core(self._namespace, "secrets", self._request.snapshot))
        try:
            return None if secret is None else snapshots.from_secret(secret)
        except ValueError as error:
            raise JobError(Reason.SNAPSHOT_MISSING, f"Secret {self._request.snapshot}: {error}") from error

    def keep(self, original: Release) -> Snapshot:
        """Makes the run's snapshot, unless there is one; answers the one that counts."""
        state = self._api.get(core(self._namespace, "configmaps", self._request.state))
        if state is None:
            raise JobError(
                Reason.SNAPSHOT_MISSING, f"ConfigMap {self._request.state}, which owns the snapshot, is gone"
            )
        self._api.create(core(self._namespace, "secrets"), snapshots.to_secret(original, self._request, state))
        kept = self.snapshot()
        if kept is None:
            raise JobError(Reason.SNAPSHOT_MISSING, f"Secret {self._request.snapshot} vanished when it had been made")
        return kept

    def lease_holder(self) -> str:
        """Who holds the Lease of the release; empty where nobody does."""
        where = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/{self._request.lease}"
        return ((self._api.get(where) or {}).get("spec") or {}).get("holderIdentity") or ""

    def live_object(self, path: str) -> Any:
        """Any object, None if it is not there or may not be read."""
        try:
            return self._api.get(path)
        except ApiError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                return None
            raise

    def report(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Writes an outcome into the state ConfigMap."""
        body = {"data": {key: json.dumps(outcome, sort_keys=True)}}
        self._api.merge_patch(core(self._namespace, "configmaps", self._request.state), body)
