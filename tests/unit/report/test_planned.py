from __future__ import annotations

from typing import Any

import pytest

from loadtest.core.expand import RunPlan, expand
from loadtest.core.needs import needs
from loadtest.report import markdown
from loadtest.report.planned import differences, document, outline
from tests.unit.core.builders import bare_plan
from tests.unit.report import samples


def plan(**changes: Any) -> RunPlan:
    return expand("0" * 16, samples.spec(**changes))


def outlined(of: RunPlan) -> dict[str, Any]:
    return outline(of, "x", needs(of))


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ({}, "5,334 requests a second, for which its 20 workers need 1.1 cores; the fullest takes 4 % of one"),
        ({}, "(up to 18 injectors fit one worker)"),
        ({"injectorsPerPod": 20}, "the fullest takes 77 % of one, above 70 %: lower load.injectorsPerPod to 18"),
        ({"usersPerInjector": 5_000}, "one injector is too much for a worker: lower load.usersPerInjector"),
        ({"waitTime": {"min": "0s", "max": "0s"}}, "is not known beforehand"),
    ],
)
def test_the_plan_says_how_many_cores_the_workers_need(load: dict[str, Any], says: str) -> None:
    of = plan(load={"stages": [{"injectors": 20, "duration": "35s"}], **load})
    assert says in markdown.text(document(of, "x", needs(of)))


def test_the_outline_has_every_repeat_and_stage_in_order() -> None:
    found = outlined(plan(repeats=2, order="Interleaved"))
    assert [repeat["variant"] for repeat in found["repeats"]][:4] == [
        "two-threads", "three-threads", "seven-threads", "three-threads"
    ]  # fmt: skip
    assert found["stageRuns"] == 18
    assert found["stages"][1] == {"index": 1, "injectors": 15, "users": 3000, "duration": "35s", "pods": 16}
    assert found["podsAtOnce"] == 21


def test_time_adds_up_what_is_known_beforehand() -> None:
    # Three repeats of: three windows of 35 s, a warm-up of 60 s, ramps of 1 + 1/3 + 1/4 s, and 15 s to settle.
    assert outlined(plan())["time"] == {
        "windows": "5m15s", "warmUps": "3m", "ramps": "4s750ms", "settling": "45s", "atLeast": "9m4s750ms"
    }  # fmt: skip


def test_measurements_that_are_late_take_their_delay_in_every_stage() -> None:
    asked = {"project": "eq-test", "preset": "MemorystoreCpu", "delay": "4m"}
    query = {"url": "http://prometheus.runner.svc", "query": "up", "delay": "15s"}
    late = plan(measurements=[{"name": "a", "cloudMonitoring": asked}, {"name": "b", "prometheus": query}])
    assert outlined(late)["time"]["measuring"] == "36m"
    text = markdown.text(document(late, "test", needs(late)))
    assert "settling 45s, measurements that are late 36m." in text


def test_a_variant_that_goes_on_with_its_next_repeat_does_not_settle_again() -> None:
    assert outlined(plan(repeats=2))["time"]["settling"] == "45s"
    assert outlined(plan(repeats=2, order="Interleaved"))["time"]["settling"] == "1m30s"
    assert outlined(bare_plan())["time"]["settling"] == "0s"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {"webServer.threads": {"two-threads": "2", "seven-threads": "7"}}),
        (
            {"resources": {"requests": {"cpu": "3"}}},
            {
                "webServer.threads": {"two-threads": "2", "seven-threads": "7"},
                "resources.requests.cpu": {"two-threads": "3"},
            },
        ),
        ({"webServer": {"threads": "7"}}, {}),
        (
            {"webServer": {"threads": 7}},
            {"webServer.threads": {"two-threads": 7, "seven-threads": "7"}},
        ),
    ],
)
def test_differences_are_the_values_that_are_not_the_same_in_every_variant(
    values: dict[str, Any], expected: dict[str, Any]
) -> None:
    variants = [
        {"name": "two-threads", "runner": {"threads": 2}, "values": values},
        {"name": "seven-threads", "runner": {"threads": 7}},
    ]
    assert differences(plan(variants=variants)) == expected


def test_markdown_shows_stages_order_and_values() -> None:
    text = markdown.text(document(plan(), "gunicorn-threads", needs(plan())))
    assert "3 variants x 1 repeats x 3 stages: 9 windows against http://runner.runner.svc:80." in text
    assert "At least 9m4s750ms: windows 5m15s" in text
    assert "At most 21 injector pods at once, 1 of them the master." in text
    assert '| webServer.threads | "2"         | "3"           | "7"           |' in text
    assert '| webServer.type         | "gunicorn-threads" |' in text
    assert "| 1        | two-threads   | 1      |" in text


def test_a_target_without_release_has_no_values() -> None:
    titles = [section.title for section in document(bare_plan(), "x", needs(bare_plan())).sections]
    assert titles == ["Stages", "Order"]
