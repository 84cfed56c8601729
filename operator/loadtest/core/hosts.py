"""Where a target's host leads: to a Service of a namespace, out of the cluster, or where no load may ever go. Pure.

A host is judged by its text, and its addresses again once they are known: a name can lead anywhere. Injectors judge the
address of each connection by rules of their own (`loadtest_injector.http.addresses`), which are the same.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192")
)
"""Metadata and platform services outside 169.254.0.0/16: of AWS by IPv6, Azure, Alibaba Cloud and Oracle Cloud."""

METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.azure.internal", "instance-data.ec2.internal"})

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IPV4_BITS = 0xFFFFFFFF
_WITH_NAMESPACE = 2


@dataclass(frozen=True)
class Service:
    """A Service in the cluster, or one of its pods."""

    name: str
    namespace: str


@dataclass(frozen=True)
class Outside:
    """A host that is not known to be in the cluster. `address` where the host is a literal."""

    host: str
    address: Address | None = None


@dataclass(frozen=True)
class Never:
    """A host that no load may go to, whoever allows it. `why` ends a sentence that begins with the host."""

    why: str


def place(host: str, own_namespace: str, cluster_domain: str = "cluster.local") -> Service | Outside | Never:
    """Where `host`, the host of a URL, leads from a pod in `own_namespace`."""
    host = host.lower()
    if host.startswith("[") or ":" in host:
        return _literal(host.strip("[]"))
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # as in the URL standard: a host that ends in a number is an IPv4 address
        return _literal(host)
    if labels[-1] == "localhost":
        return Never("is the injector itself")
    if host in METADATA_NAMES:
        return Never("is a metadata service of a cloud")
    inside = host.endswith(f".{cluster_domain}")
    labels = host.removesuffix(f".{cluster_domain}").split(".")
    if labels[-1] == "pod":
        return Never("names a pod by its address")
    if labels[-1] == "svc" and len(labels) > _WITH_NAMESPACE:
        return _service(labels[-3], labels[-2])
    if inside:
        return Never("is no name of a Service, such as runner.runner.svc")
    if len(labels) == 1:
        return _service(host, own_namespace)
    if len(labels) == _WITH_NAMESPACE:
        return _service(labels[0], labels[1])
    return Outside(host)


def _service(name: str, namespace: str) -> Service | Never:
    if (name, namespace) == ("kubernetes", "default"):
        return Never("is the API server")
    return Service(name, namespace)


def _literal(text: str) -> Outside | Never:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        # Resolvers take 2852039166, 0xa9fe.0xa9fe and 0251.254.169.254 for addresses. Nobody needs to write them so.
        return Never("is an address in an unusual spelling")
    why = forbidden(address)
    return Never(why) if why else Outside(str(address), address)


def forbidden(address: Address) -> str | None:
    """Why no load may go to an address, as the end of a sentence; None where it may."""
    address = embedded(address)
    if address in METADATA_ADDRESSES:
        return "is a metadata service of a cloud"
    if address.is_link_local:
        return "is link-local, where clouds keep their metadata services"
    if address.is_loopback or address.is_unspecified:
        return "is the injector itself"
    if address.is_multicast or address == ipaddress.IPv4Address(_IPV4_BITS):
        return "is not the address of one host"
    return None


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries (mapped, compatible, NAT64, 6to4), else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and int(address) > 1 and (address in _NAT64 or address in _COMPATIBLE):
        inner = ipaddress.IPv4Address(int(address) & _IPV4_BITS)
    return inner or address


def listed(host: Outside, patterns: Iterable[str]) -> bool:
    """Whether a host is in a list of hosts, `*.domain` patterns, addresses and networks, as `check_pattern` takes."""
    return any(_matches(host, pattern) for pattern in patterns)


def _matches(host: Outside, pattern: str) -> bool:
    network = _network(pattern)
    if host.address is not None or network is not None:
        return host.address is not None and network is not None and host.address in network
    if pattern.startswith("*."):
        return host.host.endswith(pattern[1:])
    return host.host == pattern


def check_pattern(pattern: str) -> str:
    """A pattern of `listed` in lower case.

    Raises:
        ValueError: it is no host, no `*.domain`, no address and no network.
    """
    pattern = pattern.strip().lower()
    if _network(pattern) is None and not re.fullmatch(r"(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?", pattern):
        raise ValueError(f"{pattern!r} is no host, no *.domain, no address and no network: write it such as *.qa.org")
    return pattern


def _network(pattern: str) -> Network | None:
    try:
        return ipaddress.ip_network(pattern)
    except ValueError:
        return None
