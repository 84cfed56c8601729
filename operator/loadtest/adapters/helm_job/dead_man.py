"""The dead-man Job: it watches the Lease of its run, and restores the release when nobody renews it any more.

Clocks are never compared: what counts is how long, on this Job's monotonic clock, the Lease has been seen unchanged.
Time in which the API server did not answer is not counted, for then the operator could not have renewed it either.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loadtest.adapters.helm_job.kube import Api, ApiError
from loadtest.adapters.helm_job.request import Request
from loadtest.api import names

LOOKS = 80
"""How often it looks within the time after which it acts: every 15 s of 20 minutes."""
_log = logging.getLogger("loadtest.helm_job")


class Silence:
    """For how long the Lease has been seen without a change.

    Args:
        most: seconds that count at most between two looks; more has passed where one of them was not answered.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._version: str | None = None
        self._seen: float | None = None
        self.seconds = 0.0

    def saw(self, version: str, now: float) -> float:
        """The silence so far, now that the Lease is seen in this `resourceVersion` (empty where it is gone)."""
        if self._seen is None or version != self._version:
            self.seconds = 0.0
        else:
            self.seconds += min(now - self._seen, self._most)
        self._version, self._seen = version, now
        return self.seconds


@dataclass(frozen=True)
class DeadMan:
    """The watch over one run's Lease.

    Attributes:
        limit: seconds of silence after which the operator is taken for dead.
    """

    api: Api
    request: Request
    limit: float
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def wait(self) -> bool:
        """Wait until the operator is dead and the Lease is taken; False where another run holds it."""
        pause = self.limit / LOOKS
        silence = Silence(2 * pause)
        mine = names.dead_man_holder(self.request.holder)
        while True:
            try:
                lease = self.api.get(self._path(self.request.lease))
                spec = (lease or {}).get("spec") or {}
                holder = spec.get("holderIdentity") or ""
                if holder == mine:  # taken before: the answer was lost, or this pod is made anew
                    return True
                if holder not in {"", self.request.holder}:
                    return False
                version = lease["metadata"]["resourceVersion"] if lease else ""
                if silence.saw(version, self.monotonic()) >= self.limit and self._take(lease, mine):
                    _log.warning("the Lease was not renewed for %.0f s: restoring the release", silence.seconds)
                    return True
            except ApiError as error:
                _log.info("the Lease could not be read or taken: %s", error)
            self.sleep(pause)

    def _take(self, lease: Mapping[str, Any] | None, mine: str) -> bool:
        """Sign the Lease in exactly the version that was seen; False where somebody was faster."""
        if lease is None:
            meta = {"name": self.request.lease, "namespace": self.request.namespace}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
            return self.api.create(self._path(), {**body, "spec": {"holderIdentity": mine}})
        return self.api.replace(
            self._path(self.request.lease), {**lease, "spec": {**lease["spec"], "holderIdentity": mine}}
        )

    def _path(self, name: str = "") -> str:
        where = f"/apis/coordination.k8s.io/v1/namespaces/{self.request.namespace}/leases"
        return f"{where}/{name}" if name else where
