"""Bad objectives."""

from tests.unit.api.cases.base import Refused, objective, percentile, rate, share

ONE = "spec.objectives[0]"
BOUND = {"percentile": "99", "below": "1s"}

REFUSED = [
    Refused("no kind of objective", objective(), at=ONE, says="exactly one kind"),
    Refused(
        "two kinds of objective",
        objective(latency=BOUND, failureRatio={"below": "1%"}),
        at=ONE,
        says="exactly one kind",
    ),
    Refused("an empty list of objectives", {"objectives": []}, at="spec.objectives"),
    Refused(
        "two objectives of one name",
        {"objectives": [{"name": "one", "latency": BOUND}, {"name": "one", "latency": BOUND}]},
        at="spec.objectives",
    ),
    Refused("a bad name", objective(name="P99", latency=BOUND), at=f"{ONE}.name", says="write it such as p99"),
    Refused("an unknown onMiss", objective(latency=BOUND, onMiss="Stop"), at=f"{ONE}.onMiss"),
    Refused(
        "a stage that is not there",
        objective(latency=BOUND, stages=[2]),
        at="spec.objectives",
        says="stages are counted from 0",
    ),
    Refused("a percentile that no stage has", percentile("97"), at=f"{ONE}.latency.percentile"),
    Refused("a percentile as a number", percentile(99), at=f"{ONE}.latency.percentile"),
    *(
        Refused(f"{text!r} for a longest time", percentile("99", text), at=f"{ONE}.latency.below")
        for text in ("1", "0s", "2h")
    ),
    *(
        Refused(f"{text!r} for a share", share(text), at=f"{ONE}.failureRatio.below", says='write it such as "0.1%"')
        for text in ("0%", "0.0%", "1", "101%", "1 %", "0.0000001%", "-1%", "1%\n", "")
    ),
    Refused(
        "a measurement that is not there",
        objective(measurement={"name": "redis", "field": "connectionsPeak", "below": 500}),
        at="spec.objectives",
        says="add it there",
    ),
    Refused(
        "a measurement without a bound",
        objective(measurement={"name": "redis", "field": "connectionsPeak"}),
        at=f"{ONE}.measurement",
        says="exactly one bound",
    ),
    Refused(
        "a figure with a dot",
        objective(measurement={"name": "redis", "field": "a.b", "below": 1}),
        at=f"{ONE}.measurement.field",
        says="connectionsPeak",
    ),
    Refused(
        "two baselines",
        {"baseline": "two-threads", "baselineRef": {"name": "earlier"}},
        at="spec.baselineRef",
        says="exclude each other",
    ),
    Refused("a baselineRef without a name", {"baselineRef": {}}, at="spec.baselineRef.name"),
    Refused("a margin of nothing", {"equivalenceMargin": "0%"}, at="spec.equivalenceMargin", says="above 0%"),
    *(
        Refused(f"{text!r} for a rate", rate(text), at=f"{ONE}.throughput.above", says='write it such as "2400/s"')
        for text in ("2400", "2400 rps", "-1/s", "1.2345/s", "/s", "1e3/s")
    ),
]
