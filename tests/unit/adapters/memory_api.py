"""A Kubernetes API server in memory, on loopback: enough of its rules for the adapters, and failures on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

from loadtest.adapters.kube import Kube

Json = dict[str, Any]


class MemoryApi:
    """Objects by (plural, namespace, name).

    Attributes:
        failures: (method, plural) -> HTTP status and body to answer with instead.
        requests: method, path with query, and body of every request.
        delay: seconds before each answer.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}
        self.failures: dict[tuple[str, str], tuple[int, str]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.content_types: list[str] = []
        self.delay = 0.0
        self._version = 0

    def of(self, plural: str) -> dict[str, Json]:
        """The objects of a kind by name."""
        return {name: body for (kind, _, name), body in self.objects.items() if kind == plural}

    def put(self, plural: str, namespace: str, name: str, **body: Any) -> Json:
        """Put an object there, as somebody else would."""
        self._version += 1
        meta = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"} | body.get("metadata", {})
        made = body | {"metadata": meta | {"resourceVersion": str(self._version)}}
        self.objects[plural, namespace, name] = made
        return made

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.path_qs, body))
        self.content_types.append(request.content_type)
        await asyncio.sleep(self.delay)
        plural, namespace, name = _parts(request.path)
        if failure := self.failures.get((request.method, plural)):
            return web.Response(status=failure[0], text=failure[1])
        where = (plural, namespace, name or (body or {}).get("metadata", {}).get("name", ""))
        if request.method == "GET" and not name:
            return self._list(plural, namespace, request.query.get("labelSelector", ""))
        if request.method == "POST":
            if where in self.objects:
                return _status(409, f'{plural} "{where[2]}" already exists')
            return web.json_response(self.put(plural, namespace, where[2], **(body or {})), status=201)
        found = self.objects.get(where)
        if found is None:
            return _status(404, f'{plural} "{where[2]}" not found')
        return self._change(request.method, where, found, body)

    def _list(self, plural: str, namespace: str, selector: str) -> web.Response:
        wanted = dict(entry.split("=") for entry in selector.split(",") if entry)
        items = [
            body
            for (kind, where, _), body in self.objects.items()
            if kind == plural
            and namespace in {where, ""}
            and wanted.items() <= (body["metadata"].get("labels") or {}).items()
        ]
        return web.json_response({"items": items})

    def _change(self, method: str, where: tuple[str, str, str], found: Json, body: Json | None) -> web.Response:
        meta = (body or {}).get("metadata", {})
        if meta.get("resourceVersion", found["metadata"]["resourceVersion"]) != found["metadata"]["resourceVersion"]:
            return _status(409, "the object has been modified")
        match method:
            case "PUT":
                return web.json_response(self.put(*where, **(body or {})))
            case "PATCH":
                return web.json_response(self.put(*where, **merge_patch(found, body or {})))
            case "DELETE":
                uid = (body or {}).get("preconditions", {}).get("uid")
                if uid is not None and uid != found["metadata"]["uid"]:
                    return _status(409, "the UID in the precondition does not match")
                del self.objects[where]
        return web.json_response(found)


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _parts(path: str) -> tuple[str, str, str]:
    """Plural, namespace and name of a path; its version is not looked at."""
    words = path.strip("/").split("/")
    words = words[2:] if words[0] == "api" else words[3:]
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    return words[0], namespace, words[1] if len(words) > 1 else ""


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code)


def kube_to(url: str) -> Kube:
    return Kube(client.ApiClient(client.Configuration(host=url.rstrip("/"))))


@asynccontextmanager
async def memory_api() -> AsyncIterator[tuple[MemoryApi, Kube]]:
    """A running server and a connection to it."""
    api = MemoryApi()
    app = web.Application(client_max_size=4 * 1024**2)
    app.router.add_route("*", "/{path:.*}", api.answer)
    async with TestServer(app) as server:
        kube = kube_to(str(server.make_url("")))
        try:
            yield api, kube
        finally:
            await kube.close()
