from __future__ import annotations

from typing import Any

import pytest

from loadtest.api.spec import LoadTestSpec
from loadtest.core.expand import expand
from loadtest.local.fit import CannotFit, Fitted, fit

URL = "http://127.0.0.1:20000"


def fitted(*variants: dict[str, Any], at: str | None = URL, **target: Any) -> Fitted:
    release = {"name": "runner", "namespace": "runner", "preset": "eq-questionnaire-runner"}
    named = [{"name": f"v{number}", **variant} for number, variant in enumerate(variants)]
    spec = {
        "target": {"url": "http://runner:80", "release": release} | target,
        "variants": named,
        "load": {"stages": [{"injectors": 1, "duration": "1m"}]},
        "scenario": {"requests": {"configMap": {"name": "a", "key": "b"}}},
    }
    return fit(expand("0123456789abcdef", LoadTestSpec.model_validate(spec)), at)


def test_the_target_is_the_process_and_a_variant_is_its_environment() -> None:
    two, seven = {"runner": {"threads": 2, "replicas": 1}}, {"runner": {"threads": 7, "replicas": 1}}
    result = fitted(two, seven)
    assert result.plan.spec.target.url == URL
    assert [variant.env for variant in result.plan.variants] == [
        {"WEB_SERVER_THREADS": "2"},
        {"WEB_SERVER_THREADS": "7"},
    ]
    assert [variant.replicas for variant in result.plan.variants] == [None, None]
    assert result.notes == (), "one replica is what there is here"


def test_what_all_variants_agree_on_is_left_out_and_said() -> None:
    common = {"values": {"resources": {"requests": {"memory": "1Gi"}}}}
    many = [{"runner": {"threads": n, "replicas": 50, "cpu": "3"}, **common} for n in (2, 7)]
    (note,) = fitted(*many).notes
    assert note == (
        "not applied on this machine, the same for all variants: autoscaler.maxReplicas, autoscaler.minReplicas, "
        "resources.requests.cpu, resources.requests.memory"
    )


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        ({"runner": {"replicas": 1}}, {"runner": {"replicas": 2}}, "autoscaler.maxReplicas, autoscaler.minReplicas"),
        ({"runner": {"cpu": "1"}}, {"runner": {"cpu": "2"}}, "resources.requests.cpu"),
        ({"values": {"a": {"b": [1]}}}, {"values": {"a": {"b": [2]}}}, "a.b"),
        ({"runner": {"threads": 2}}, {"runner": {"threads": 2}, "values": {"x": 1}}, "x"),
        (
            {"runner": {"threads": 2}},
            {"runner": {"threads": 2}, "values": {"webServer": {"threads": "9"}}},
            "webServer.threads",
        ),
    ],
)
def test_variants_that_would_be_the_same_target_are_refused(
    one: dict[str, Any], other: dict[str, Any], paths: str
) -> None:
    with pytest.raises(CannotFit, match=f"v0 and v1 differ in {paths}, which no environment variable"):
        fitted(one, other)


def test_a_target_behind_tls_is_reached_in_the_clear_with_its_secure_cookies() -> None:
    ca = {"caConfigMap": {"name": "ca", "key": "ca.pem"}}
    result = fitted({"runner": {"threads": 2}}, url="https://runner:443", tls=ca)
    target = result.plan.spec.target
    assert (target.url, target.tls, target.send_secure_cookies_over_http) == (URL, None, True)
    assert "TLS is left out" in result.notes[0]


def test_a_target_that_stands_elsewhere_keeps_its_address() -> None:
    assert fitted({"runner": {"threads": 2}}, at=None).plan.spec.target.url == "http://runner:80"
