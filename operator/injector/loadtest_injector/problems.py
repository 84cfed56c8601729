"""Why an attempt at a stage is not valid, and what is worth a note: the reasons a master gives in its record."""

from __future__ import annotations

from dataclasses import dataclass

WORKERS_MISSING = "WorkersMissing"
"""Not all expected workers were ready within joinTimeoutSeconds."""

WORKER_LOST = "WorkerLost"
"""A worker of the stage left or was not heard of for 3 s before its part of the window was in."""

WORKER_UNEXPECTED = "WorkerUnexpected"
"""A worker that the stage does not expect was there: before the load (it did not leave in time) or during it."""

WORKER_SATURATED = "WorkerSaturated"
"""A worker's CPU was above 90 % in a 10 s mean (shorter windows: in the mean of the window)."""

WORKER_BUSY = "WorkerBusy"
"""A note: a worker's CPU was above 70 % in a 10 s mean."""

WORKER_LATE = "WorkerLate"
"""The 99th percentile of a worker's own delay was above 200 ms; above 50 ms it is a note."""

HISTOGRAM_PART_MISSING = "HistogramPartMissing"
"""A part of what a worker recorded never arrived."""

COUNT_MISMATCH = "CountMismatch"
"""All parts arrived, but they do not add up to what the worker counted."""

ARRIVALS_DROPPED = "ArrivalsDropped"
"""A note: in open load, arrivals of the window never became requests."""

NAMES_CAPPED = "NamesCapped"
"""A note: requests of a locustfile had more different names than are kept apart."""

REQUESTS_UNFINISHED = "RequestsUnfinished"
"""requestTimeout after the window, users of a locustfile were in a task of it: requests of theirs may be missing."""

DEADLINE_EXCEEDED = "DeadlineExceeded"
"""The load deadline of this master passed."""

USERS_MISSING = "UsersMissing"
"""Not all users ran: they did not start, or some ended before the stage did."""

WINDOW_MISSED = "WindowMissed"
"""A worker heard of the window only after it had begun, so its first requests bear the wrong segment."""

STOPPED = "Stopped"
"""The operator asked for it."""

INTERNAL_ERROR = "InternalError"
"""The master failed: a bug, whose message is in its log."""


@dataclass(frozen=True)
class Problem:
    """One reason, with a message for people that names workers and figures."""

    reason: str
    message: str

    def to_json(self) -> dict[str, str]:
        """The form of progress and record."""
        return {"reason": self.reason, "message": self.message}


def requests_unfinished(worker: str, users: int) -> Problem:
    """The problem of a worker with so many users whose requests may not have ended."""
    why = f"{users} users of worker {worker} were still in a task that began in the window, requestTimeout after it: "
    return Problem(REQUESTS_UNFINISHED, why + "raise load.requestTimeout above the longest task, or split tasks")
