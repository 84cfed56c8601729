"""A proxy in front of a real API server that spoils one answer."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.cluster.pki import Pair

STATUSES = (409, 410, 422, 429, 500, 403)
HOWS = (*map(str, STATUSES), "cut-before", "cut-after", "stall", "delay")
"""A status instead of an answer (nothing is forwarded); the connection cut before or after the request took effect; no
answer at all; a late answer."""

DELAY_SECONDS = 0.3


@dataclass
class Proxy:
    """Forwards everything, and spoils the answer to the `nth` request that matches `method` and `path`.

    Attributes:
        requests: how many requests came.
        writes: how many of them were not reads.
    """

    upstream: str
    session: aiohttp.ClientSession
    method: str
    path: str
    how: str
    nth: int = 1
    seen: int = 0
    requests: int = 0
    writes: int = 0
    held: list[asyncio.Event] = field(default_factory=list)

    @property
    def happened(self) -> bool:
        """Whether the answer was spoiled."""
        return self.seen >= self.nth

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        body = await request.read()
        self.requests += 1
        self.writes += request.method != "GET"
        if request.method == self.method and re.fullmatch(self.path, request.path):
            self.seen += 1
            if self.seen == self.nth:
                return await self._spoiled(request, body)
        return await self._forward(request, body)

    async def _spoiled(self, request: web.Request, body: bytes) -> web.StreamResponse:
        if self.how.isdigit():
            message = {"kind": "Status", "message": f"spoiled by the test: {self.how}", "code": int(self.how)}
            return web.Response(status=int(self.how), text=json.dumps(message), content_type="application/json")
        if self.how == "delay":
            await asyncio.sleep(DELAY_SECONDS)
            return await self._forward(request, body)
        if self.how in {"cut-after", "stall"}:
            await self._forward(request, body)
        if self.how == "stall":
            released = asyncio.Event()
            self.held.append(released)
            await released.wait()
        if request.transport is not None:
            request.transport.close()
        return web.Response()

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        keep = {name: value for name, value in request.headers.items() if name in {"Content-Type", "Accept"}}
        url = self.upstream + request.path_qs
        async with self.session.request(request.method, url, data=body or None, headers=keep) as answer:
            return web.Response(
                status=answer.status,
                body=await answer.read(),
                content_type=answer.content_type,
                headers={"Date": answer.headers.get("Date", "")},
            )


@asynccontextmanager
async def session_to(authority: str, administrator: Pair) -> AsyncIterator[aiohttp.ClientSession]:
    """Connections to an API server as its administrator."""
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(administrator.certificate, administrator.key)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context), auto_decompress=True) as session:
        yield session


@asynccontextmanager
async def serving(proxy: Proxy) -> AsyncIterator[str]:
    """The proxy on a free port of loopback; its URL."""
    app = web.Application(client_max_size=4 * 1024**2)
    app.router.add_route("*", "/{path:.*}", proxy.answer)
    async with TestServer(app) as server:
        try:
            yield str(server.make_url("")).rstrip("/")
        finally:
            for released in proxy.held:
                released.set()
