"""`spec.measurements`: what is measured beside the load, through each stage's window."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictStr

from loadtest.api.fields import ConfigMapKey, DataKey, ObjectName, Text
from loadtest.api.model import Rule, SpecModel, matches

MAX_MEASUREMENTS = 16

KINDS = ("redis",)
"""The fields of a measurement that say what kind it is."""

MeasurementName = Annotated[
    StrictStr,
    Field(max_length=40),
    matches(
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "a measurement's name must be lower case letters, digits and -, beginning and ending with a letter or digit, "
        "at most 40 characters: write it such as redis",
    ),
]
"""The name of a measurement: short enough to be part of a file's path and a column's heading."""

_HOST = r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]"
_PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"  # 1 to 65535

Address = Annotated[
    StrictStr,
    Field(max_length=300),
    matches(
        f"^({_HOST}):({_PORT})$",
        "address must be a host and a port: write it such as redis.runner.svc:6379",
    ),
]


class SecretKey(SpecModel):
    """One key of a Secret in the LoadTest's namespace."""

    name: ObjectName = Field(description="Name of the Secret.")
    key: DataKey = Field(description="Key inside the Secret.")


class SourceTls(SpecModel):
    """How the source's certificate is verified."""

    ca_config_map: ConfigMapKey | None = Field(
        default=None,
        description="ConfigMap key that holds the PEM certificates of the authorities to trust, and no others; the "
        "well-known ones if left out.",
    )


class RedisMeasurement(SpecModel):
    """A Redis server, asked by INFO once a second: connections, CPU, commands, evictions, memory."""

    address: Address = Field(description="Host and port of the server, such as redis.runner.svc:6379.")
    username: Text | None = Field(
        default=None, description="User of the server's access list; the default user if left out. It needs +info."
    )
    password_secret: SecretKey | None = Field(
        default=None, description="Secret key that holds the password; without it none is sent."
    )
    tls: SourceTls | None = Field(default=None, description="Speak TLS with the server; without it, plain text.")


class Measurement(SpecModel):
    """Something that is measured beside the load. Exactly one kind."""

    rules = (
        Rule(
            "[has(self.redis)].filter(kind, kind).size() == 1",
            "a measurement must have exactly one kind: redis",
            lambda one: sum(getattr(one, kind) is not None for kind in KINDS) == 1,
        ),
    )

    name: MeasurementName = Field(description="Name of the measurement, in results and objectives.")
    required: StrictBool = Field(
        default=False,
        description="A stage that lacks more than a tenth of this measurement's points is invalid and run again; "
        "otherwise the measurement alone is unknown.",
    )
    redis: RedisMeasurement | None = Field(default=None, description="A Redis server.")


AT_MOST_ONE_REDIS = Rule(
    "self.filter(one, has(one.redis)).size() <= 1",
    "at most one measurement can be of the kind redis: remove the others",
    lambda measurements: sum(one.redis is not None for one in measurements) <= 1,
)
