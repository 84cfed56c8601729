"""Types of single fields that several parts of the spec share."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, StrictStr, WithJsonSchema

from loadtest.api.model import Rule, SpecModel, matches

Text = Annotated[StrictStr, Field(min_length=1, max_length=1024)]
"""A short text that may not be empty."""

DnsLabel = Annotated[
    StrictStr,
    Field(max_length=63),
    matches(
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "must be a DNS label: lower case letters, digits and -, beginning and ending with a letter or digit",
    ),
]
"""The name of a namespace."""

VariantName = Annotated[
    StrictStr,
    Field(max_length=40),
    matches(
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "a variant's name must be lower case letters, digits and -, beginning and ending with a letter or digit, "
        "at most 40 characters: write it such as two-threads",
    ),
]
"""The name of a variant: short enough to be part of object names and labels."""

ObjectName = Annotated[
    StrictStr,
    Field(max_length=253),
    matches(
        "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "must be the name of a Kubernetes object: lower case letters, digits, - and .",
    ),
]
"""The name of a ConfigMap or Secret."""

DataKey = Annotated[
    StrictStr,
    Field(max_length=253),
    matches("^[-._a-zA-Z0-9]+$", "must be a key of a ConfigMap or Secret: letters, digits, -, _ and ."),
]
"""A key inside a ConfigMap or Secret."""

SettingName = Annotated[
    StrictStr,
    Field(max_length=63),
    matches(
        "^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$",
        "a setting's name must be letters, digits, - and _, beginning with a letter: write it such as workerClass",
    ),
]
"""The name of a setting of the target, such as workerClass."""

SettingValue = Annotated[StrictStr, Field(max_length=256)]
"""The value of a setting, always a string."""

CpuQuantity = Annotated[
    StrictStr,
    Field(max_length=16),
    matches(
        "^([1-9][0-9]{0,5}m?|[0-9]{1,6}[.][0-9]{1,3})$",
        'cpu must be a quantity of CPU in a string: write it such as "3", "0.5" or "500m"',
    ),
]
"""An amount of CPU: cores, or thousandths of a core with the suffix m."""

# As the generated CRDs of Kubernetes itself write it.
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


def _number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Quantity = Annotated[
    str,
    Field(pattern=_QUANTITY),
    BeforeValidator(_number_as_text),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, "pattern": _QUANTITY}
    ),
]
"""A quantity of Kubernetes, as a string or a whole number."""

_LABEL_KEY = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_LABEL_KEY_COMPILED = re.compile(_LABEL_KEY, re.ASCII)

Labels = Annotated[
    dict[
        str,
        Annotated[
            StrictStr,
            Field(max_length=63),
            matches(
                "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$",
                "the value of a label must be letters, digits, -, _ and ., beginning and ending with a letter or digit",
            ),
        ],
    ],
    Field(max_length=16),
    Rule(
        f"self.all(key, key.matches('{_LABEL_KEY}'))",
        "the key of a label must be letters, digits, -, _ and ., after an optional domain and a slash: "
        "write it such as app.kubernetes.io/name",
        lambda labels: all(_LABEL_KEY_COMPILED.fullmatch(key) for key in labels),
    ),
]
"""Labels and their values, all of which must match."""

Injectors = Annotated[StrictInt, Field(ge=1, le=1000)]
"""A number of injectors."""


class ConfigMapKey(SpecModel):
    """One key of a ConfigMap in the LoadTest's namespace."""

    name: ObjectName = Field(description="Name of the ConfigMap.")
    key: DataKey = Field(description="Key inside the ConfigMap.")


class SecretName(SpecModel):
    """A Secret in the LoadTest's namespace."""

    name: ObjectName = Field(description="Name of the Secret.")
