"""`spec.injector` and `spec.scenario`: the pods that make the load, and what their users do."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from loadtest.api.fields import ConfigMapKey, Labels, ObjectName, Quantity, SecretName, Text
from loadtest.api.model import ListMap, Rule, SpecModel, matches

Amounts = Annotated[dict[str, Quantity], Field(max_length=8)]


MeasuringAccount = Annotated[
    StrictStr,
    Field(max_length=63),
    matches(
        "^loadtest-measure(-[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        "masterServiceAccount must be loadtest-measure, or that and a suffix such as loadtest-measure-gke: no account "
        "that was made for something else",
    ),
]
"""A service account that was made for measuring.

Whoever may create a LoadTest names image and account of its master, so no account with another purpose can be named.
"""


class Resources(SpecModel):
    """Compute resources of a pod's container."""

    requests: Amounts | None = Field(default=None, description="Amounts that are kept free for the container.")
    limits: Amounts | None = Field(default=None, description="Amounts that the container may not exceed.")


class Toleration(SpecModel):
    """A taint of nodes that injector pods accept."""

    key: Annotated[StrictStr, Field(max_length=317)] | None = Field(default=None, description="Key of the taint.")
    operator: Literal["Equal", "Exists"] | None = Field(default=None, description="How the value is compared.")
    value: Annotated[StrictStr, Field(max_length=63)] | None = Field(default=None, description="Value of the taint.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Effect of the taint; every effect if left out."
    )
    toleration_seconds: StrictInt | None = Field(
        default=None, description="How long a NoExecute taint is accepted; for ever if left out."
    )


class PullSecret(SpecModel):
    """A Secret that pulls the image."""

    name: ObjectName = Field(description="Name of a Secret in the LoadTest's namespace.")


class Injector(SpecModel):
    """The pods that make the load: a Locust master and its workers."""

    image: Text | None = Field(default=None, description="Image of master and workers; the operator's own if left out.")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        default=None, description="When the image is pulled; as the operator is configured if left out."
    )
    resources: Resources | None = Field(default=None, description="Compute resources of each worker pod.")
    node_selector: Labels | None = Field(default=None, description="Labels of the nodes on which the pods run.")
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=16)] | None = Field(
        default=None, description="Taints of nodes that the pods accept."
    )
    affinity: dict[str, Any] | None = Field(
        default=None, description="Affinity of the pods, as in a pod's spec; it is judged when the pods are made."
    )
    master_service_account: MeasuringAccount | None = Field(
        default=None,
        description="Service account of the Locust master, in the LoadTest's namespace, as which it asks sources of "
        "measurements: loadtest-measure, or that and a suffix. Workers have none.",
    )
    image_pull_secrets: Annotated[tuple[PullSecret, ...], Field(max_length=8), ListMap("name")] | None = Field(
        default=None, description="Secrets in the LoadTest's namespace that pull the image."
    )


class Launch(SpecModel):
    """How a user's journey is launched: with a token that is signed and encrypted for the target."""

    keys_secret: SecretName = Field(
        description="Secret with signing.pem (RSA private key) and encryption.pem (RSA public key) of the target's "
        "test keys, and optionally signing.kid and encryption.kid."
    )
    claims: Annotated[dict[str, Annotated[StrictStr, Field(max_length=1024)]], Field(max_length=64)] | None = Field(
        default=None, description="Claims of the token that differ from the built-in ones."
    )


class RequestsScenario(SpecModel):
    """Replays a requests file, one after the other, over and over."""

    config_map: ConfigMapKey = Field(description="ConfigMap key that holds the requests file (JSON).")
    launch: Launch | None = Field(
        default=None, description="How each journey is launched; without it, it begins with the file's first request."
    )


class LocustfileScenario(SpecModel):
    """Runs the user classes of a locustfile of one's own."""

    config_map: ConfigMapKey = Field(
        description="ConfigMap key that holds the locustfile. The other keys of the ConfigMap are files beside it, "
        "which it can import and read. What it needs of pip must be in spec.injector.image."
    )


class Scenario(SpecModel):
    """What each user does. Exactly one kind."""

    rules = (
        Rule(
            "[has(self.requests), has(self.locustfile)].filter(kind, kind).size() == 1",
            "scenario must name exactly one kind of scenario: requests or locustfile",
            lambda scenario: sum(getattr(scenario, kind) is not None for kind in Scenario.model_fields) == 1,
        ),
    )

    requests: RequestsScenario | None = Field(default=None, description="Replay a requests file.")
    locustfile: LocustfileScenario | None = Field(
        default=None, description="Run a locustfile; load.waitTime is not used, the file has its own."
    )
