"""Where a host leads, as a table."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.core import hosts
from loadtest.core.hosts import Never, Outside, Service
from loadtest_injector.http import addresses

METADATA = ipaddress.IPv4Address("169.254.169.254")


@pytest.mark.parametrize(
    ("host", "where"),
    [
        ("runner", Service("runner", "performance")),
        ("runner.runner", Service("runner", "runner")),
        ("runner.qa.svc", Service("runner", "qa")),
        ("RUNNER.QA.SVC", Service("runner", "qa")),
        ("runner.qa.svc.cluster.local", Service("runner", "qa")),
        ("runner-0.runner.qa.svc", Service("runner", "qa")),
        ("runner-0.runner.qa.svc.cluster.local", Service("runner", "qa")),
        ("www.example.org", Outside("www.example.org")),
        ("203.0.113.7", Outside("203.0.113.7", ipaddress.IPv4Address("203.0.113.7"))),
        ("[2001:db8::7]", Outside("2001:db8::7", ipaddress.IPv6Address("2001:db8::7"))),
    ],
)
def test_a_host_leads_to_a_service_or_out_of_the_cluster(host: str, where: object) -> None:
    assert hosts.place(host, "performance") == where


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.1.2",
        "2852039166",
        "0xa9fea9fe",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "127.1",
        "0",
        "127.0.0.1",
        "0.0.0.0",  # noqa: S104 - nothing listens here
        "255.255.255.255",
        "224.0.0.1",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[ff02::1]",
        "localhost",
        "a.localhost",
        "metadata.google.internal",
        "METADATA.google.internal",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "10-0-0-1.runner.pod",
        "169-254-169-254.runner.pod.cluster.local",
        "runner.cluster.local",
        "1.2.3",
        "1.2.3.4.5",
        "[1:2]",
    ],
)
def test_some_hosts_are_never_loaded_in_any_spelling(host: str) -> None:
    assert isinstance(hosts.place(host, "performance"), Never)


def test_the_service_kubernetes_is_the_api_server_only_in_its_own_namespace() -> None:
    assert isinstance(hosts.place("kubernetes", "default"), Never)
    assert hosts.place("kubernetes", "qa") == Service("kubernetes", "qa")


def test_another_cluster_domain_counts_instead() -> None:
    assert hosts.place("runner.qa.svc.k8s.example", "performance", "k8s.example") == Service("runner", "qa")
    assert hosts.place("runner.qa.svc.cluster.local", "performance", "k8s.example") == Outside(
        "runner.qa.svc.cluster.local"
    )


@pytest.mark.parametrize(
    ("host", "pattern", "matches"),
    [
        ("www.example.org", "www.example.org", True),
        ("www.example.org", "*.example.org", True),
        ("a.b.example.org", "*.example.org", True),
        ("example.org", "*.example.org", False),
        ("evilexample.org", "*.example.org", False),
        ("www.example.org.evil", "*.example.org", False),
        ("www.example.org", "example.org", False),
        ("203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.0/24", True),
        ("203.0.114.7", "203.0.113.0/24", False),
        ("[2001:db8::7]", "2001:db8::/32", True),
        ("203.0.113.7", "2001:db8::/32", False),
        ("203.0.113.7", "*.113.7", False),
    ],
)
def test_a_host_is_listed_by_name_domain_address_or_network(host: str, pattern: str, matches: bool) -> None:
    where = hosts.place(host, "performance")
    outside = where if isinstance(where, Outside) else Outside(host)
    assert hosts.listed(outside, [hosts.check_pattern(pattern)]) is matches


@pytest.mark.parametrize(
    "pattern", ["", "*", "*.", "http://a.org", "a.org:80", "a b", "*.*.org", "203.0.113.7/24", "a/b"]
)
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="no host"):
        hosts.check_pattern(pattern)


@given(st.ip_addresses())
def test_injectors_refuse_the_addresses_that_the_operator_refuses(address: hosts.Address) -> None:
    assert addresses.forbidden(str(address), api_server="10.96.0.1") == (
        "is the API server" if str(hosts.embedded(address)) == "10.96.0.1" else hosts.forbidden(address)
    )


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_refused_in_each_of_its_ipv6_spellings_too(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    for spelling in (f"[::ffff:{address}]", f"[64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}]"):
        plain, inside = hosts.place(str(address), "x"), hosts.place(spelling, "x")
        assert isinstance(inside, Never) == isinstance(plain, Never)


@given(st.text(alphabet="abcx0123456789.-:[]", max_size=30))
def test_every_text_has_a_place(text: str) -> None:
    assert isinstance(hosts.place(text, "own"), Service | Outside | Never)


@pytest.mark.parametrize(
    ("address", "in_cluster", "outside"),
    [
        ("169.254.169.254", "link-local", "link-local"),
        ("::ffff:169.254.169.254", "link-local", "link-local"),
        ("fe80::1%eth0", "link-local", "link-local"),
        ("fd00:ec2::254", "metadata", "metadata"),
        ("127.0.0.1", "the injector itself", ""),
        ("::1", "the injector itself", ""),
        ("10.96.0.1", "the API server", ""),
        ("10.96.0.2", "", ""),
    ],
)
def test_an_injector_refuses_addresses_and_outside_a_cluster_fewer(address: str, in_cluster: str, outside: str) -> None:
    assert in_cluster in (addresses.forbidden(address, api_server="10.96.0.1") or "")
    assert bool(addresses.forbidden(address, api_server="10.96.0.1")) == bool(in_cluster)
    assert bool(addresses.forbidden(address, api_server="")) == bool(outside)
