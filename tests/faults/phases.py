"""The phases of FAULTS' matrix, as seen from outside: from what is in the world, not from what the operator says."""

from __future__ import annotations

from loadtest.api.status import TERMINAL
from tests.unit.reconcile.world import World

PHASES = {
    "P0": "admitted",
    "P1": "snapshot",
    "P2": "helm running",
    "P3": "rollout",
    "P4": "workers joining",
    "P5": "load",
    "P6": "collecting",
    "P7": "restoring",
    "P8": "finalizing",
}


def phase_of(w: World) -> str | None:
    """The phase that the world's run is in; None before admission, between two phases, and after the end."""
    status = w.status
    if w.gone or not status.get("runId") or status.get("phase") in TERMINAL:
        return None
    if status.get("ending"):
        known = [c for c in status["conditions"] if c["type"] == "TargetRestored" and c["reason"] != "Restoring"]
        return "P8" if known else "P7"
    running = [op for key, (_, op, _) in w.jobs.items() if key not in w.outcomes and key not in w.dead_jobs]
    if "apply" in running:
        return "P2"
    stages = [s for variant in status.get("variants") or () for run in variant["runs"] for s in run["stages"]]
    if any(stage["valid"] == "Unknown" for stage in stages):
        return "P6" if _over(w) else "P5"
    if (w.now - w.rolled_at).total_seconds() < w.rollout_seconds:
        return "P3"
    if any(name not in w.started for name in w.pods):
        return "P4"
    if w.state:
        return "P1" if not (status.get("release") or {}).get("revision") else None
    return "P0"


def _over(w: World) -> bool:
    """Whether a stage that the master has run is still to be collected."""
    return any(
        (w.now - begun).total_seconds() - 1 >= order["durationSeconds"]
        for orders in w.stages.values()
        for key, (begun, order, position) in orders.items()
        if not any(name.endswith(f"-r{position}-s{key[0]}-a{key[1]}") for name in w.config_maps)
    )
