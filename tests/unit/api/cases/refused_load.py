"""Bad stages, users and durations."""

from tests.unit.api.cases.base import STAGE, Refused, stage_of, stages

AT = "spec.load.stages[0].duration"
FORMAT = "write it such as 20m, 90s or 1h30m"

REFUSED = [
    Refused("no stages", {"load": {"stages": []}}, at="spec.load.stages"),
    Refused("1,000 stages", stages(*[STAGE] * 1000), at="spec.load.stages"),
    Refused("no injectors", stages({"injectors": 0, "duration": "1m"}), at="spec.load.stages[0].injectors"),
    Refused("fewer than no injectors", stages({"injectors": -1, "duration": "1m"}), at="spec.load.stages[0].injectors"),
    Refused("10^9 injectors", stages({"injectors": 10**9, "duration": "1m"}), at="spec.load.stages[0].injectors"),
    Refused("injectors as text", stages({"injectors": "10", "duration": "1m"}), at="spec.load.stages[0].injectors"),
    Refused("no users", {"load": {"usersPerInjector": 0}}, at="spec.load.usersPerInjector"),
    Refused("fewer than no users", {"load": {"usersPerInjector": -1}}, at="spec.load.usersPerInjector"),
    Refused("10^9 users", {"load": {"usersPerInjector": 10**9}}, at="spec.load.usersPerInjector"),
    Refused(
        "more than a million users in a stage",
        {"load": {"stages": [{"injectors": 1000, "duration": "1m"}], "usersPerInjector": 1001}},
        at="spec.load",
        says="more than 1000000 users (injectors times load.usersPerInjector): lower one of the two",
    ),
    Refused("no spawn rate", {"load": {"spawnRatePerInjector": 0}}, at="spec.load.spawnRatePerInjector"),
    Refused("half an injector per pod", {"load": {"injectorsPerPod": 0}}, at="spec.load.injectorsPerPod"),
    Refused("endless reruns", {"load": {"maxStageReruns": 6}}, at="spec.load.maxStageReruns"),
    Refused("a half-open load", {"load": {"mode": "HalfOpen"}}, at="spec.load.mode"),
    Refused("an open load without a rate", {"load": {"mode": "Open"}}, at="spec.load", says="load.ratePerInjector"),
    Refused(
        "a rate of a closed load",
        {"load": {"ratePerInjector": 100}},
        at="spec.load",
        says="load.ratePerInjector is for load.mode Open",
    ),
    Refused(
        "an open load without a request",
        {"load": {"mode": "Open", "ratePerInjector": 0}},
        at="spec.load.ratePerInjector",
    ),
    Refused(
        "an open load of a locustfile",
        {
            "load": {"mode": "Open", "ratePerInjector": 100},
            "scenario": {"requests": None, "locustfile": {"configMap": {"name": "shop", "key": "shop.py"}}},
        },
        at="spec",
        says="a locustfile paces its users itself",
    ),
    *(
        Refused(f"a stage of {text!r}", stage_of(text), at=AT, says=f"from 1s to 24h: {FORMAT}")
        for text in ("0s", "999ms", "24h1s", "1000h")
    ),
    *(
        Refused(f"{text!r} for a duration", stage_of(text), at=AT, says=FORMAT)
        for text in ("20", "", "-1m", "1.5h", "1d", "20 m", "20M", "1m1h", "1m1m", "m", "1h\n", "٢m", "1e3s", "PT20M")
    ),
    Refused("a number for a duration", stage_of(20), at=AT),
    Refused("a duration longer than any", stage_of("9" * 33 + "s"), at=AT),
    Refused("a whole run in no time", {"deadline": "0s"}, at="spec.deadline", says="from 1m to 168h"),
    Refused("a run of two weeks", {"deadline": "336h"}, at="spec.deadline", says="from 1m to 168h"),
    Refused("artifacts for no time", {"artifactTTL": "0s"}, at="spec.artifactTTL", says="from 1s to 9000h"),
    Refused("an endless warm-up", {"load": {"warmUp": "2h"}}, at="spec.load.warmUp", says="from 0s to 1h"),
    Refused(
        "no request timeout", {"load": {"requestTimeout": "0s"}}, at="spec.load.requestTimeout", says="100ms to 1h"
    ),
    Refused(
        "waits of less than a second",
        {"load": {"waitTime": {"min": "500ms"}}},
        at="spec.load.waitTime.min",
        says="whole seconds",
    ),
    Refused(
        "a shortest wait above the longest",
        {"load": {"waitTime": {"min": "3s"}}},
        at="spec.load.waitTime",
        says="load.waitTime.min must not be longer than load.waitTime.max: lower min or raise max",
    ),
    Refused(
        "a rollout in no time",
        {"target": {"release": {"rolloutTimeout": "1s"}}},
        at="spec.target.release.rolloutTimeout",
        says="from 10s to 2h",
    ),
    Refused(
        "a day of settling",
        {"target": {"release": {"settle": "24h"}}},
        at="spec.target.release.settle",
        says="0s to 1h",
    ),
]
