"""The Kubernetes API as JSON in, JSON out, over the official asynchronous client.

Models of the client are not used: what we read is parsed by the pure functions of `core.pods`, and an object that we
write is the dict that a person would write as YAML.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
from kubernetes.aio import client, config

from loadtest.ports import Outdated, Unavailable

Json = dict[str, Any]

APIS = {
    "loadtests": "apis/loadtest.eqrunner.dev/v1alpha1",
    "pods": "api/v1",
    "configmaps": "api/v1",
    "events": "api/v1",
    "namespaces": "api/v1",
    "jobs": "apis/batch/v1",
    "deployments": "apis/apps/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
}
"""Every kind that the operator touches, by plural name. RBAC in the charts grants these and no more."""

TIMEOUT_SECONDS = 15
CLOCK_TOLERANCE = timedelta(seconds=2)
"""The header has whole seconds, and answers take their time: smaller differences are no news."""
MERGE_PATCH = "application/merge-patch+json"


class Conflict(Exception):  # noqa: N818 - named for the fact
    """The object exists already, or changed since it was read (HTTP 409)."""


class Missing(Exception):  # noqa: N818 - named for the fact
    """There is no such object, or no such namespace (HTTP 404)."""


class Rejected(Exception):  # noqa: N818 - named for the fact
    """The API server finds the object itself wrong (HTTP 400, 422): trying again is no use."""


class ServerClock:
    """The time by the API server's clock, as its answers tell it, and by our monotonic clock between two answers.

    Times of objects are compared with it: they are the API server's. Our own wall clock may be wrong, or jump.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._known, self._at = wall(), monotonic()

    def now(self) -> datetime:
        """The time now; by our own wall clock until the first answer."""
        return self._known + timedelta(seconds=self._monotonic() - self._at)

    def heard(self, date: str | None) -> None:
        """Take notice of an answer's header `Date`; one that is missing or cannot be read says nothing."""
        try:
            told = parsedate_to_datetime(date or "")
        except ValueError:
            return
        if told.tzinfo is not None and abs(told - self.now()) > CLOCK_TOLERANCE:
            self._known, self._at = told, self._monotonic()


class Kube:
    """A connection to one API server. Make it with `connect`, end it with `close`."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self.requests: Counter[str] = Counter()
        """Requests sent so far, by HTTP method."""
        self.clock = ServerClock()

    @classmethod
    async def connect(cls, context: str | None = None) -> Kube:
        """In-cluster where a service account is mounted and no context is named, else by kubeconfig."""
        configuration = client.Configuration()
        if context or not _in_cluster(configuration):
            await config.load_kube_config(context=context, client_configuration=configuration)  # type: ignore[no-untyped-call]
        return cls(client.ApiClient(configuration))

    async def close(self) -> None:
        """Close the connections."""
        await self._api.close()  # type: ignore[no-untyped-call]

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "application/json"
    ) -> Json:
        """One request; the answer's JSON.

        Raises:
            Conflict, Missing, Rejected: the API server's definite answers.
            Unavailable: no answer, a refusal for want of rights, or an error of the server.
        """
        self.requests[method] += 1
        headers = {"Accept": "application/json", "Content-Type": content_type}
        what = f"{method} {path.partition('?')[0]}"
        try:
            serialized = await self._api.param_serialize(
                method, "/" + path, header_params=headers, auth_settings=["BearerToken"]
            )
            url, sent = serialized[1], serialized[2]
            answer = await self._api.call_api(method, url, sent, body=body, _request_timeout=TIMEOUT_SECONDS)
            data: bytes = await answer.read()  # type: ignore[no-untyped-call]
            self.clock.heard(answer.headers.get("Date"))
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"{what}: {type(error).__name__}: {error}") from error
        if answer.status >= 400:  # noqa: PLR2004 - the first HTTP error
            raise _error(answer.status, what, data)
        return json.loads(data) if data else {}

    async def get(self, kind: str, namespace: str, name: str) -> Json | None:
        """One object, None where there is none."""
        try:
            return await self.request("GET", path(kind, namespace, name))
        except Missing:
            return None

    async def list(self, kind: str, namespace: str, labels: Mapping[str, str] | None = None) -> list[Json]:
        """The objects of a namespace that carry `labels`. A missing namespace has none."""
        query = {"labelSelector": ",".join(f"{k}={v}" for k, v in labels.items())} if labels else {}
        try:
            answer = await self.request("GET", path(kind, namespace) + (f"?{urlencode(query)}" if query else ""))
        except Missing:
            return []
        items: list[Json] = answer.get("items") or []
        return items

    async def create(self, kind: str, namespace: str, body: Json) -> bool:
        """Create an object. False where one of that name is there already."""
        try:
            await self.request("POST", path(kind, namespace), body)
        except Conflict:
            return False
        return True

    async def replace(self, kind: str, namespace: str, name: str, body: Json) -> Json:
        """Replace an object; with a resourceVersion in it, only that version (Outdated otherwise)."""
        try:
            return await self.request("PUT", path(kind, namespace, name), body)
        except Conflict as error:
            raise Outdated(str(error)) from error

    async def patch(self, kind: str, namespace: str, name: str, body: Json, *, status: bool = False) -> Json:
        """Merge-patch an object or its status; with a resourceVersion in it, only that version (Outdated otherwise)."""
        where = path(kind, namespace, name) + ("/status" if status else "")
        try:
            return await self.request("PATCH", where, body, content_type=MERGE_PATCH)
        except Conflict as error:
            raise Outdated(str(error)) from error

    async def delete(
        self, kind: str, namespace: str, name: str, *, grace: int | None = None, uid: str | None = None
    ) -> None:
        """Delete an object and, in the background, what it owns. A missing one is fine."""
        options: Json = {"propagationPolicy": "Background"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        try:
            await self.request("DELETE", path(kind, namespace, name), options)
        except (Missing, Conflict):
            return

    async def delete_all(self, kind: str, namespace: str, names: Sequence[str], *, grace: int | None = None) -> None:
        """Delete several objects at once."""
        await asyncio.gather(*(self.delete(kind, namespace, name, grace=grace) for name in names))


def _in_cluster(configuration: client.Configuration) -> bool:
    """Whether a service account is mounted; if so, `configuration` is filled from it."""
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        return False
    return True


def path(kind: str, namespace: str | None, name: str | None = None) -> str:
    """URL path of an object or a collection. `kind` is a plural of `APIS`."""
    parts = [APIS[kind]]
    if namespace is not None:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(kind)
    if name is not None:
        parts.append(quote(name, safe=""))
    return "/".join(parts)


def _error(status: int, what: str, data: bytes) -> Exception:
    try:
        message = json.loads(data).get("message", "")
    except (ValueError, AttributeError):
        message = data[:200].decode(errors="replace")
    text = f"{what}: {message} (HTTP {status})"
    match status:
        case 404:
            return Missing(text)
        case 409:
            return Conflict(text)
        case 400 | 413 | 422:
            return Rejected(text)
        case 401 | 403:
            return Unavailable(text, forbidden=True)
        case _:
            return Unavailable(text)
