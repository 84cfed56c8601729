"""Bad variants and matrices."""

from tests.unit.api.cases.base import BARE, STAGE, Refused, axes, matrix, runner, settings_of_its_own, transport

GEVENT = "gevent and gRPC do not work together: use workerClass gthread, or datastoreTransport http"

REFUSED = [
    Refused("neither variants nor matrix", {"variants": None}, says="exactly one of variants and matrix"),
    Refused("variants and matrix", {"matrix": matrix()["matrix"]}, says="exactly one of variants and matrix"),
    Refused(
        "variants without a release", {"variants": [{"name": "a"}]}, BARE, says="add target.release or remove them"
    ),
    Refused("a matrix without a release", matrix(), BARE, says="add target.release or remove them"),
    Refused("no variants", {"variants": []}, at="spec.variants"),
    Refused("two variants of one name", {"variants": [{"name": "a"}, {"name": "a"}]}, at="spec.variants[1]"),
    Refused("a variant without a name", {"variants": [{}]}, at="spec.variants[0].name"),
    *(
        Refused(
            f"{name!r} for a variant", {"variants": [{"name": name}]}, at="spec.variants[0].name", says="two-threads"
        )
        for name in ("", "Two", "two_threads", "-two", "two-", "zwölf", "a.b")
    ),
    Refused("a variant's name of 41 characters", {"variants": [{"name": "v" * 41}]}, at="spec.variants[0].name"),
    Refused("a variant's name of 253 characters", {"variants": [{"name": "v" * 253}]}, at="spec.variants[0].name"),
    Refused("an unknown baseline", {"baseline": "nine"}, at="spec.baseline", says="one of variants"),
    Refused("a baseline without release", {"baseline": "nine"}, BARE, at="spec.baseline", says="leave it out"),
    Refused(
        "gevent with gRPC",
        runner(workerClass="gevent", datastoreTransport="grpc"),
        at="spec.variants[0].runner",
        says=GEVENT,
    ),
    Refused(
        "gevent with gRPC through settings",
        settings_of_its_own({"workerClass": "gevent", "datastoreTransport": "grpc"}, "eq-questionnaire-runner"),
        at="spec.variants[0]",
        says=GEVENT,
    ),
    Refused("gevent with gRPC in a matrix", transport(), at="spec.matrix", says=GEVENT),
    Refused(
        "gevent with gRPC in a matrix that excludes others",
        transport({"workerClass": "gthread"}),
        at="spec.matrix",
        says=GEVENT,
    ),
    Refused("an unknown worker class", runner(workerClass="sync"), at="spec.variants[0].runner.workerClass"),
    Refused("no workers", runner(workers=0), at="spec.variants[0].runner.workers"),
    Refused("too many workers", runner(workers=257), at="spec.variants[0].runner.workers"),
    Refused("no threads", runner(threads=0), at="spec.variants[0].runner.threads"),
    Refused("too many threads", runner(threads=1025), at="spec.variants[0].runner.threads"),
    Refused("no replicas", runner(replicas=0), at="spec.variants[0].runner.replicas"),
    Refused("too many replicas", runner(replicas=1001), at="spec.variants[0].runner.replicas"),
    Refused("an unknown transport", runner(datastoreTransport="rest"), at="spec.variants[0].runner.datastoreTransport"),
    Refused("an unknown session backend", runner(sessionBackend="disk"), at="spec.variants[0].runner.sessionBackend"),
    *(
        Refused(f"{cpu!r} for cpu", runner(cpu=cpu), at="spec.variants[0].runner.cpu", says='"500m"')
        for cpu in ("", "0", "3 cores", "-1", "1Gi", "0.5m")
    ),
    Refused("a number for cpu", runner(cpu=3), at="spec.variants[0].runner.cpu"),
    Refused(
        "a setting twice, under runner and under settings",
        {"variants": [{"name": "one", "runner": {"workers": 7}, "settings": {"threads": "7"}}]},
        at="spec.variants[0]",
        says="write the Runner's settings under runner alone",
    ),
    Refused(
        "a setting that is a number", settings_of_its_own({"poolSize": 7}), at="spec.variants[0].settings.poolSize"
    ),
    Refused(
        "a setting that nothing places",
        settings_of_its_own({"poolsize": "7"}),
        at="spec.variants",
        says="add it to target.release.settings",
    ),
    Refused(
        "a Runner without preset and settings",
        {"target": {"release": {"preset": None}}},
        at="spec.variants",
        says="add target.release.preset eq-questionnaire-runner, or target.release.settings",
    ),
    Refused("values that are no object", {"variants": [{"name": "a", "values": "b"}]}, at="spec.variants[0].values"),
    Refused("a matrix without axes", {"variants": None, "matrix": {"axes": []}}, at="spec.matrix.axes"),
    Refused("a matrix of six axes", axes(*[["1"]] * 6), at="spec.matrix.axes"),
    Refused(
        "a matrix of 10,000",
        axes(*[[str(i) for i in range(10)]] * 4),
        at="spec.matrix",
        says="matrix makes more than 200 combinations",
    ),
    Refused("a matrix of 201", axes(["1"] * 3, [str(i) for i in range(67)]), at="spec.matrix"),
    Refused(
        "an axis that nothing places",
        {"variants": None, "matrix": {"axes": [{"setting": "poolSize", "values": ["1"]}]}},
        at="spec.matrix",
        says="matrix varies a setting",
    ),
    Refused(
        "an axis twice",
        {
            "variants": None,
            "matrix": {"axes": [{"setting": "threads", "values": ["1"]}, {"setting": "threads", "values": ["2"]}]},
        },
        at="spec.matrix.axes[1]",
    ),
    Refused(
        "an axis of numbers",
        {"variants": None, "matrix": {"axes": [{"setting": "threads", "values": [1]}]}},
        at="spec.matrix.axes[0].values[0]",
    ),
    Refused(
        "more than 200 stages to run",
        {"repeats": 50, "load": {"stages": [STAGE] * 3}},
        says="variants x repeats x load.stages is more than 200: take variants, repeats or stages away",
    ),
    Refused("no repeats", {"repeats": 0}, at="spec.repeats"),
    Refused("51 repeats", {"repeats": 51}, at="spec.repeats"),
    Refused("an unknown order", {"order": "Random"}, at="spec.order"),
]
