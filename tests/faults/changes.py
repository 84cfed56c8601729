"""What happens to the world in the faults of the matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from loadtest.adapters.kube import Rejected
from loadtest.api.status import initial_status
from loadtest.core.observed import Problem
from loadtest.ports import Outdated, Refused, Unavailable
from tests.faults.injection import Fault, Once, While
from tests.unit.reconcile.world import START, World

JOBS = frozenset({"Job snapshot", "Job apply", "Job restore"})
TARGET_WRITES = JOBS | {"Lease", "state", "clean", "give the Lease back"}

# -- answers of the API server --------------------------------------------------------------------------------------


def unavailable(what: str) -> Unavailable:
    return Unavailable(f"{what}: no answer")


def conflict(what: str) -> Outdated:
    return Outdated(f"{what}: HTTP 409")


def rejected(what: str) -> Rejected:
    return Rejected(f"{what}: HTTP 422")


def forbidden(what: str) -> Unavailable:
    return Unavailable(f"{what}: HTTP 403", forbidden=True)


def no_right(what: str) -> Refused | Unavailable:
    """As the adapter has it: creations are refused for good, all else is tried again."""
    if what in JOBS | {"state"}:
        return Refused("Forbidden", f"{what}: HTTP 403: install charts/loadtest-target")
    return forbidden(what)


@dataclass
class Flaky(Fault):
    """From the phase on, two of three requests fail, for three minutes."""

    phase: str
    number: int = 0
    window: While | None = None

    def __post_init__(self) -> None:
        self.window = While(self.phase, 180.0, self._third)

    @property
    def happened(self) -> bool:  # type: ignore[override]
        return self.window is not None and self.window.since is not None and self.number > 0

    def _third(self, what: str) -> BaseException:
        return unavailable(what)

    def tick(self, w: World) -> None:
        if self.window:
            self.window.tick(w)

    def read(self, w: World, what: str) -> None:
        self._sometimes(w, what)

    def before(self, w: World, what: str) -> None:
        self._sometimes(w, what)

    def _sometimes(self, w: World, what: str) -> None:
        if self.window is None or self.window.since is None or self.window.over:
            return
        self.number += 1
        if self.number % 3 == 0:
            self.window.read(w, what)


# -- people ---------------------------------------------------------------------------------------------------------


def delete(w: World) -> None:
    w.delete()


def abort(w: World) -> None:
    w.edit(abort=True)


def edit(w: World) -> None:
    w.edit(deadline="5h")


@dataclass
class Reborn(Fault):
    """The LoadTest is deleted in the phase, and created again under its name as soon as it is gone."""

    phase: str
    deletion: Once | None = None
    happened: bool = False

    def tick(self, w: World) -> None:
        self.deletion = self.deletion or Once(self.phase, delete)
        if w.uid == "uid-1":
            self.deletion.tick(w)
        if w.gone and not self.happened:
            self.happened = True
            w.gone = w.deleting = False
            w.uid, w.status, w.generation, w.version = "uid-2", initial_status(), 1, w.version + 1
            w.phases = []


def deploy(w: World) -> None:
    """Somebody deploys: new pods, a new revision, and not what this run wants."""
    w.foreign, w.revision, w.rolled_at = True, w.revision + 1, w.now


# -- the target -----------------------------------------------------------------------------------------------------


def lose_namespace(w: World) -> None:
    lose_release(w)
    w.target_gone = True
    w.lease, w.state, w.snapshot, w.jobs, w.outcomes, w.dead_jobs = None, False, False, {}, {}, {}


def lose_release(w: World) -> None:
    w.release_gone, w.variant, w.stuck = True, None, False


def scale(w: World) -> None:
    w.extra_pods = 1


def unscale(w: World) -> None:
    w.extra_pods = 0


def fail_requests(w: World) -> None:
    w.failing = True


def all_failed(w: World) -> list[str]:
    """Failures are counted as such, and no percentile is made of them."""
    stages = [s for v in w.parsed.variants or () for run in v.runs for s in run.stages]
    wrong = [f"stage {s.index} has {s.failures} failures" for s in stages if s.failures != 10]
    return wrong + [f"stage {s.index} has percentiles of failures" for s in stages if s.latency_micros is not None]


def restored_in_time(w: World) -> list[str]:
    """The dead-man Job has put the release back, long before any operator came again."""
    taken = [outcome.finished_at for outcome in w.outcomes.values() if outcome.op == "dead-man"]
    return [f"restored only at {at}" for at in taken if at and at > START + timedelta(minutes=24)]


# -- helm -----------------------------------------------------------------------------------------------------------


def helm(how: str, w: World) -> None:
    """The helm Job of this phase goes wrong; the next try does not."""
    w.helm_faults["restore-1" if w.status.get("ending") else "apply-1-1"] = how


def helm_always(how: str, w: World) -> None:
    """Every try goes wrong."""
    tries = (f"restore-{n}" for n in range(1, 9)) if w.status.get("ending") else (f"apply-1-{n}" for n in range(1, 9))
    w.helm_faults.update(dict.fromkeys(tries, how))


# -- injectors ------------------------------------------------------------------------------------------------------


def pods_wait(reason: str, w: World) -> None:
    w.pod_trouble = Problem(reason, f"pod x: {reason}, as ordered by the test")


def quota(w: World) -> None:
    w.refuse_pods = Refused("QuotaExceeded", "exceeded quota: as ordered by the test")


def _workers(w: World, count: int) -> list[str]:
    return sorted(name for name, (pod, _) in w.pods.items() if not pod.is_master)[:count]


def _attempt_is_lost(w: World) -> None:
    """What the master says when a worker is lost in a stage that is not over."""
    for orders in w.stages.values():
        for (stage, attempt), (begun, order, position) in orders.items():
            if (w.now - begun).total_seconds() - 1 < order["durationSeconds"]:
                w.invalid_attempts[position, stage, attempt] = "WorkerLost"


def end_workers(count: int, w: World) -> None:
    """Evicted, or out of memory: the pods stay, as Failed."""
    _attempt_is_lost(w)
    for name in _workers(w, count):
        pod, created = w.pods[name]
        w.pods[name] = (replace(pod, ended=True, problem=Problem("PodFailed", f"pod {name}: Evicted")), created)


def remove_workers(count: int, w: World) -> None:
    """Deleted, or lost with their node."""
    _attempt_is_lost(w)
    for name in _workers(w, count):
        del w.pods[name]
        w.started.discard(name)


def end_master(w: World) -> None:
    """Drained: it ends by SIGTERM with exit code 0, as if it had done its work."""
    for name, (pod, created) in list(w.pods.items()):
        if pod.is_master:
            w.pods[name] = (replace(pod, ended=True), created)


def remove_master(w: World) -> None:
    for name, (pod, _) in list(w.pods.items()):
        if pod.is_master:
            del w.pods[name]
            w.stages.pop(name, None)
            w.started.discard(name)


def silence(w: World) -> None:
    w.masters_silent = True


def speak(w: World) -> None:
    w.masters_silent = False


def jump(hours: int, w: World) -> None:
    """The operator's clock is wrong from now on."""
    w.skew = timedelta(hours=hours)
