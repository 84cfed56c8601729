"""`spec.measurements`: what is measured beside the load, through each stage's window."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr
from pydantic.alias_generators import to_snake

from loadtest.api.durations import Duration
from loadtest.api.fields import ConfigMapKey, DataKey, ObjectName, Text
from loadtest.api.model import Rule, SpecModel, between, matches

MAX_MEASUREMENTS = 16

KINDS = ("redis", "pods", "prometheus", "cloudMonitoring")
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


class PodsMeasurement(SpecModel):
    """The target's pods, by the cluster's metrics API: CPU and memory.

    The master asks as `injector.masterServiceAccount`, which must be allowed to list pods of metrics.k8s.io there.
    """


PrometheusUrl = Annotated[
    StrictStr,
    Field(max_length=1024),
    matches(
        f"^https?://({_HOST})(:({_PORT}))?(/[-A-Za-z0-9._~/]*)?$",
        "url must be http:// or https://, a host and, if need be, port and path, without user and query: "
        "write it such as http://prometheus.monitoring.svc:9090",
    ),
]


class PrometheusMeasurement(SpecModel):
    """A query of a Prometheus, or of what speaks its API, over each window."""

    url: PrometheusUrl = Field(description="Where the server is, such as http://prometheus.monitoring.svc:9090.")
    query: Annotated[StrictStr, Field(min_length=1, max_length=4096)] = Field(
        description="PromQL that gives one series, such as sum(rate(container_cpu_usage_seconds_total[1m])). A rate "
        "looks back over its range, at the window's start to before it."
    )
    step: Annotated[Duration, between("prometheus.step", "1s", "10m", whole_seconds=True)] = Field(
        default=Duration("15s"), description="Time between two points."
    )
    delay: Annotated[Duration, between("prometheus.delay", "0s", "10m")] = Field(
        default=Duration("15s"), description="How long after the window's end it is asked: until scrapes are in."
    )
    token_secret: SecretKey | None = Field(
        default=None, description="Secret key that holds a bearer token; without it none is sent."
    )
    tls: SourceTls | None = Field(default=None, description="How an https url is verified.")


class CloudMonitoringMeasurement(SpecModel):
    """Series of Google Cloud Monitoring over each window, aligned and made one. A preset, a filter, or both."""

    rules = (
        Rule(
            "has(self.preset) || has(self.filter)",
            "cloudMonitoring needs a preset or a filter: add one",
            lambda one: one.preset is not None or one.filter is not None,
        ),
        Rule(
            "!has(self.preset) || !(has(self.aligner) || has(self.reducer))",
            "a preset of cloudMonitoring brings its own aligner and reducer: remove them, or write a filter alone",
            lambda one: one.preset is None or (one.aligner is None and one.reducer is None),
        ),
    )

    project: Annotated[
        StrictStr,
        Field(max_length=63),
        matches("^[a-z][-a-z0-9:.]*[a-z0-9]$", "project must be the id of a Google Cloud project, such as eq-test"),
    ] = Field(description="Id of the Google Cloud project.")
    preset: (
        Literal[
            "MemorystoreConnections",
            "MemorystoreCpu",
            "GkeContainerCores",
            "DatastoreRequests",
            "LoadBalancerRequests",
        ]
        | None
    ) = Field(
        default=None,
        description="A built-in metric: clients connected; cores used by Redis; cores used by containers; requests a "
        "second to Datastore; requests a second to an HTTPS load balancer.",
    )
    filter: Annotated[StrictStr, Field(min_length=1, max_length=2048)] | None = Field(
        default=None,
        description="Monitoring filter; with a preset, what narrows it, such as resource.labels.instance_id=... .",
    )
    aligner: Literal["Rate", "Delta", "Mean", "Min", "Max", "Sum"] | None = Field(
        default=None, description="What makes one value of each series and alignment period; Mean if left out."
    )
    reducer: Literal["Sum", "Mean", "Min", "Max"] | None = Field(
        default=None, description="What makes one series of several; Sum if left out."
    )
    alignment: Annotated[Duration, between("cloudMonitoring.alignment", "1m", "10m", whole_seconds=True)] = Field(
        default=Duration("1m"), description="Alignment period; the window must be as long, better several times."
    )
    delay: Annotated[Duration, between("cloudMonitoring.delay", "0s", "15m")] = Field(
        default=Duration("4m"),
        description="How long after the window's end it is first asked: until the points of all series are visible. "
        "Points that are still missing are asked for again for three minutes.",
    )


class Measurement(SpecModel):
    """Something that is measured beside the load. Exactly one kind."""

    rules = (
        Rule(
            f"[{', '.join(f'has(self.{kind})' for kind in KINDS)}].filter(kind, kind).size() == 1",
            f"a measurement must have exactly one kind of {', '.join(KINDS)}: add one or remove the others",
            lambda one: sum(getattr(one, to_snake(kind)) is not None for kind in KINDS) == 1,
        ),
    )

    name: MeasurementName = Field(description="Name of the measurement, in results and objectives.")
    required: StrictBool = Field(
        default=False,
        description="A stage in which this measurement is unknown, such as for want of more than a tenth of its "
        "points, is invalid and run again; otherwise the measurement alone is unknown.",
    )
    redis: RedisMeasurement | None = Field(default=None, description="A Redis server.")
    pods: PodsMeasurement | None = Field(default=None, description="CPU and memory of the target's pods: {}.")
    prometheus: PrometheusMeasurement | None = Field(default=None, description="A query of a Prometheus.")
    cloud_monitoring: CloudMonitoringMeasurement | None = Field(
        default=None, description="Series of Google Cloud Monitoring."
    )


AT_MOST_ONE_EACH = Rule(
    "self.filter(one, has(one.redis)).size() <= 1 && self.filter(one, has(one.pods)).size() <= 1",
    "at most one measurement can be of the kind redis, and one of the kind pods: remove the others",
    lambda measurements: all(
        sum(getattr(one, kind) is not None for one in measurements) <= 1 for kind in ("redis", "pods")
    ),
)
