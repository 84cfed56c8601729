"""What is missing, misspelt or bad in measurements."""

from tests.unit.api.cases.base import BARE, Refused, google, measurement, pods, query

_ADDRESS = "spec.measurements[0].redis.address"
_REDIS = {"address": "redis:6379"}

REFUSED = [
    Refused("a measurement of no kind", {"measurements": [{"name": "a"}]}, at="spec.measurements[0]", says="one kind"),
    Refused("an unknown kind", {"measurements": [{"name": "a", "mongo": {}}]}, at="spec.measurements[0].mongo"),
    Refused("a measurement without a name", {"measurements": [{"redis": _REDIS}]}, at="spec.measurements[0].name"),
    Refused(
        "a bad name",
        {"measurements": [{"name": "A b", "redis": _REDIS}]},
        at="spec.measurements[0].name",
        says="lower case",
    ),
    Refused(
        "two of one name",
        {"measurements": [{"name": "a", "redis": _REDIS}, {"name": "a", "redis": _REDIS}]},
        at="spec.measurements",
    ),
    Refused(
        "two of Redis",
        {"measurements": [{"name": "a", "redis": _REDIS}, {"name": "b", "redis": _REDIS}]},
        at="spec.measurements",
        says="at most one",
    ),
    Refused("a Redis without an address", {"measurements": [{"name": "a", "redis": {}}]}, at=_ADDRESS),
    Refused("an address without a port", measurement(address="redis"), at=_ADDRESS, says="host and a port"),
    Refused("an address with a scheme", measurement(address="redis://a:6379"), at=_ADDRESS, says="host and a port"),
    Refused("a port beyond all", measurement(address="redis:65536"), at=_ADDRESS, says="host and a port"),
    Refused("a password in plain text", measurement(pw="plain"), at="spec.measurements[0].redis.pw"),
    Refused(
        "a Secret without a key",
        measurement(passwordSecret={"name": "a"}),
        at="spec.measurements[0].redis.passwordSecret.key",
    ),
    Refused(
        "two kinds in one",
        {"measurements": [{"name": "a", "redis": _REDIS, "pods": {}}]},
        at="spec.measurements[0]",
        says="exactly one kind",
    ),
    Refused(
        "two of pods",
        {
            "measurements": [{"name": "a", "pods": {}}, {"name": "b", "pods": {}}],
            "injector": {"masterServiceAccount": "loadtest-measure"},
        },
        at="spec.measurements",
        says="at most one",
    ),
    Refused("pods of a target that names none", pods(), BARE, at="spec.measurements", says="target.selector"),
    Refused("pods without an account", pods(None), at="spec.injector", says="masterServiceAccount"),
    Refused("a query without PromQL", query(query=""), at="spec.measurements[0].prometheus.query"),
    Refused("a query at no URL", query(url="prometheus:9090"), at="spec.measurements[0].prometheus.url", says="http"),
    Refused("a URL with a password", query(url="http://a:b@c"), at="spec.measurements[0].prometheus.url", says="http"),
    Refused("a step of less than a second", query(step="500ms"), at="spec.measurements[0].prometheus.step"),
    Refused("a delay of an hour", query(delay="1h"), at="spec.measurements[0].prometheus.delay", says="10m"),
    Refused(
        "Cloud Monitoring of nothing", google(), at="spec.measurements[0].cloudMonitoring", says="a preset or a filter"
    ),
    Refused(
        "a preset with an aligner",
        google(preset="MemorystoreCpu", aligner="Max"),
        at="spec.measurements[0].cloudMonitoring",
        says="its own",
    ),
    Refused("an unknown preset", google(preset="Memcached"), at="spec.measurements[0].cloudMonitoring.preset"),
    Refused(
        "a percentile as aligner",
        google(filter="a", aligner="Percentile99"),
        at="spec.measurements[0].cloudMonitoring.aligner",
    ),
    Refused(
        "half a minute of alignment",
        google(filter="a", alignment="30s"),
        at="spec.measurements[0].cloudMonitoring.alignment",
    ),
    Refused(
        "a project that is none",
        google(project="A/b", filter="a"),
        at="spec.measurements[0].cloudMonitoring.project",
        says="project",
    ),
    *(
        Refused(
            f"the account {name} for measuring", pods(name), at="spec.injector.masterServiceAccount", says="no account"
        )
        for name in ("loadtest-helm", "default", "loadtest-measured", "loadtest-measure-")
    ),
]
