"""The fault matrix as a table: each fault in each phase that it names, and what must come of it.

A cell holds runs, or says why there are none. The phases are those of `tests.faults.phases`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from tests.faults import changes
from tests.faults.injection import Away, Fault, Once, Stale, While
from tests.faults.loop import LoopRun
from tests.faults.oracle import Expected
from tests.faults.phases import PHASES

SHAPE = "matrix"
ALL = tuple(PHASES)
TAIL = ("P2", "P3", "P4", "P5", "P6", "P7", "P8")
SAME = Expected(same=True, minutes=2.0)


@dataclass(frozen=True)
class Kind:
    """One way in which a fault shows: how it is made in a phase, and what is expected then.

    Attributes:
        but: phases in which something else is expected.
    """

    name: str
    fault: Callable[[str], Fault]
    expected: Expected
    but: dict[str, Expected] = field(default_factory=dict)
    operators: int = 1


@dataclass(frozen=True)
class Row:
    """One fault. `without` gives the reason why a phase has no runs here."""

    fault: str
    phases: tuple[str, ...]
    kinds: tuple[Kind, ...] = ()
    without: dict[str, str] = field(default_factory=dict)


def once(change: Callable[..., None]) -> Callable[[str], Fault]:
    """The change happens once in the phase."""
    return lambda phase: Once(phase, change)


def during(seconds: float, **arguments: object) -> Callable[[str], Fault]:
    """Something is wrong from the phase on, for so long."""
    return lambda phase: While(phase, seconds, **arguments)  # type: ignore[arg-type]  # passed on as they are


def _ends(
    *reasons: str,
    phases: tuple[str, ...] = ("Failed",),
    restored: tuple[str, ...] = ("Restored", "NotChanged"),
    minutes: float = 5.0,
) -> Expected:
    return Expected(phases=frozenset(phases), reasons=frozenset(reasons), restored=frozenset(restored), minutes=minutes)


ANY = ("Succeeded", "Failed", "Aborted")
DELETED = Expected(minutes=2.0)
AGAIN = Expected(phases=frozenset({"Succeeded"}), reasons=frozenset({"Completed"}), writes=70)
GONE = _ends(phases=ANY, restored=("ReleaseGone", "TargetGone", "Restored", "NotChanged"))
CONFLICT = Expected(unrestored=frozenset({"RestoreConflict"}), untouched=True, minutes=8.0)
RERUN = _ends("Completed", phases=("Succeeded",), minutes=6.0)
NO_PODS = _ends(
    "InjectorsNotReady", "ImagePullFailed", "Unschedulable", "QuotaExceeded", "Completed",
    phases=("Failed", "Succeeded"), minutes=8.0,
)  # fmt: skip
HELM_ENDS = _ends("HelmFailed", minutes=2.0)
HELM_AGAIN = Expected(same=True, minutes=13.0)
HALF_WAY = _ends("Completed", phases=("Succeeded",), minutes=2.0)
UNRESTORED = Expected(
    phases=frozenset({"Failed"}), reasons=frozenset({"RestoreFailed"}), unrestored=frozenset({"RestoreFailed"})
)
RIGHTS = _ends("Forbidden", "Completed", "OperatorError", phases=("Failed", "Succeeded"), minutes=4.0)
DEAD_MAN = Expected(
    reasons=frozenset({"LeaseLost", "Completed"}), minutes=27.0, check=changes.restored_in_time, taken=True
)
HOUR_AHEAD = Expected(unrestored=frozenset({"RolloutTimeout"}), minutes=3.0)
TWO = Expected(same=True, minutes=3.0, writes=120)
"""Both may try every write once."""

ROWS = (
    Row(
        "operator killed, ended or out of memory",
        ALL,
        (
            Kind("killed", lambda phase: Away(phase, 2.0), SAME),
            Kind("away-2m", lambda phase: Away(phase, 120.0), Expected(same=True, minutes=4.0)),
            Kind("away-18m", lambda phase: Away(phase, 1080.0), Expected(same=True, minutes=20.0)),
            Kind("away-25m", lambda phase: Away(phase, 1500.0), DEAD_MAN, {"P0": Expected(same=True, minutes=27.0)}),
        ),
    ),
    Row(
        "two operators at once",
        ALL,
        tuple(Kind(f"seed-{seed}", lambda phase: Away(phase, 1.0), TWO, operators=seed) for seed in range(2, 6)),
    ),
    Row(
        "LoadTest deleted; deleted and created again; spec edited",
        ALL,
        (
            Kind("deleted", once(changes.delete), DELETED),
            Kind("created-again", changes.Reborn, AGAIN),
            Kind(
                "aborted",
                once(changes.abort),
                _ends("Aborted", phases=("Aborted",)),
                dict.fromkeys(("P7", "P8"), SAME),
            ),
            Kind("edited", once(changes.edit), SAME),
        ),
    ),
    Row(
        "target namespace or release deleted",
        TAIL,
        (
            Kind("namespace", once(changes.lose_namespace), GONE),
            Kind("release", once(changes.lose_release), GONE),
        ),
    ),
    Row(
        "API server fails, is overloaded, is gone for 60 s and 10 min",
        ALL,
        (
            Kind("60s", during(60, error=changes.unavailable, quiet=False), Expected(same=True, minutes=3.0)),
            Kind("10min", during(600, error=changes.unavailable, quiet=False), Expected(same=True, minutes=12.5)),
            Kind("every-third", changes.Flaky, Expected(same=True, minutes=12.0, writes=120)),
        ),
    ),
    Row(
        "watch stalls, 410, dropped or stale events",
        ALL,
        (Kind("stale-30s", lambda phase: Stale(phase, 30.0), Expected(same=True, minutes=2.0, writes=60)),),
        {"P8": "nothing is written from here to the end that a later read could miss"},
    ),
    Row(
        "409 and 422 on the status; 403",
        ALL,
        (
            Kind("409", during(30, error=changes.conflict, on=frozenset({"status"})), Expected(same=True, writes=60)),
            Kind("422", during(60, error=changes.rejected, on=frozenset({"status"})), Expected(same=True, minutes=4.0)),
            Kind("403-status", during(60, error=changes.forbidden, on=frozenset({"status"})), SAME),
            Kind("403-target", during(60, error=changes.no_right, on=changes.TARGET_WRITES), RIGHTS),
            Kind("403-reads", during(60, error=changes.forbidden, on=frozenset({"target", "injectors"})), SAME),
        ),
    ),
    Row(
        "helm fails, hangs, is killed; release pending; hook fails; history pruned",
        ("P2", "P7"),
        (
            Kind("fails", once(partial(changes.helm, "fails")), HELM_ENDS, {"P7": SAME}),
            Kind("hook-fails", once(partial(changes.helm, "fails-half-way")), HELM_ENDS, {"P7": HALF_WAY}),
            Kind("killed", once(partial(changes.helm, "killed")), SAME),
            Kind("killed-and-pending", once(partial(changes.helm, "killed-half-way")), HALF_WAY),
            Kind("killed-when-done", once(partial(changes.helm, "killed-after")), SAME),
            Kind("hangs", once(partial(changes.helm, "hangs")), HELM_AGAIN),
            Kind("fails-always", once(partial(changes.helm_always, "fails")), HELM_ENDS, {"P7": UNRESTORED}),
            Kind("killed-always", once(partial(changes.helm_always, "killed")), HELM_ENDS, {"P7": UNRESTORED}),
        ),
    ),
    Row(
        "somebody else upgrades the release; autoscaler acts",
        ("P2", "P3", "P4", "P5", "P6", "P7"),
        (
            Kind("upgrade", once(changes.deploy), CONFLICT),
            Kind("autoscaler", during(15, begin=changes.scale, end=changes.unscale), RERUN),
        ),
    ),
    Row(
        "image cannot be pulled; pod unschedulable; quota",
        ("P3", "P4"),
        (
            Kind("image", once(partial(changes.pods_wait, "ImagePullFailed")), NO_PODS),
            Kind("unschedulable", once(partial(changes.pods_wait, "Unschedulable")), NO_PODS),
            Kind("quota", once(changes.quota), NO_PODS),
        ),
    ),
    Row(
        "one worker or all evicted, killed, cut off",
        ("P4", "P5", "P6"),
        (
            Kind("one-evicted", once(partial(changes.end_workers, 1)), RERUN),
            Kind("all-evicted", once(partial(changes.end_workers, 9)), RERUN),
            Kind("one-gone", once(partial(changes.remove_workers, 1)), RERUN),
            Kind("all-gone", once(partial(changes.remove_workers, 9)), RERUN),
        ),
    ),
    Row(
        "master evicted (exit code 0)",
        ("P4", "P5", "P6"),
        (
            Kind("ended", once(changes.end_master), RERUN),
            Kind("gone", once(changes.remove_master), RERUN),
            Kind("silent-60s", during(60, begin=changes.silence, end=changes.speak), SAME),
            Kind("silent", once(changes.silence), _ends("InjectorsNotReady", "Inconclusive", phases=ANY, minutes=60.0)),
        ),
    ),
    Row(
        "target fails every request, hangs, is slow",
        ("P5",),
        (
            Kind(
                "fails",
                once(changes.fail_requests),
                Expected(phases=frozenset({"Succeeded"}), check=changes.all_failed),
            ),
        ),
    ),
    Row(
        "metrics source down, late, with gaps, NaN",
        ("P6",),
        without={"P6": "the master reads it into its record, which the loop stores as it is: tests/unit/injector"},
    ),
    Row(
        "clock jumps by an hour",
        ALL,
        (
            # The loop's clock is the API server's: these are one that differs from the clocks of the nodes. What the
            # operator's own clock does is no matter (`ServerClock`).
            Kind("forward", once(partial(changes.jump, 1)), HOUR_AHEAD),
            Kind("back", once(partial(changes.jump, -1)), Expected(same=True, minutes=62.0)),
        ),
    ),
)


def runs() -> Iterator[LoopRun]:
    """Every run of the table."""
    for row in ROWS:
        for kind in row.kinds:
            for phase in row.phases:
                if phase in row.without:
                    continue
                yield LoopRun(
                    f"loop/{word(row.fault)}/{kind.name}/{phase}",
                    SHAPE,
                    partial(kind.fault, phase),
                    kind.but.get(phase, kind.expected),
                    operators=kind.operators,
                )


def not_applicable() -> Iterator[tuple[str, str]]:
    """Every cell without runs, and why."""
    for row in ROWS:
        for phase, reason in row.without.items():
            yield f"loop/{word(row.fault)}/{phase}", reason


def word(fault: str) -> str:
    """A fault's name as part of an id."""
    return fault.split(",", maxsplit=1)[0].split(";", maxsplit=1)[0].split(" (", maxsplit=1)[0].replace(" ", "-")
