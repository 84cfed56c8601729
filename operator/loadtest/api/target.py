"""`spec.target`: what is loaded, and which Helm release is changed for the variants."""

import re
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr

from loadtest.api.durations import Duration
from loadtest.api.fields import ConfigMapKey, DnsLabel, Labels, SettingName, SettingValue, Text
from loadtest.api.model import ListMap, Rule, SpecModel, between, matches

_HOST = r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]"
_PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"  # 1 to 65535

Url = Annotated[
    StrictStr,
    Field(max_length=300),
    matches(
        f"^https?://({_HOST})(:({_PORT}))?/?$",
        "target.url must be http:// or https://, a host and, if need be, a port, without user, path or query: "
        "write it such as http://runner.runner.svc:80",
    ),
]

_OWN_HEADERS = ("x-loadtest-window", "cookie", "content-length", "transfer-encoding")
_HEADER_NAME = re.compile("[-A-Za-z0-9_]+")

Headers = Annotated[
    dict[
        str,
        Annotated[
            StrictStr,
            Field(max_length=1024),
            matches("^[ -~]*$", "the value of a header must be printable ASCII without line breaks"),
        ],
    ],
    Field(max_length=32),
    Rule(
        "self.all(name, name.matches(r'^[-A-Za-z0-9_]+$'))",
        "a name in target.headers must be letters, digits, - and _: write it such as X-Forwarded-Proto",
        lambda headers: all(_HEADER_NAME.fullmatch(name) for name in headers),
    ),
    Rule(
        f"!self.exists(name, name.lowerAscii() in [{', '.join(repr(name) for name in _OWN_HEADERS)}])",
        f"target.headers must not set {', '.join(_OWN_HEADERS)}, which the injectors set themselves: leave it out",
        lambda headers: not {name.lower() for name in headers} & set(_OWN_HEADERS),
    ),
]

ReleaseName = Annotated[
    StrictStr,
    Field(max_length=53),
    matches(
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "release.name must be the name of a Helm release: lower case letters, digits, - and ., at most 53 characters",
    ),
]

ValuePath = Annotated[
    StrictStr,
    Field(max_length=256),
    matches(
        "^[A-Za-z0-9_/-]+([.][A-Za-z0-9_/-]+)*$",
        "a path must be keys of the chart's values joined by dots, such as webServer.workers; "
        "keys that contain dots or commas are set through values of the variant",
    ),
]

EnvName = Annotated[
    StrictStr,
    Field(max_length=128),
    matches(
        "^[A-Za-z_][A-Za-z0-9_]*$",
        "env must be the name of an environment variable: letters, digits and _, not beginning with a digit",
    ),
]

RepoUrl = Annotated[
    StrictStr,
    Field(max_length=1024),
    matches(
        "^(https?|oci)://[^@?#\\s]+$",
        "chart.repo must be an https://, http:// or oci:// URL without user and query",
    ),
]


_NOT_EMPTY = Rule(
    "size(self) > 0", "target.selector.matchLabels must have a label: add one or remove target.selector", bool
)


class Tls(SpecModel):
    """How the target's certificate is verified."""

    ca_config_map: ConfigMapKey = Field(
        description="ConfigMap key that holds the PEM certificates of the authorities to trust, and no others."
    )


class Selector(SpecModel):
    """Names the target's pods."""

    match_labels: Annotated[Labels, _NOT_EMPTY] = Field(
        description="Labels that every pod of the target has, with these values."
    )


class Chart(SpecModel):
    """Where the release's chart comes from."""

    repo: RepoUrl = Field(description="URL of the chart repository, or of an OCI registry folder.")
    name: Text = Field(description="Name of the chart in the repository.")
    version: Text = Field(description="Exact version of the chart; it must be the one that is installed.")


class Setting(SpecModel):
    """Where one setting of the target lives in the chart and in the pods."""

    name: SettingName = Field(description="Name of the setting, as variants and matrix use it.")
    paths: Annotated[tuple[ValuePath, ...], Field(min_length=1, max_length=8)] = Field(
        description="Paths in the chart's values that are all set to the value, such as webServer.workers."
    )
    env: EnvName | None = Field(
        default=None,
        description="Environment variable of the target's containers that shows the value; proof that it is live.",
    )
    values: Annotated[dict[str, SettingValue], Field(max_length=32)] | None = Field(
        default=None,
        description="What the chart calls each value, such as gthread: gunicorn-threads; others are used as they are.",
    )


class Release(SpecModel):
    """The Helm release that is changed for each variant and put back at the end."""

    name: ReleaseName = Field(description="Name of the Helm release.")
    namespace: DnsLabel = Field(description="Namespace of the Helm release.")
    chart: Chart | None = Field(
        default=None,
        description="Where the chart comes from; needed only where the release cannot be rebuilt from what Helm stored "
        "(charts with subcharts).",
    )
    preset: Literal["eq-questionnaire-runner"] | None = Field(
        default=None, description="Built-in map from settings to chart values and environment, of a known application."
    )
    settings: Annotated[tuple[Setting, ...], Field(max_length=32), ListMap("name")] | None = Field(
        default=None, description="Map from settings to chart values and environment; goes before the preset's entries."
    )
    rollout_timeout: Annotated[Duration, between("release.rolloutTimeout", "10s", "2h")] = Field(
        default=Duration("10m"), description="Longest time from the end of helm to all pods of a variant being ready."
    )
    settle: Annotated[Duration, between("release.settle", "0s", "1h")] = Field(
        default=Duration("15s"), description="Rest between a finished rollout and the first load."
    )


class Target(SpecModel):
    """What is loaded."""

    rules = (
        Rule(
            "!(has(self.release) && has(self.selector))",
            "target.selector is only for a target without target.release, whose pods are found by themselves: "
            "remove target.selector",
            lambda target: target.release is None or target.selector is None,
            field=".selector",
        ),
        Rule(
            "!has(self.__namespace__) || has(self.selector)",
            "target.namespace says where target.selector looks for pods: add target.selector or remove "
            "target.namespace",
            lambda target: target.namespace is None or target.selector is not None,
            field=".namespace",
        ),
    )

    url: Url = Field(description="Where requests are sent: scheme, host and port, such as http://runner.runner.svc:80.")
    tls: Tls | None = Field(default=None, description="How an https target is verified; else by the well-known roots.")
    headers: Headers | None = Field(default=None, description="Headers that are sent with every request.")
    send_secure_cookies_over_http: StrictBool = Field(
        default=False,
        description="Send cookies marked Secure back over plain http, for targets that expect TLS before them. "
        "The report says where it was done.",
    )
    allow_scaling: StrictBool = Field(
        default=False,
        description="The target is autoscaled: pods may come and go without making a stage invalid.",
    )
    selector: Selector | None = Field(
        default=None,
        description="Names the pods of a target without release, which must be the same during a stage; without it "
        "pods are not watched.",
    )
    namespace: DnsLabel | None = Field(
        default=None, description="Namespace of the pods that selector names; the LoadTest's own if left out."
    )
    release: Release | None = Field(
        default=None, description="The Helm release to change for each variant; without it the target is loaded as is."
    )
