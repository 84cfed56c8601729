"""Addresses that no load may go to, whatever name leads there: looked at for each connection, after the lookup.

The operator looks at a target's addresses before a run begins, but a name may lead elsewhere later.
"""

from __future__ import annotations

import ipaddress
import os
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192")
)
"""Metadata and platform services outside 169.254.0.0/16: of AWS by IPv6, Azure, Alibaba Cloud and Oracle Cloud."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_IPV4_BITS = 0xFFFFFFFF

_API_SERVER = os.environ.get("KUBERNETES_SERVICE_HOST", "") if "LOADTEST_RUN" in os.environ else ""
"""Only in an injector: a bench or a test that happens to run in a pod loads its own machine."""


@lru_cache(maxsize=256)
def forbidden(text: str, api_server: str = _API_SERVER) -> str | None:
    """Why no load may go to an address, as the end of a sentence; None where it may.

    `api_server` is the address of the API server, which Kubernetes tells every pod. It is "" outside a cluster, where
    loopback is the machine of whoever loads it; in a pod it is the injector.
    """
    address = _embedded(ipaddress.ip_address(text.partition("%")[0]))
    if address in METADATA:
        return "is a metadata service of a cloud"
    if address.is_link_local:
        return "is link-local, where clouds keep their metadata services"
    if api_server and (address.is_loopback or address.is_unspecified):
        return "is the injector itself"
    if address.is_multicast or address == ipaddress.IPv4Address(_IPV4_BITS):
        return "is not the address of one host"
    if api_server and address == _embedded(ipaddress.ip_address(api_server)):
        return "is the API server"
    return None


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries (mapped, compatible, NAT64, 6to4), else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and int(address) > 1 and (address in _NAT64 or address in _COMPATIBLE):
        inner = ipaddress.IPv4Address(int(address) & _IPV4_BITS)
    return inner or address
