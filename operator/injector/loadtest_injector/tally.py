"""What the master adds up of one attempt: the parts of all workers, each counted once.

Pure. A part bears its worker's id and a number that starts at 1. A part seen before is dropped and counted as a
duplicate; numbers never seen are gaps. With its final part a worker says what it counted itself, and `problems` tells
where that differs from what arrived.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from loadtest_injector.histogram import Histogram
from loadtest_injector.names import Names
from loadtest_injector.problems import (
    ARRIVALS_DROPPED,
    COUNT_MISMATCH,
    HISTOGRAM_PART_MISSING,
    NAMES_CAPPED,
    Problem,
)
from loadtest_injector.recorder import SEGMENT_NAMES

MAX_NAMES = 20_000
"""Different names of requests kept apart over all workers: more than a requests file can have."""


@dataclass
class Series:
    """Requests of one key: their histogram and the bytes of content of their answers."""

    histogram: Histogram = field(default_factory=Histogram)
    content_bytes: int = 0

    def add(self, histogram: Histogram, content_bytes: int) -> None:
        """Add requests of the same key."""
        self.histogram.merge(histogram)
        self.content_bytes += content_bytes


@dataclass
class WorkerTally:
    """What one worker sent."""

    name: str
    seen: set[int] = field(default_factory=set)
    duplicates: int = 0
    received: Counter[str] = field(default_factory=Counter)
    final: dict[str, Any] | None = None
    delays: Histogram | None = None
    """By how much later than intended each request of the window began; it comes with the final part."""
    open: dict[str, Any] | None = None
    """What the worker says of its arrivals, in open load (`Arrivals.facts`); it comes with the final part."""

    @property
    def gaps(self) -> int:
        """Parts that are known to have been sent and did not arrive."""
        last = self.final["parts"] if self.final is not None else max(self.seen, default=0)
        return int(last) - len(self.seen)


class Tally:
    """The sum of all parts of one attempt. `workers` are the names of the stage's workers by their id."""

    def __init__(self, workers: dict[str, str]) -> None:
        self.workers = {worker: WorkerTally(name) for worker, name in workers.items()}
        self.endpoints: dict[tuple[str, str, str], Series] = {}
        self.blocks: dict[tuple[int, str, str], Series] = {}
        self.warm_up: dict[tuple[str, str], Series] = {}
        self.failures: Counter[tuple[str, str, str, str]] = Counter()
        self.segments = {name: [0, 0] for name in SEGMENT_NAMES}
        self.successes = Histogram()
        self.counters: Counter[str] = Counter()
        self._names = Names(MAX_NAMES)

    def add(self, worker: str, part: dict[str, Any]) -> bool:
        """Add a part; False where it was dropped: of a stranger, or seen before."""
        sender = self.workers.get(worker)
        if sender is None:
            return False
        if part["seq"] in sender.seen:
            sender.duplicates += 1
            return False
        sender.seen.add(part["seq"])
        for block, told_method, told_name, outcome, content_bytes, document in part["cells"]:
            histogram = Histogram.from_json(document)
            method, name = self._names.of(told_method, told_name, histogram.count)
            self.endpoints.setdefault((method, name, outcome), Series()).add(histogram, content_bytes)
            self.blocks.setdefault((block, method, outcome), Series()).add(histogram, content_bytes)
            sender.received["requests"] += histogram.count
            sender.received["sumMicros"] += histogram.sum_micros
            sender.received["contentBytes"] += content_bytes
            if outcome == "success":
                self.successes.merge(histogram)
            else:
                sender.received["failures"] += histogram.count
        for method, outcome, content_bytes, document in part["warmUp"]:
            self.warm_up.setdefault((method, outcome), Series()).add(Histogram.from_json(document), content_bytes)
        for told_method, told_name, kind, message, count in part["failures"]:
            method, name = self._names.of(told_method, told_name, 0)
            self.failures[method, name, kind, message] += count
        for name, (requests, failures) in zip(SEGMENT_NAMES, part["segments"], strict=True):
            self.segments[name][0] += requests
            self.segments[name][1] += failures
        for counter in {"launches", "submissions"} & part.keys():
            sender.received[counter] += part[counter]
            self.counters[counter] += part[counter]
        if "final" in part:
            sender.final = part["final"]
            sender.delays = Histogram.from_json(part["delays"])
            sender.open = part.get("open")
        return True

    @property
    def requests(self) -> int:
        """Requests of the window that arrived, failed ones among them."""
        return self.segments["window"][0]

    @property
    def failed(self) -> int:
        """Failed requests of the window that arrived."""
        return self.segments["window"][1]

    @property
    def unfinished(self) -> list[str]:
        """Names of the workers whose final part is not in."""
        return sorted(sender.name for sender in self.workers.values() if sender.final is None)

    @property
    def delays(self) -> Histogram:
        """By how much later than intended each request of the window began, of all workers whose final part is in."""
        merged = Histogram()
        for sender in self.workers.values():
            if sender.delays is not None:
                merged.merge(sender.delays)
        return merged

    def open_load(self) -> dict[str, Any] | None:
        """The arrivals of all workers, in open load; None in closed load, or where none has told of them."""
        told = [sender.open for sender in self.workers.values() if sender.open is not None]
        if not told:
            return None
        intended = Histogram()
        for one in told:
            intended.merge(Histogram.from_json(one["intended"]))
        return {
            **{count: sum(one[count] for one in told) for count in ("arrivals", "begun", "carriedIn")},
            "backlogPeak": max(one["backlogPeak"] for one in told),
            "intended": intended.to_json(),
        }

    def notes(self) -> list[Problem]:
        """What the record is to say beside the figures."""
        notes = []
        if self._names.further:
            text = f"{self._names.further} requests of all workers have names beyond the first {MAX_NAMES}: use `name=`"
            notes.append(Problem(NAMES_CAPPED, text))
        load = self.open_load()
        if load is None or load["begun"] == load["arrivals"]:
            return notes
        dropped = load["arrivals"] - load["begun"]
        why = "users were all busy: the target is too slow for the rate, or load.usersPerInjector too low"
        text = f"{dropped} of {load['arrivals']} arrivals were never begun: {why}"
        return [*notes, Problem(ARRIVALS_DROPPED, text)]

    @property
    def drain_micros(self) -> int:
        """How long after the end of the window its last request ended, of the slowest worker."""
        return max((sender.final["drainMicros"] for sender in self.workers.values() if sender.final), default=0)

    def problems(self) -> list[Problem]:
        """Where what arrived is not what the workers recorded."""
        found = []
        for sender in self.workers.values():
            if sender.final is None:
                found.append(Problem(HISTOGRAM_PART_MISSING, f"worker {sender.name} did not send its final part"))
            elif sender.gaps:
                lost = f"{sender.gaps} of {sender.final['parts']} parts of worker {sender.name} did not arrive"
                found.append(Problem(HISTOGRAM_PART_MISSING, lost))
            else:
                found += [
                    Problem(COUNT_MISMATCH, f"worker {sender.name} counted {counted} {what}, {received} arrived")
                    for what in ("requests", "failures", "sumMicros", "contentBytes", "launches", "submissions")
                    if (counted := sender.final[what]) != (received := sender.received[what])
                ]
                taken = sender.open["begun"] + sender.open["carriedIn"] if sender.open is not None else None
                if taken is not None and taken != sender.received["requests"]:
                    text = f"worker {sender.name} took {taken} arrivals and sent {sender.received['requests']} requests"
                    found.append(Problem(COUNT_MISMATCH, text))
        return found
