"""What the API server refuses: the change that makes a good spec bad, the field it names, and its message.

Durations, counts and lengths come first, as in docs/bad-input.md, which is made from this.
"""

from typing import Any

from tests.unit.api.cases.base import BARE, Refused, axes, matrix, merged, runner, stage_of, stages, transport

DURATION = (
    "duration of a stage must be a duration from 1s to 24h: write it such as 20m, 90s or 1h30m (a number alone, such "
    "as 20, has no unit)"
)
URL = (
    "target.url must be http:// or https://, a host and, if need be, a port, without user, path or query: write it "
    "such as http://runner.runner.svc:80"
)
STAGE = {"injectors": 1, "duration": "10s"}


def injectors(count: Any) -> dict[str, Any]:
    return stages({"injectors": count, "duration": "10s"})


def variants(*variants: Any) -> dict[str, Any]:
    return {"variants": list(variants)}


AT_APPLY = (
    Refused(
        "0 injectors", injectors(0), at="spec.load.stages[0].injectors", says="should be greater than or equal to 1"
    ),
    Refused(
        "-1 injectors", injectors(-1), at="spec.load.stages[0].injectors", says="should be greater than or equal to 1"
    ),
    Refused(
        "1,000,000,000 injectors",
        injectors(10**9),
        at="spec.load.stages[0].injectors",
        says="should be less than or equal to 1000",
    ),
    Refused(
        "injectors as text",
        injectors("10"),
        at="spec.load.stages[0].injectors",
        says='must be of type integer: "string"',
    ),
    Refused(
        "0 users per injector",
        {"load": {"usersPerInjector": 0}},
        at="spec.load.usersPerInjector",
        says="should be greater than or equal to 1",
    ),
    Refused(
        "1,000,000,000 users per injector",
        {"load": {"usersPerInjector": 10**9}},
        at="spec.load.usersPerInjector",
        says="should be less than or equal to 10000",
    ),
    Refused(
        "a stage of 2,000,000 users",
        merged(injectors(1000), {"load": {"usersPerInjector": 2000}}),
        at="spec.load",
        says="a stage has more than 1000000 users (injectors times load.usersPerInjector): lower one of the two",
    ),
    Refused(
        "a duration of 0s",
        stage_of("0s"),
        at="spec.load.stages[0].duration",
        says=DURATION,
    ),
    Refused(
        "a duration of -1m",
        stage_of("-1m"),
        at="spec.load.stages[0].duration",
        says=DURATION,
    ),
    Refused(
        "a duration of 1000h",
        stage_of("1000h"),
        at="spec.load.stages[0].duration",
        says=DURATION,
    ),
    Refused(
        'a duration of "20"',
        stage_of("20"),
        at="spec.load.stages[0].duration",
        says=DURATION,
    ),
    Refused(
        "a duration of 20, a number",
        stage_of(20),
        at="spec.load.stages[0].duration",
        says='must be of type string: "integer"',
    ),
    Refused(
        "a duration of 1.5m",
        stage_of("1.5m"),
        at="spec.load.stages[0].duration",
        says=DURATION,
    ),
    Refused("no stages", stages(), at="spec.load.stages", says="should have at least 1 items"),
    Refused(
        "1,000 stages",
        stages(*[STAGE] * 1000),
        at="spec.load.stages",
        says="Too many: 1000: must have at most 50 items",
    ),
    Refused(
        "two variants of one name",
        variants({"name": "a"}, {"name": "a"}),
        at="spec.variants[1]",
        says='Duplicate value: {"name":"a"}',
    ),
    Refused(
        "a variant's name of 253 characters",
        variants({"name": "v" * 253}),
        at="spec.variants[0].name",
        says="Too long: may not be more than 40 bytes",
    ),
    Refused(
        "a variant named zwölf",
        variants({"name": "zwölf"}),
        at="spec.variants[0].name",
        says="a variant's name must be lower case letters, digits and -, beginning and ending with a letter "
        "or digit, at most 40 characters: write it such as two-threads",
    ),
    Refused(
        "variants and a matrix",
        {"matrix": matrix()["matrix"]},
        at="spec",
        says="with target.release, exactly one of variants and matrix is needed: remove one or add one",
    ),
    Refused(
        "an unknown baseline",
        {"baseline": "nine"},
        at="spec.baseline",
        says="baseline must be the name of one of variants: correct it or leave it out",
    ),
    Refused(
        "no kind of scenario",
        {"scenario": {"requests": None}},
        at="spec.scenario",
        says="scenario must name exactly one kind of scenario",
    ),
    Refused(
        "gevent with gRPC",
        runner(workerClass="gevent", datastoreTransport="grpc"),
        at="spec.variants[0].runner",
        says="gevent and gRPC do not work together: use workerClass gthread, or datastoreTransport http",
    ),
    Refused(
        "gevent with gRPC in a matrix",
        transport(),
        at="spec.matrix",
        says="gevent and gRPC do not work together: use workerClass gthread, or datastoreTransport http, or "
        "add {workerClass: gevent, datastoreTransport: grpc} to matrix.exclude",
    ),
    Refused(
        "a matrix of 10,000",
        axes(*[[str(i) for i in range(10)]] * 4),
        at="spec.matrix",
        says="matrix makes more than 200 combinations, counted before exclude: take axes or values away",
    ),
    Refused(
        "more than 200 stages in all",
        {"repeats": 50, "load": {"stages": [STAGE] * 3}},
        at="spec",
        says="variants x repeats x load.stages is more than 200: take variants, repeats or stages away, or "
        "make several LoadTests",
    ),
    Refused(
        "values that are a text",
        variants({"name": "a", "values": "b"}),
        at="spec.variants[0].values",
        says='must be of type object: "string"',
    ),
    Refused(
        "a settings path with a comma",
        {"target": {"release": {"settings": [{"name": "a", "paths": ["a,b"]}]}}},
        at="spec.target.release.settings[0].paths[0]",
        says="a path must be keys of the chart's values joined by dots, such as webServer.workers; keys that "
        "contain dots or commas are set through values of the variant",
    ),
    Refused(
        "a URL with user and password",
        {"target": {"url": "http://user:pass@runner"}},
        BARE,
        at="spec.target.url",
        says=URL,
    ),
    Refused(
        "a URL without scheme",
        {"target": {"url": "runner:80"}},
        BARE,
        at="spec.target.url",
        says=URL,
    ),
    Refused(
        "a header with a line break",
        {"target": {"headers": {"X": "a\r\nY: b"}}},
        BARE,
        at="spec.target.headers[X]",
        says="the value of a header must be printable ASCII without line breaks",
    ),
    Refused("an unknown field", {"loads": {}}, at="spec", says='unknown field "spec.loads"'),
    Refused(
        "minimum wait above maximum",
        {"load": {"waitTime": {"min": "3s", "max": "2s"}}},
        at="spec.load.waitTime",
        says="load.waitTime.min must not be longer than load.waitTime.max: lower min or raise max",
    ),
)
