"""May this LoadTest load this target? From the plan, the consent of the namespaces concerned, and the policy. Pure.

The owner of a namespace says in an annotation of it whose LoadTests may load what is there. A LoadTest in that very
namespace needs no annotation. Whoever installed the operator says which hosts outside the cluster may be loaded, and
how much load one LoadTest may make. The answer is looked for at each step: what is not allowed any more ends.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from loadtest.api import names
from loadtest.api.conditions import Reason
from loadtest.api.durations import format_duration
from loadtest.core import hosts
from loadtest.core.expand import RunPlan
from loadtest.core.observed import Problem


@dataclass(frozen=True)
class Policy:
    """What whoever installed the operator allows every LoadTest.

    Attributes:
        outside_hosts: hosts, `*.domain` patterns, addresses and networks outside the cluster that may be loaded.
        cluster_domain: the domain of the cluster's Services.
        api_server: addresses of the API server, which are never loaded.
        max_users: most users of a stage; None: as many as a LoadTest may say.
        max_spawn_rate: most users started per second, in all injectors together.
        max_request_rate: most requests begun per second in open load, in all injectors together.
        max_load_seconds: longest load of a run: warm-ups and windows of all repeats, without stages that are run again.
    """

    outside_hosts: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    api_server: tuple[str, ...] = ()
    max_users: int | None = None
    max_spawn_rate: int | None = None
    max_request_rate: int | None = None
    max_load_seconds: float | None = None


@dataclass(frozen=True)
class Consent:
    """What a namespace says of who may load it. Only one that `exists` and is `readable` says anything."""

    allowed_from: frozenset[str] = field(default_factory=frozenset)
    exists: bool = True
    readable: bool = True

    @classmethod
    def of(cls, annotation: str) -> Consent:
        """The consent that the text of the annotation gives: names of namespaces between commas."""
        return cls(frozenset(name.strip() for name in annotation.split(",") if name.strip()))


@dataclass(frozen=True)
class Destination:
    """A host that the run connects to, the field that names it, and whether it is loaded, or only measured.

    What is measured is asked as any pod of the LoadTest's namespace could: it needs nobody's consent. An annotation
    that let a Prometheus be asked would let it be loaded, too.
    """

    field: str
    host: str
    loaded: bool = False


def destinations(plan: RunPlan) -> tuple[Destination, ...]:
    """Every host that the run connects to: the target's, then those of the measurements."""
    found = [Destination("spec.target.url", _host(plan.spec.target.url), loaded=True)]
    for one in plan.spec.measurements or ():
        where = f"spec.measurements[{one.name}]"
        if one.redis is not None:
            found.append(Destination(f"{where}.redis.address", _host(f"//{one.redis.address}")))
        if one.prometheus is not None:
            found.append(Destination(f"{where}.prometheus.url", _host(one.prometheus.url)))
    return tuple(found)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def namespaces(plan: RunPlan, own: str, policy: Policy) -> tuple[str, ...]:
    """The namespaces, other than the LoadTest's `own`, that the plan loads, changes or watches, sorted."""
    target = plan.spec.target
    concerned = {target.namespace or own, target.release.namespace if target.release else own}
    places = (place_of(one.host, own, policy) for one in destinations(plan) if one.loaded)
    concerned |= {where.namespace for where in places if isinstance(where, hosts.Service)}
    return tuple(sorted(concerned - {own}))


def place_of(host: str, own: str, policy: Policy) -> hosts.Service | hosts.Outside | hosts.Never:
    """Where a host leads from namespace `own`.

    `example.org` could also mean Service example of namespace org: it is outside where the policy's list has it.
    """
    where = hosts.place(host, own, policy.cluster_domain)
    ambiguous = isinstance(where, hosts.Service) and host.count(".") == 1
    if ambiguous and hosts.listed(hosts.Outside(host), policy.outside_hosts):
        return hosts.Outside(host)
    return where


def lookup_name(host: str, own: str, policy: Policy) -> str:
    """A host's name as it is to be looked up from anywhere in the cluster; "" where there is nothing to look up."""
    match place_of(host, own, policy):
        case hosts.Service(name, namespace):
            return f"{name}.{namespace}.svc.{policy.cluster_domain}"
        case hosts.Outside(name, None):
            return name
        case _:
            return ""


def refusal(
    plan: RunPlan,
    own: str,
    consents: Mapping[str, Consent],
    policy: Policy,
    addresses: Mapping[str, Sequence[str]] | None = None,
) -> Problem | None:
    """Why the LoadTest of namespace `own` may not run this plan; None where it may.

    `consents` has an entry for each of `namespaces`; `addresses` are those that a host resolves to, as far as known.
    """
    return next(_refusals(plan, own, consents, policy, addresses or {}), None)


def _refusals(
    plan: RunPlan,
    own: str,
    consents: Mapping[str, Consent],
    policy: Policy,
    addresses: Mapping[str, Sequence[str]],
) -> Iterator[Problem]:
    yield from _ceilings(plan, policy)
    for one in destinations(plan):
        yield from _host_refusal(one, own, policy)
    for namespace, consent in sorted(consents.items()):
        yield from _consent(namespace, own, consent)
    for one in destinations(plan):
        yield from _addresses(one, policy, addresses.get(one.host, ()))


def _ceilings(plan: RunPlan, policy: Policy) -> Iterator[Problem]:
    stages, most = plan.stages, "and at most {} are allowed here"
    seconds = load_seconds(plan)
    limits = (
        (max(stage.users for stage in stages), policy.max_users,
         "a stage has {} users (injectors times usersPerInjector)"),
        (max(stage.spawn_rate for stage in stages), policy.max_spawn_rate,
         "a stage starts {} users per second (injectors times spawnRatePerInjector)"),
        (max(stage.rate or 0 for stage in stages), policy.max_request_rate,
         "a stage begins {} requests per second (injectors times ratePerInjector)"),
    )  # fmt: skip
    for value, ceiling, what in limits:
        if ceiling is not None and value > ceiling:
            yield _above(what.format(value), most.format(ceiling))
    if policy.max_load_seconds is not None and seconds > policy.max_load_seconds:
        length = f"warm-ups and stages of all repeats last {format_duration(seconds)}"
        yield _above(length, most.format(format_duration(policy.max_load_seconds)))


def _above(what: str, most: str) -> Problem:
    remedy = "lower it, or have whoever installed the operator raise the limit"
    return Problem(Reason.CEILING_EXCEEDED, f"spec.load: {what}, {most}: {remedy}")


def load_seconds(plan: RunPlan) -> float:
    """Length of the load of a whole run: warm-ups and windows of all repeats, without stages that are run again."""
    return (plan.spec.load.warm_up.seconds + sum(stage.seconds for stage in plan.stages)) * len(plan.repeats)


def _host_refusal(one: Destination, own: str, policy: Policy) -> Iterator[Problem]:
    match place_of(one.host, own, policy):
        case hosts.Never(why):
            yield _never(one.field, one.host, why)
        case hosts.Outside(_, address):
            if address is not None and str(address) in policy.api_server:
                yield _never(one.field, one.host, "is the API server")
            elif one.loaded and not hosts.listed(hosts.Outside(one.host, address), policy.outside_hosts):
                yield Problem(
                    Reason.HOST_NOT_ALLOWED,
                    f"{one.field}: {one.host} is no Service of this cluster, and not among the hosts outside that may "
                    "be loaded: name a Service, such as runner.runner.svc, or have whoever installed the operator add "
                    "the host to limits.outsideHosts",
                )


def _never(field_name: str, host: str, why: str) -> Problem:
    return Problem(
        Reason.HOST_NOT_ALLOWED, f"{field_name}: {host} {why}, and is never asked for anything: name another host"
    )


def _consent(namespace: str, own: str, consent: Consent) -> Iterator[Problem]:
    if not consent.exists:
        yield Problem(
            Reason.TARGET_GONE,
            f"namespace {namespace} does not exist: correct the namespace in spec.target, or its url; a host outside "
            "the cluster has to be in limits.outsideHosts of the operator",
        )
    elif not consent.readable:
        yield Problem(
            Reason.FORBIDDEN,
            f"the operator may not read namespace {namespace}, and so cannot see whose LoadTests it allows: install "
            "charts/loadtest-target there, which grants it",
        )
    elif own not in consent.allowed_from:
        wanted = ",".join(sorted({*consent.allowed_from, own}))
        yield Problem(
            Reason.NAMESPACE_NOT_ALLOWED,
            f"namespace {namespace} does not allow LoadTests of namespace {own}: have its owner annotate it with "
            f"{names.ANNOTATION_ALLOWED_FROM}={wanted}, or run it in {namespace}",
        )


def _addresses(one: Destination, policy: Policy, addresses: Iterable[str]) -> Iterator[Problem]:
    for text in addresses:
        address = ipaddress.ip_address(text)
        why = hosts.forbidden(address)
        if why is None and str(hosts.embedded(address)) in policy.api_server:
            why = "is the API server"
        if why:
            yield _never(one.field, f"{one.host} leads to {text}, which", why)
