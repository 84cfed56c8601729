"""May this LoadTest load this target? From the plan, the consent of the namespaces concerned, and the policy. Pure.

The owner of a namespace says in an annotation of it whose LoadTests may load what is there. A LoadTest in that very
namespace needs no annotation. Whoever installed the operator says which hosts outside the cluster may be loaded, and
how much load one LoadTest may make. The answer is looked for at each step: what is not allowed any more ends.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
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
        max_rate: most users started per second, in all injectors together.
        max_load_seconds: longest load of a run: warm-ups and windows of all repeats, without stages that are run again.
    """

    outside_hosts: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    api_server: tuple[str, ...] = ()
    max_users: int | None = None
    max_rate: int | None = None
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


def namespaces(plan: RunPlan, own: str, policy: Policy) -> tuple[str, ...]:
    """The namespaces, other than the LoadTest's `own`, that the plan loads, changes or watches, sorted."""
    target = plan.spec.target
    concerned = {target.namespace or own, target.release.namespace if target.release else own}
    where = host_of(plan, own, policy)
    if isinstance(where, hosts.Service):
        concerned.add(where.namespace)
    return tuple(sorted(concerned - {own}))


def host_of(plan: RunPlan, own: str, policy: Policy) -> hosts.Service | hosts.Outside | hosts.Never:
    """Where the target's URL leads.

    `example.org` could also mean Service example of namespace org: it is outside where the policy's list has it.
    """
    host = _host(plan)
    where = hosts.place(host, own, policy.cluster_domain)
    ambiguous = isinstance(where, hosts.Service) and host.count(".") == 1
    if ambiguous and hosts.listed(hosts.Outside(host), policy.outside_hosts):
        return hosts.Outside(host)
    return where


def _host(plan: RunPlan) -> str:
    return (urlsplit(plan.spec.target.url).hostname or "").lower()


def lookup_name(plan: RunPlan, own: str, policy: Policy) -> str:
    """The host's name as it is to be looked up from anywhere in the cluster; "" where there is nothing to look up."""
    match host_of(plan, own, policy):
        case hosts.Service(name, namespace):
            return f"{name}.{namespace}.svc.{policy.cluster_domain}"
        case hosts.Outside(host, None):
            return host
        case _:
            return ""


def refusal(
    plan: RunPlan, own: str, consents: Mapping[str, Consent], policy: Policy, addresses: Sequence[str] = ()
) -> Problem | None:
    """Why the LoadTest of namespace `own` may not run this plan; None where it may.

    `consents` has an entry for each of `namespaces`; `addresses` are those that the host resolves to, as far as known.
    """
    return (
        _ceilings(plan, policy)
        or _host_refusal(plan, own, policy)
        or next((no for name, consent in sorted(consents.items()) if (no := _consent(name, own, consent))), None)
        or _addresses(plan, policy, addresses)
    )


def _ceilings(plan: RunPlan, policy: Policy) -> Problem | None:
    users = max(stage.users for stage in plan.stages)
    rate = max(stage.spawn_rate for stage in plan.stages)
    seconds = load_seconds(plan)
    if policy.max_users is not None and users > policy.max_users:
        what = (
            f"spec.load: a stage has {users} users (injectors times usersPerInjector), and at most {policy.max_users}"
        )
    elif policy.max_rate is not None and rate > policy.max_rate:
        what = (
            f"spec.load: a stage starts {rate} users per second (injectors times spawnRatePerInjector), "
            f"and at most {policy.max_rate}"
        )
    elif policy.max_load_seconds is not None and seconds > policy.max_load_seconds:
        what = (
            f"spec.load: warm-ups and stages of all repeats last {format_duration(seconds)}, "
            f"and at most {format_duration(policy.max_load_seconds)}"
        )
    else:
        return None
    return Problem(
        Reason.CEILING_EXCEEDED,
        f"{what} are allowed here: lower it, or have whoever installed the operator raise the limit",
    )


def load_seconds(plan: RunPlan) -> float:
    """Length of the load of a whole run: warm-ups and windows of all repeats, without stages that are run again."""
    return (plan.spec.load.warm_up.seconds + sum(stage.seconds for stage in plan.stages)) * len(plan.repeats)


def _host_refusal(plan: RunPlan, own: str, policy: Policy) -> Problem | None:
    host = _host(plan)
    match host_of(plan, own, policy):
        case hosts.Never(why):
            return _never(host, why)
        case hosts.Outside(_, address):
            if address is not None and str(address) in policy.api_server:
                return _never(host, "is the API server")
            if hosts.listed(hosts.Outside(host, address), policy.outside_hosts):
                return None
            return Problem(
                Reason.HOST_NOT_ALLOWED,
                f"spec.target.url: {host} is no Service of this cluster, and not among the hosts outside that may be "
                "loaded: name a Service, such as http://runner.runner.svc, or have whoever installed the operator add "
                "the host to limits.outsideHosts",
            )
        case _:
            return None


def _never(host: str, why: str) -> Problem:
    return Problem(Reason.HOST_NOT_ALLOWED, f"spec.target.url: {host} {why}; it may not be loaded: name another host")


def _consent(namespace: str, own: str, consent: Consent) -> Problem | None:
    if not consent.exists:
        return Problem(
            Reason.TARGET_GONE,
            f"namespace {namespace} does not exist: correct the namespace in spec.target, or its url; a host outside "
            "the cluster has to be in limits.outsideHosts of the operator",
        )
    if not consent.readable:
        return Problem(
            Reason.FORBIDDEN,
            f"the operator may not read namespace {namespace}, and so cannot see whose LoadTests it allows: install "
            "charts/loadtest-target there, which grants it",
        )
    if own in consent.allowed_from:
        return None
    return Problem(
        Reason.NAMESPACE_NOT_ALLOWED,
        f"namespace {namespace} does not allow LoadTests of namespace {own}: have its owner annotate it with "
        f"{names.ANNOTATION_ALLOWED_FROM}={','.join(sorted({*consent.allowed_from, own}))}, or run it in {namespace}",
    )


def _addresses(plan: RunPlan, policy: Policy, addresses: Iterable[str]) -> Problem | None:
    for text in addresses:
        address = ipaddress.ip_address(text)
        why = hosts.forbidden(address)
        if why is None and str(hosts.embedded(address)) in policy.api_server:
            why = "is the API server"
        if why:
            return _never(f"{_host(plan)} leads to {text}, which", why)
    return None
