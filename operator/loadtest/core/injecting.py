"""Load: the injectors of a repeat, the gate before a stage, the stage itself, and its record."""

from __future__ import annotations

from datetime import datetime, timedelta

from loadtest.api.conditions import Reason
from loadtest.core import actions, helm, measuring, rollout
from loadtest.core.decision import Decision, Ending, Started
from loadtest.core.expand import RunPlan
from loadtest.core.observed import InjectorPod, Observed, StageProgress
from loadtest.core.progress import Work, current_work, stage_entries

INJECTORS_TIMEOUT = timedelta(minutes=5)
"""How long master and workers may take to be scheduled, pull their image, start and join."""

SILENT_MASTER = timedelta(seconds=120)
"""How long a master may be silent past the end of its stage before the attempt is called lost."""

POLL_LOAD = 2.0
POLL_CHANGE = 0.3


def hold(o: Observed, plan: RunPlan) -> Decision | None:
    """The wait of a suspended run between two stages; None while a stage runs, or where nobody suspended it.

    The injectors go meanwhile: they would stand idle for hours, and their own deadline would pass.
    """
    work = current_work(plan, o.resource.status)
    if o.resource.spec is None or not o.resource.spec.suspend or work is None or work.running:
        return None
    names = tuple(pod.name for pod in o.injectors.pods if not pod.terminating)
    return Decision(
        "Running",
        Reason.SUSPENDED,
        "spec.suspend is true: the target stays as it is, no stage is started",
        action=actions.DeleteInjectors(names) if names else None,
        wait=0.0 if names else 30.0,
    )


def inject(o: Observed, plan: RunPlan) -> Decision:
    """The next step of the current stage."""
    work = current_work(plan, o.resource.status)
    if work is None:  # pragma: no cover - `end` has ended a run without work
        raise AssertionError("a run without work has been ended before")
    return _Stage(o, plan, work).decide()


class _Stage:
    """The current stage seen from all sides. A class only to name what every check reads."""

    def __init__(self, o: Observed, plan: RunPlan, work: Work) -> None:
        self.o, self.plan, self.work = o, plan, work
        self.position, self.generation = work.repeat.position, work.lost + 1
        mine = [pod for pod in o.injectors.pods if pod.position == self.position]
        self.strangers = tuple(
            pod.name for pod in o.injectors.pods if pod not in mine or pod.generation != self.generation
        )
        self.mine = [pod for pod in mine if pod.generation == self.generation]
        self.master = next((pod for pod in self.mine if pod.is_master), None)
        self.workers = {pod.index: pod for pod in self.mine if not pod.is_master}

    def decide(self) -> Decision:
        return self._running() if self.work.running else self._injectors() or self._gate() or self._start()

    # -- while the attempt runs ---------------------------------------------------------------------------------

    def _running(self) -> Decision:
        """The attempt was started: watch it, collect it, or call it lost."""
        if self.master is None or self.master.ended or self.master.terminating:
            why = self.master.problem.message if self.master and self.master.problem else "its pod is gone"
            return self._lose(f"the Locust master was lost: {why}")
        if self.o.injectors.master is None:
            return self._silent(self.master)
        progress = self.o.injectors.master.stages.get((self.work.stage.index, self.work.attempt))
        if progress is None:
            return self._order("starting the stage")
        if progress.over:
            action = actions.CollectStage(self.position, self.work.stage.index, self.work.attempt)
            return self._say(Reason.COLLECTING, "collecting the record of the stage", action=action)
        return self._watch(progress)

    def _watch(self, progress: StageProgress) -> Decision:
        left = progress.duration_seconds - progress.elapsed_seconds
        wait = max(POLL_CHANGE, min(POLL_LOAD, left)) if progress.state == "window" else POLL_CHANGE
        if progress.state == "measuring":  # which may take minutes
            wait = POLL_LOAD
        text = {
            "joining": "waiting for the injectors to join",
            "ramp": f"starting users: {progress.users} of {self.work.stage.users}",
            "warm-up": "warming up",
            "window": f"measuring: {progress.elapsed_seconds:.0f} of {progress.duration_seconds:.0f} s",
            "tail": "waiting for the last requests of the window",
            "measuring": "waiting for the last points of the measurements",
        }.get(progress.state, progress.state)
        return self._say(Reason.STAGE_RUNNING, text, wait=wait)

    def _silent(self, master: InjectorPod) -> Decision:
        """A master that runs but does not answer: its record is worth waiting for, though not for ever."""
        started = self.work.entry.started_at if self.work.entry else None
        spec = self.plan.spec.load
        busy = timedelta(seconds=self.work.stage.seconds + spec.warm_up.seconds + spec.request_timeout.seconds)
        if started and self.o.now > started + busy + INJECTORS_TIMEOUT + SILENT_MASTER:
            return self._lose(f"the Locust master {master.name} does not answer: {self.o.injectors.unreachable}")
        return self._say(Reason.STAGE_RUNNING, f"the master does not answer: {self.o.injectors.unreachable}", wait=1.0)

    def _lose(self, message: str) -> Decision:
        action = actions.LoseStage(self.position, self.work.stage.index, self.work.attempt, Reason.MASTER_LOST, message)
        return self._say(Reason.MASTER_LOST, message, action=action)

    # -- before the attempt -------------------------------------------------------------------------------------

    def _injectors(self) -> Decision | None:
        """Exactly the injectors that the stage asks for; None once they run and have joined or are about to."""
        if stillborn := self._stillborn():
            why = stillborn.problem.message if stillborn.problem else f"pod {stillborn.name} ended"
            reason = Reason.INJECTORS_NOT_READY
            message = f"an injector failed before its first stage, and would fail again: {why}; see its log"
            if stillborn.problem and stillborn.problem.reason == Reason.INVALID_SCENARIO:
                reason, message = Reason.INVALID_SCENARIO, why
            return Decision("Running", reason, message, ending=Ending("Failed", reason, message))
        needed = range(self.work.stage.workers)
        ended = [pod for pod in self.mine if pod.ended]
        surplus = [pod for index, pod in self.workers.items() if index not in needed]
        if self.master is not None and self.master.ended:
            ended = list(self.mine)
        doomed = [pod for pod in (*ended, *surplus) if not pod.terminating]
        present = {pod.name for pod in self.o.injectors.pods if not pod.terminating}
        if names := tuple(sorted({pod.name for pod in doomed} | (set(self.strangers) & present))):
            return self._say(
                Reason.STARTING_INJECTORS,
                "removing injectors that are not needed",
                action=actions.DeleteInjectors(names),
            )
        if self._late():
            return self._not_ready()
        if any(pod.terminating for pod in self.mine):
            return self._say(Reason.STARTING_INJECTORS, "waiting for old injectors to go", wait=POLL_CHANGE)
        if self.master is None:
            return self._say(
                Reason.STARTING_INJECTORS,
                "starting the Locust master",
                action=actions.CreateMaster(self.position, self.generation),
            )
        missing = tuple(index for index in needed if index not in self.workers)
        if missing and self.master.ip:
            action = actions.CreateWorkers(self.position, self.generation, missing, self.master.ip)
            return self._say(Reason.STARTING_INJECTORS, f"starting {len(missing)} Locust workers", action=action)
        if missing:
            return self._say(Reason.STARTING_INJECTORS, "waiting for the Locust master", wait=POLL_CHANGE)
        return None

    def _stillborn(self) -> InjectorPod | None:
        """An injector that was made for this stage and crashed before it: a bad image or scenario, not an accident."""
        since = self._stage_ended()
        crashed = (pod for pod in self.mine if pod.crashed)
        return next((pod for pod in crashed if since is None or (pod.created_at and pod.created_at > since)), None)

    def _late(self) -> bool:
        """Whether the injectors that were made have had time enough; workers still to be made have not."""
        begun = self._begun()
        if begun is None or self._joined():
            return False
        made = all(index in self.workers for index in range(self.work.stage.workers))
        stuck = self.master is None or not self.master.ip
        return (made or stuck) and self.o.now > begun + INJECTORS_TIMEOUT

    def _begun(self) -> datetime | None:
        """Since when this stage waits for its injectors: the newest pod's creation, or the end of the stage before."""
        created = [pod.created_at for pod in self.mine if pod.created_at]
        ended = self._stage_ended()
        return max([*created, *([ended] if ended else [])]) if created else None

    def _stage_ended(self) -> datetime | None:
        """When the last attempt of this repeat ended."""
        entries = stage_entries(self.o.resource.status, self.position).values()
        return max((entry.finished_at for entry in entries if entry.finished_at), default=None)

    def _joined(self) -> bool:
        answer = self.o.injectors.master
        return answer is not None and sorted(answer.workers) == self._expected()

    def _expected(self) -> list[str]:
        return sorted(self.workers[index].name for index in range(self.work.stage.workers) if index in self.workers)

    def _not_ready(self) -> Decision:
        problem = next((pod.problem for pod in self.mine if pod.problem), None)
        joined = len(self.o.injectors.master.workers) if self.o.injectors.master else 0
        message = f"{joined} of {self.work.stage.workers} Locust workers joined within {INJECTORS_TIMEOUT}"
        reason = Reason.INJECTORS_NOT_READY
        if problem:
            message += f": {problem.message}"
            known = {known.value: known for known in (Reason.IMAGE_PULL_FAILED, Reason.UNSCHEDULABLE)}
            reason = known.get(problem.reason, reason)
        elif waiting := next((pod.name for pod in self.mine if not pod.running), None):
            message += f": pod {waiting} has not started{self._hint()}"
        return Decision("Running", reason, message, ending=Ending("Failed", reason, message))

    def _hint(self) -> str:
        """What a pod may be waiting for that its status does not show: its volumes."""
        requests, tls = self.plan.spec.scenario.requests, self.plan.spec.target.tls
        missing = [f"Secret {requests.launch.keys_secret.name}"] if requests and requests.launch else []
        missing += [f"ConfigMap {tls.ca_config_map.name}"] if tls else []
        missing += measuring.required_secrets(self.plan.spec)
        where = f" in namespace {self.o.resource.namespace}"
        return f"; does {' and '.join(missing)} exist{where}?" if missing else ""

    def _gate(self) -> Decision | None:
        """The rollout gate and the joining of the workers: both must be passed before load."""
        variant = self.plan.variant(self.work.repeat.variant)
        target = self.plan.spec.target
        settle = target.release.settle.seconds if target.release else 0.0
        gate = rollout.gate(
            self.o.target.workloads,
            variant.env,
            variant.replicas,
            settle,
            self.o.now,
            allow_scaling=target.allow_scaling,
        )
        if not gate.open:
            return self._closed(gate)
        if not self._joined():
            return self._say(Reason.STARTING_INJECTORS, self._joining(), wait=POLL_CHANGE)
        return None

    def _joining(self) -> str:
        if problem := next((pod.problem for pod in self.mine if pod.problem), None):
            return f"waiting for the injectors: {problem.message}"
        joined = len(self.o.injectors.master.workers) if self.o.injectors.master else 0
        return f"{joined} of {self.work.stage.workers} Locust workers have joined"

    def _closed(self, gate: rollout.Gate) -> Decision:
        release = self.plan.spec.target.release
        if gate.broken:
            ending = Ending("Failed", Reason.VARIANT_NOT_LIVE, gate.message)
            return Decision("Running", Reason.VARIANT_NOT_LIVE, gate.message, ending=ending)
        outcome = helm.last_outcome(self.o.target, "apply", self.position)
        since = [t for t in (outcome.finished_at if outcome else None, self._stage_ended()) if t]
        since = since or [t for t in (self._begun(),) if t]
        limit = release.rollout_timeout.seconds if release else INJECTORS_TIMEOUT.total_seconds()
        if since and self.o.now > max(since) + timedelta(seconds=limit):
            message = f"the rollout was not complete after {limit:.0f} s: {gate.message}"
            return Decision(
                "Running", Reason.ROLLOUT_TIMEOUT, message, ending=Ending("Failed", Reason.ROLLOUT_TIMEOUT, message)
            )
        return self._say(Reason.ROLLING_OUT, gate.message, wait=max(0.2, min(1.0, gate.wait)))

    def _start(self) -> Decision:
        return self._order(f"starting stage {self.work.stage.index}")

    def _order(self, message: str) -> Decision:
        action = actions.StartStage(self.position, self.work.stage.index, self.work.attempt, tuple(self._expected()))
        started = Started(self.position, self.work.stage.index, self.work.attempt)
        return self._say(Reason.STAGE_RUNNING, message, action=action, started=started)

    def _say(
        self,
        reason: Reason,
        text: str,
        action: actions.Action | None = None,
        wait: float = 0.0,
        started: Started | None = None,
    ) -> Decision:
        where = f"variant {self.work.repeat.variant}, repeat {self.work.repeat.repeat}, stage {self.work.stage.index}: "
        return Decision("Running", reason, where + text, action=action, wait=wait, started=started)
