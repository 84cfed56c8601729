"""What is missing, misspelt or bad in measurements."""

from tests.unit.api.cases.base import Refused, measurement

_ADDRESS = "spec.measurements[0].redis.address"
_REDIS = {"address": "redis:6379"}

REFUSED = [
    Refused("a measurement of no kind", {"measurements": [{"name": "a"}]}, at="spec.measurements[0]", says="one kind"),
    Refused("an unknown kind", {"measurements": [{"name": "a", "mongo": {}}]}, at="spec.measurements[0].mongo"),
    Refused("a measurement without a name", {"measurements": [{"redis": _REDIS}]}, at="spec.measurements[0].name"),
    Refused(
        "a bad name", {"measurements": [{"name": "A b", "redis": _REDIS}]}, at="spec.measurements[0].name",
        says="lower case",
    ),
    Refused(
        "two of one name", {"measurements": [{"name": "a", "redis": _REDIS}, {"name": "a", "redis": _REDIS}]},
        at="spec.measurements",
    ),
    Refused(
        "two of Redis", {"measurements": [{"name": "a", "redis": _REDIS}, {"name": "b", "redis": _REDIS}]},
        at="spec.measurements", says="at most one",
    ),
    Refused("a Redis without an address", {"measurements": [{"name": "a", "redis": {}}]}, at=_ADDRESS),
    Refused("an address without a port", measurement(address="redis"), at=_ADDRESS, says="host and a port"),
    Refused("an address with a scheme", measurement(address="redis://a:6379"), at=_ADDRESS, says="host and a port"),
    Refused("a port beyond all", measurement(address="redis:65536"), at=_ADDRESS, says="host and a port"),
    Refused(
        "a password in plain text", measurement(pw="plain"), at="spec.measurements[0].redis.pw"
    ),
    Refused(
        "a Secret without a key", measurement(passwordSecret={"name": "a"}),
        at="spec.measurements[0].redis.passwordSecret.key",
    ),
]  # fmt: skip
