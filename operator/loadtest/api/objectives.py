"""`spec.objectives`: what each stage is asked to reach, and what a miss means."""

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from loadtest.api.durations import Duration
from loadtest.api.measurements import MeasurementName
from loadtest.api.model import Rule, SpecModel, between, matches

MAX_OBJECTIVES = 10

Percentile = Literal["50", "66", "75", "80", "90", "95", "98", "99", "99.9", "99.99"]
"""The percentiles that a stage's figures have."""

OnMiss = Literal["StopVariant", "Fail", "Report"]

ObjectiveName = Annotated[
    StrictStr,
    Field(max_length=40),
    matches(
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "an objective's name must be lower case letters, digits and -, beginning and ending with a letter or digit, "
        "at most 40 characters: write it such as p99",
    ),
]

Percentage = Annotated[
    StrictStr,
    Field(max_length=16),
    matches(
        "^(100|[1-9][0-9]?([.][0-9]{1,6})?|0[.]0{0,5}[1-9][0-9]{0,5})%$",
        'must be a percentage above 0% and up to 100%: write it such as "0.1%"',
    ),
]
"""A share of 100, as text with its sign."""

Rate = Annotated[
    StrictStr,
    Field(max_length=16),
    matches(
        "^[0-9]{1,9}([.][0-9]{1,3})?/s$",
        'must be a rate per second, with at most three digits after the point: write it such as "2400/s"',
    ),
]
"""So many a second, as text with its unit."""

Bound = Annotated[StrictInt, Field(ge=0, le=9_007_199_254_740_991)]
"""A whole number that any reader of JSON keeps exactly."""


def share_of(percentage: str) -> Fraction:
    """The share, from 0 to 1, that a `Percentage` says."""
    return Fraction(percentage.removesuffix("%")) / 100


def per_second(rate: str) -> Fraction:
    """The number a second that a `Rate` says."""
    return Fraction(rate.removesuffix("/s"))


class LatencyObjective(SpecModel):
    """A bound on a percentile of the response times of the stage's successful requests."""

    percentile: Percentile = Field(description="Which percentile, as text.")
    below: Annotated[Duration, between("latency.below", "1ms", "1h")] = Field(
        description="It must be shorter than this."
    )


class FailureRatioObjective(SpecModel):
    """A bound on the share of the stage's requests that failed."""

    below: Percentage = Field(description="The share must be smaller than this, such as 0.1%.")


class ThroughputObjective(SpecModel):
    """A bound on the stage's requests per second, failed ones too."""

    above: Rate = Field(description="The rate must be higher than this, such as 2400/s.")


class MeasurementObjective(SpecModel):
    """A bound on a figure of a measurement."""

    rules = (
        Rule(
            "has(self.below) != has(self.above)",
            "an objective of a measurement must have exactly one bound: below or above",
            lambda bound: (bound.below is None) != (bound.above is None),
        ),
    )

    name: MeasurementName = Field(description="Which of spec.measurements.")
    field: Annotated[
        StrictStr,
        Field(max_length=63),
        matches(
            "^[a-z][A-Za-z0-9]*$",
            "field must be the name of a figure of the measurement in the status: write it such as connectionsPeak",
        ),
    ] = Field(description="Which of its figures in the status, such as connectionsPeak.")
    below: Bound | None = Field(default=None, description="It must be lower than this, in the unit that it names.")
    above: Bound | None = Field(default=None, description="It must be higher than this, in the unit that it names.")


_KINDS = ("latency", "failure_ratio", "throughput", "measurement")


def _kinds(objective: Any) -> int:
    return sum(getattr(objective, kind) is not None for kind in _KINDS)


class Objective(SpecModel):
    """One thing that each stage is asked to reach. Exactly one kind."""

    rules = (
        Rule(
            "[has(self.latency), has(self.failureRatio), has(self.throughput), has(self.measurement)]"
            ".filter(kind, kind).size() == 1",
            "an objective must name exactly one kind: latency, failureRatio, throughput or measurement",
            lambda objective: _kinds(objective) == 1,
        ),
    )

    name: ObjectiveName = Field(description="What it is called in the result.")
    latency: LatencyObjective | None = Field(default=None, description="Bound on a percentile.")
    failure_ratio: FailureRatioObjective | None = Field(
        default=None, description="Bound on the share of failed requests."
    )
    throughput: ThroughputObjective | None = Field(default=None, description="Bound on the requests per second.")
    measurement: MeasurementObjective | None = Field(
        default=None, description="Bound on something that is measured beside the load."
    )
    stages: (
        Annotated[tuple[Annotated[StrictInt, Field(ge=0, le=49)], ...], Field(min_length=1, max_length=50)] | None
    ) = Field(default=None, description="Only these of load.stages, counted from 0; all of them if left out.")
    on_miss: OnMiss = Field(
        default="Report",
        description="Report: the verdict is Miss. StopVariant: as Report, and the stages left of that repeat are "
        "skipped; the run goes on with the next one. Fail: the verdict is Fail.",
    )

    def says(self) -> str:
        """The objective as a short text for people, such as `p99 below 1s`."""
        if self.latency is not None:
            return f"p{self.latency.percentile} below {self.latency.below}"
        if self.failure_ratio is not None:
            return f"failures below {self.failure_ratio.below}"
        if self.throughput is not None:
            return f"throughput above {self.throughput.above}"
        if (one := self.measurement) is not None:
            bound = f"below {one.below}" if one.below is not None else f"above {one.above}"
            return f"{one.name} {one.field} {bound}"
        raise AssertionError("an objective has one kind")  # pragma: no cover - its rule sees to it
