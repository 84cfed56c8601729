"""What of a plan holds on one machine. Pure.

A variant's settings reach the target here as environment variables alone, and the target is one process tree. Chart
values without a variable are left out where all variants agree on them, and the user is told so; where variants differ
in one, they would be the same target under two names, and the run is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadtest.api import names
from loadtest.api.measurements import Measurement, RedisMeasurement
from loadtest.core.expand import RunPlan, VariantPlan, settings_of

MAX_SHOWN = 5


class CannotFit(ValueError):  # noqa: N818 - named for the fact
    """The LoadTest needs a cluster; the message names the field and the remedy."""


@dataclass(frozen=True)
class Fitted:
    """A plan for this machine, and sentences on what of the LoadTest does not hold here."""

    plan: RunPlan
    notes: tuple[str, ...] = ()


def fit(plan: RunPlan, url: str | None, redis: str | None = None) -> Fitted:
    """`plan` with the target at `url`, on this machine; None where the target is loaded where the spec says.

    `redis` is the address of this machine's Redis, if there is one: measurements look at it.

    Raises:
        CannotFit: variants differ in what no environment variable carries.
    """
    notes = [*_without_variable(plan), *_injector_notes(plan)]
    target = plan.spec.target
    if url is not None:
        changes: dict[str, Any] = {"url": url}
        if target.url.startswith("https:"):
            notes.append("TLS is left out: the target is a process on this machine, reached by plain http")
            changes |= {"tls": None, "send_secure_cookies_over_http": True}
        target = target.model_copy(update=changes)
    spec = plan.spec.model_copy(update={"target": target})
    if redis is not None and spec.measurements:
        notes += [f"measurement {one.name} asks the Redis of this machine" for one in spec.measurements if one.redis]
        spec = spec.model_copy(update={"measurements": tuple(_at(one, redis) for one in spec.measurements)})
    # One process tree answers, however many replicas the cluster would have; that variants agree on them was checked.
    variants = tuple(variant.model_copy(update={"replicas": None}) for variant in plan.variants)
    return Fitted(plan.model_copy(update={"spec": spec, "variants": variants}), tuple(notes))


def _at(one: Measurement, redis: str) -> Measurement:
    """A measurement of Redis at another address, which has no password and no TLS."""
    return one.model_copy(update={"redis": RedisMeasurement(address=redis)}) if one.redis is not None else one


def _without_variable(plan: RunPlan) -> Iterator[str]:
    """What is said of chart values that no environment variable carries."""
    shown = {name: setting.env for name, setting in settings_of(plan.spec).items() if setting.env is not None}
    first, *others = plan.variants
    left = dict(_leaves(_rest(first, shown)))
    for other in others:
        theirs = dict(_leaves(_rest(other, shown)))
        different = sorted(path for path in {*left, *theirs} if left.get(path) != theirs.get(path))
        if different:
            raise CannotFit(
                f"spec.variants: {first.name} and {other.name} differ in {_few(different)}, which no environment "
                "variable of the target carries: on one machine they would be the same target. Leave it out, give the "
                "setting an env in spec.target.release.settings, or run this in a cluster"
            )
    if left:
        yield f"not applied on this machine, the same for all variants: {_few(sorted(left))}"


def _rest(variant: VariantPlan, shown: Mapping[str, str]) -> dict[str, Any]:
    """The chart values of a variant without those that its environment shows; `shown` is setting -> variable."""
    values: dict[str, Any] = _copy(variant.values)
    for path, setting in variant.paths.items():
        if setting in shown:
            _remove(values, path.split("."), variant.env[shown[setting]])
        elif setting == "replicas" and variant.replicas == 1:  # which is what there is here
            _remove(values, path.split("."), "1")
    return values


def _copy(value: Any) -> Any:
    return {key: _copy(entry) for key, entry in value.items()} if isinstance(value, Mapping) else value


def _remove(values: dict[str, Any], path: list[str], shown: str) -> None:
    """Remove a value that is `shown`; one that was overridden by the variant's own values stays."""
    *parents, last = path
    for parent in parents:
        child = values.get(parent)
        if not isinstance(child, dict):
            return
        values = child
    if str(values.get(last)) == shown:
        del values[last]


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and value, as JSON, of everything in `value`."""
    for key, entry in value.items():
        if isinstance(entry, Mapping):
            yield from _leaves(entry, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", names.canonical_json(entry)


def _few(paths: list[str]) -> str:
    more = f" and {len(paths) - MAX_SHOWN} more" if len(paths) > MAX_SHOWN else ""
    return ", ".join(paths[:MAX_SHOWN]) + more


def _injector_notes(plan: RunPlan) -> Iterator[str]:
    """What is said of the injectors' own fields."""
    own = plan.spec.injector
    fields = [name for name in own.to_wire() if name != "imagePullPolicy"]
    if fields:
        yield f"not applied on this machine: spec.injector.{', spec.injector.'.join(fields)}"
