"""Who may load what: plan, consents and policy -> a refusal, or none."""

from __future__ import annotations

from typing import Any

import pytest

from loadtest.core.hosts import Outside
from loadtest.core.permission import Consent, Policy, load_seconds, lookup_name, namespaces, place_of, refusal
from tests.unit.core.builders import bare_plan, plan

OPEN = {"runner": Consent.of("performance, qa")}
ANYWHERE = Policy(outside_hosts=("*.example.org", "example.org", "203.0.113.0/24"), api_server=("10.96.0.1",))


def bare(url: str, **target: Any) -> Any:
    return bare_plan({"target": {"url": url, **target}})


@pytest.mark.parametrize("policy", [Policy(), ANYWHERE])
def test_a_target_in_the_own_namespace_needs_nobodys_consent(policy: Policy) -> None:
    for url in ("http://shop", "http://shop.performance", "http://shop.performance.svc.cluster.local:8080"):
        assert namespaces(bare(url), "performance", policy) == ()
        assert refusal(bare(url), "performance", {}, policy) is None


def test_every_namespace_that_is_loaded_changed_or_watched_is_asked() -> None:
    selected = bare("http://a.one", selector={"matchLabels": {"a": "b"}}, namespace="two")
    assert namespaces(selected, "performance", Policy()) == ("one", "two")
    elsewhere = plan({"target": {"url": "http://shop.other.svc"}})
    assert namespaces(elsewhere, "performance", Policy()) == ("other", "runner")
    assert namespaces(elsewhere, "runner", Policy()) == ("other",)
    no = refusal(elsewhere, "performance", {**OPEN, "other": Consent()}, Policy())
    assert no is not None
    assert no.message.startswith("namespace other does not allow")


@pytest.mark.parametrize(
    ("annotation", "allowed"),
    [
        ("performance", True),
        ("qa,performance", True),
        (" qa , performance ", True),
        ("", False),
        ("qa", False),
        ("perf", False),
        ("performance-2", False),
        ("true", False),
        ("*", False),
        ("yes,", False),
    ],
)
def test_the_annotation_names_the_namespaces_and_nothing_else_in_it_allows(annotation: str, allowed: bool) -> None:
    assert (refusal(plan(), "performance", {"runner": Consent.of(annotation)}, Policy()) is None) is allowed


def test_a_refused_namespace_is_told_what_its_owner_must_write() -> None:
    no = refusal(plan(), "performance", {"runner": Consent.of("qa")}, Policy())
    assert no is not None
    assert no.reason == "NamespaceNotAllowed"
    assert "loadtest.eqrunner.dev/allowed-from=performance,qa" in no.message


@pytest.mark.parametrize(
    ("consent", "reason", "says"),
    [
        (Consent(exists=False), "TargetGone", "correct the namespace"),
        (Consent(readable=False), "Forbidden", "install charts/loadtest-target"),
    ],
)
def test_a_namespace_that_says_nothing_is_refused(consent: Consent, reason: str, says: str) -> None:
    no = refusal(plan(), "performance", {"runner": consent}, Policy())
    assert no is not None
    assert (no.reason, says in no.message) == (reason, True)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://www.example.com", "limits.outsideHosts"),
        ("https://198.51.100.7:8443", "limits.outsideHosts"),
        ("http://[2001:db8::1]", "limits.outsideHosts"),
        ("http://169.254.169.254", "link-local"),
        ("http://[::ffff:169.254.169.254]:80", "link-local"),
        ("http://2852039166", "unusual spelling"),
        ("http://localhost:8080", "the injector itself"),
        ("https://kubernetes.default.svc", "the API server"),
        ("https://10.96.0.1", "the API server"),
    ],
)
def test_a_host_outside_or_forbidden_is_refused_with_the_field(url: str, says: str) -> None:
    no = refusal(bare(url), "performance", {}, ANYWHERE)
    assert no is not None
    assert (no.reason, no.message.startswith("spec.target.url: "), says in no.message) == ("HostNotAllowed", True, True)


def test_a_forbidden_address_stays_forbidden_though_the_list_has_it() -> None:
    everything = Policy(outside_hosts=("0.0.0.0/0", "::/0", "*.internal"), api_server=("10.96.0.1",))
    for url in ("http://169.254.169.254", "http://metadata.google.internal", "http://127.0.0.1", "http://10.96.0.1"):
        assert refusal(bare(url), "performance", {}, everything) is not None
    assert refusal(bare("http://198.51.100.7"), "performance", {}, everything) is None


@pytest.mark.parametrize("url", ["http://www.example.org", "http://example.org", "http://203.0.113.9:8080"])
def test_a_listed_host_outside_may_be_loaded(url: str) -> None:
    assert refusal(bare(url), "performance", {}, ANYWHERE) is None


def test_a_name_of_two_words_is_a_service_unless_it_is_listed() -> None:
    assert namespaces(bare("http://example.org"), "performance", Policy()) == ("org",)
    assert place_of("example.org", "performance", ANYWHERE) == Outside("example.org")
    greedy = Policy(outside_hosts=("*.svc", "*.local", "*.qa"))
    assert namespaces(bare("http://shop.qa.svc"), "performance", greedy) == ("qa",)
    assert namespaces(bare("http://shop.qa.svc.cluster.local"), "performance", greedy) == ("qa",)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("shop", "shop.performance.svc.cluster.local"),
        ("shop.qa", "shop.qa.svc.cluster.local"),
        ("www.example.org", "www.example.org"),
        ("203.0.113.9", ""),
        ("169.254.169.254", ""),
    ],
)
def test_a_host_is_looked_up_by_its_full_name(host: str, name: str) -> None:
    assert lookup_name(host, "performance", ANYWHERE) == name


def measured(**source: Any) -> Any:
    return bare_plan({"target": {"url": "http://shop"}, "measurements": [{"name": "m", **source}]})


@pytest.mark.parametrize(
    "of",
    [
        measured(redis={"address": "redis.other.svc:6379"}),
        measured(prometheus={"url": "http://prometheus.monitoring.svc:9090", "query": "up"}),
        measured(prometheus={"url": "https://prometheus.example.com/api", "query": "up"}),
    ],
)
def test_what_is_only_measured_needs_nobodys_consent_to_be_loaded(of: Any) -> None:
    assert namespaces(of, "performance", Policy()) == ()
    assert refusal(of, "performance", {}, Policy()) is None


@pytest.mark.parametrize(
    ("of", "field"),
    [
        (measured(redis={"address": "169.254.169.254:80"}), "redis.address"),
        (measured(redis={"address": "[::ffff:a9fe:a9fe]:80"}), "redis.address"),
        (measured(prometheus={"url": "http://metadata.google.internal", "query": "up"}), "prometheus.url"),
        (measured(prometheus={"url": "https://10.96.0.1", "query": "up"}), "prometheus.url"),
    ],
)
def test_what_is_never_loaded_is_not_measured_either(of: Any, field: str) -> None:
    no = refusal(of, "performance", {}, ANYWHERE)
    assert no is not None
    assert (no.reason, no.message.startswith(f"spec.measurements[m].{field}: ")) == ("HostNotAllowed", True)


def test_a_measured_name_that_leads_to_a_forbidden_address_is_refused() -> None:
    of = measured(redis={"address": "redis:6379"})
    no = refusal(of, "performance", {}, Policy(), {"redis": ("169.254.169.254",)})
    assert no is not None
    assert "redis leads to 169.254.169.254" in no.message


@pytest.mark.parametrize(
    ("addresses", "says"),
    [
        (("10.96.3.4", "2001:db8::1"), ""),
        ((), ""),
        (("10.96.3.4", "169.254.169.254"), "leads to 169.254.169.254, which is link-local"),
        (("::ffff:169.254.169.254",), "link-local"),
        (("10.96.0.1",), "which is the API server"),
        (("127.0.0.1",), "the injector itself"),
    ],
)
def test_a_name_that_leads_to_a_forbidden_address_is_refused(addresses: tuple[str, ...], says: str) -> None:
    no = refusal(bare("http://shop"), "performance", {}, ANYWHERE, {"shop": addresses})
    assert (no.message if no else "").count(says)
    assert (no is None) is (not says)


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Policy(max_users=6000, max_spawn_rate=6000, max_load_seconds=4 * 6060), ""),
        (Policy(max_users=5999), "6000 users (injectors times usersPerInjector), and at most 5999"),
        (
            Policy(max_spawn_rate=5999),
            "starts 6000 users per second (injectors times spawnRatePerInjector), and at most 5999",
        ),
        (Policy(max_load_seconds=4 * 6060 - 1), "last 6h44m, and at most 6h43m59s"),
    ],
)
def test_a_ceiling_holds_for_the_largest_stage_and_for_the_whole_run(policy: Policy, says: str) -> None:
    stages = [{"injectors": count, "duration": "20m"} for count in (10, 15, 20, 25, 30)]
    of = plan({"load": {"stages": stages, "warmUp": "1m"}, "repeats": 2, "deadline": "24h"})
    assert load_seconds(of) == 4 * 6060, "two variants, two repeats: each warms up once"
    no = refusal(of, "performance", OPEN, policy)
    assert (no is None) is (not says)
    assert no is None or (no.reason == "CeilingExceeded" and says in no.message and "lower it" in no.message)


def test_the_rate_of_open_load_has_a_ceiling_of_its_own() -> None:
    of = bare_plan({"target": {"url": "http://shop"}, "load": {"mode": "Open", "ratePerInjector": 50}})
    rate = max(stage.rate or 0 for stage in of.stages)
    assert refusal(of, "performance", {}, Policy(max_request_rate=rate)) is None
    no = refusal(of, "performance", {}, Policy(max_request_rate=rate - 1))
    assert no is not None
    assert f"a stage begins {rate} requests per second (injectors times ratePerInjector), and at most" in no.message
    assert refusal(bare("http://shop"), "performance", {}, Policy(max_request_rate=1)) is None, "closed load has none"
