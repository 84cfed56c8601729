"""The control port of a Locust master: HTTP with JSON, one bearer token per run."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import aiohttp

from loadtest.core.injector_pods import CONTROL_PORT
from loadtest.core.observed import Master, Problem, StageProgress
from loadtest.ports import Refused, Unavailable

TIMEOUT = aiohttp.ClientTimeout(total=5, connect=2)
RECORD_TIMEOUT = aiohttp.ClientTimeout(total=120, connect=2)


def token(key: bytes, run: str) -> str:
    """The token of a run's control ports: derived, so that no restart loses it and no Secret has to be read."""
    return hmac.new(key, run.encode(), hashlib.sha256).hexdigest()


def token_sha256(key: bytes, run: str) -> str:
    """What the master is given to check the token with."""
    return hashlib.sha256(token(key, run).encode()).hexdigest()


class LocustMasters:
    """Requests to masters, over one HTTP session. `port` is their control port; that of our pods if left out."""

    def __init__(self, token_key: bytes, port: int | None = None) -> None:
        self._key, self._port = token_key, port
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    async def status(self, ip: str, run: str) -> Master:
        """Who is connected, and how far the stages are."""
        answer = await self._request("GET", ip, run, "/v1/status")
        try:
            return Master(
                workers=tuple(worker["name"] for worker in answer["workers"]),
                stages={
                    (progress["stage"], progress["attempt"]): stage_progress(progress)
                    for progress in answer["stages"].values()
                },
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise Unavailable(f"the status of the Locust master at {ip}: {type(error).__name__}: {error}") from error

    async def start(self, ip: str, run: str, position: int, stage: int, attempt: int, order: Mapping[str, Any]) -> None:
        """Order a stage. The same order twice is one order."""
        await self._request("PUT", ip, run, f"/v1/stages/{position}/{stage}/{attempt}", dict(order))

    async def record(self, ip: str, run: str, position: int, stage: int, attempt: int) -> dict[str, Any]:
        """The record of a stage that is over."""
        where = f"/v1/stages/{position}/{stage}/{attempt}/record"
        return await self._request("GET", ip, run, where, limit=RECORD_TIMEOUT)

    async def _request(
        self,
        method: str,
        ip: str,
        run: str,
        path: str,
        body: dict[str, Any] | None = None,
        limit: aiohttp.ClientTimeout = TIMEOUT,
    ) -> dict[str, Any]:
        if self._session is None:
            # Proxies of the environment are for the outside world; pods are reached directly.
            self._session = aiohttp.ClientSession(trust_env=False)
        headers = {"Authorization": f"Bearer {token(self._key, run)}"}
        host = f"[{ip}]" if ":" in ip else ip
        url = f"http://{host}:{self._port or CONTROL_PORT}{path}"
        try:
            async with self._session.request(method, url, json=body, headers=headers, timeout=limit) as response:
                answer = await response.json()
            if not isinstance(answer, dict):
                raise ValueError(f"not an object: {answer!r:.100}")  # noqa: TRY004, TRY301 - as text that is no JSON
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise Unavailable(f"the Locust master at {ip}: {type(error).__name__}: {error}") from error
        if response.status in {400, 401}:
            raise Refused("OperatorError", f"the Locust master refuses {method} {path}: {answer.get('error')}")
        if response.status >= 400:  # noqa: PLR2004 - the first HTTP error
            raise Unavailable(f"the Locust master answers {response.status} to {method} {path}: {answer.get('error')}")
        return answer


def stage_progress(body: Mapping[str, Any]) -> StageProgress:
    """The master's JSON of one stage."""
    return StageProgress(
        stage=body["stage"],
        attempt=body["attempt"],
        state=body["state"],
        users=body.get("users") or 0,
        elapsed_seconds=body.get("elapsedSeconds") or 0.0,
        duration_seconds=body.get("durationSeconds") or 0.0,
        requests=body.get("requests") or 0,
        failures=body.get("failures") or 0,
        requests_per_second=round(body.get("requestsPerSecond") or 0),
        p99_micros=body.get("p99Micros"),
        problems=tuple(Problem(p["reason"], p["message"]) for p in body.get("problems") or ()),
    )
