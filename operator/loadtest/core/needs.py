"""How many pods and cores a plan's injectors need, from what a machine was measured to make. Pure."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from loadtest.core.expand import RunPlan, StagePlan

FULL_PERCENT = 70
"""A worker above this share of a core in a 10 s mean leaves a note; above 90 % its stage is invalid."""

REQUESTS_PER_WAIT = Fraction(2)
"""Assumed of a requests file that was not looked into: a page, its form, and one wait for both."""


@dataclass(frozen=True)
class Calibration:
    """Requests that one second of a worker's CPU makes, and where that was found."""

    requests_per_cpu_second: int
    source: str

    def to_json(self) -> dict[str, Any]:
        """The form of the file."""
        return {"requestsPerCpuSecond": self.requests_per_cpu_second, "source": self.source}

    @classmethod
    def from_json(cls, body: Any) -> Calibration:
        """Read what `to_json` wrote; ValueError where it is nothing of the kind."""
        try:
            rate, source = body["requestsPerCpuSecond"], body["source"]
        except (KeyError, TypeError) as error:
            raise ValueError("a calibration has requestsPerCpuSecond and source") from error
        if type(rate) is not int or rate < 1 or not isinstance(source, str):
            raise ValueError("requestsPerCpuSecond must be a whole number above 0, and source a text")
        return cls(rate, source)


BUILT_IN = Calibration(7_000, "built-in, for requests files; `loadtest calibrate` measures this machine")
"""What a core of a cloud's ordinary machine makes of a requests file with waits, with something to spare."""


@dataclass(frozen=True)
class Needs:
    """What the largest stage needs. What cannot be known beforehand is None.

    Attributes:
        worker_pods: pods of workers; the master is one more.
        requests_per_second: the most that the users could send, were answers to take no time.
        cores_millis: CPU of all workers at that rate, each at `FULL_PERCENT` of its own, in thousandths of a core.
        worker_cpu_percent: how much of a core the fullest worker takes at that rate.
        most_injectors_per_pod: so many injectors fit one worker at `FULL_PERCENT` of a core; 0: not even one does.
        calibration: what this follows from.
    """

    worker_pods: int
    requests_per_second: int | None
    cores_millis: int | None
    worker_cpu_percent: int | None
    most_injectors_per_pod: int | None
    calibration: Calibration

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, without what is not known."""
        words = {key: value for key, value in asdict(self).items() if value is not None and key != "calibration"}
        camel = {
            "".join([first, *map(str.title, rest)]): words[key] for key in words for first, *rest in [key.split("_")]
        }
        return {**camel, "calibration": self.calibration.to_json()}


def needs(plan: RunPlan, calibration: Calibration = BUILT_IN, requests_per_wait: Fraction = REQUESTS_PER_WAIT) -> Needs:
    """What the plan's largest stage needs.

    `requests_per_wait` is the requests file's number of requests divided by its number of waits (its GETs). The rate of
    closed load is users x requests_per_wait / mean wait: an upper bound, reached where answers take no time. It is
    not known without waits, where the target alone sets it, nor for a locustfile, which waits as it likes.
    """
    stage = max(plan.stages, key=lambda stage: stage.injectors)
    rate = _rate(plan, stage, requests_per_wait)
    if rate is None:
        return Needs(stage.workers, None, None, None, None, calibration)
    cpu = rate / calibration.requests_per_cpu_second
    full = Fraction(FULL_PERCENT, 100)
    fullest = Fraction(math.ceil(Fraction(stage.injectors, stage.workers)), stage.injectors)
    return Needs(
        worker_pods=stage.workers,
        requests_per_second=math.ceil(rate),
        cores_millis=math.ceil(cpu / full * 1000),
        worker_cpu_percent=math.ceil(cpu * fullest * 100),
        most_injectors_per_pod=math.floor(full * stage.injectors / cpu),
        calibration=calibration,
    )


def _rate(plan: RunPlan, stage: StagePlan, requests_per_wait: Fraction) -> Fraction | None:
    """Requests per second of all injectors."""
    if stage.rate is not None:
        return Fraction(stage.rate)
    wait = plan.spec.load.wait_time
    mean = Fraction(wait.min.millis + wait.max.millis, 2_000)
    if plan.spec.scenario.requests is None or not mean:
        return None
    return stage.users * requests_per_wait / mean
