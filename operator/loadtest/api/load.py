"""`spec.load`: how much load, in which stages."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from loadtest.api.durations import Duration
from loadtest.api.fields import Injectors
from loadtest.api.model import Rule, SpecModel, between

MAX_USERS = 1_000_000
"""Most users of one stage."""


class Stage(SpecModel):
    """One injector count, held for one duration."""

    injectors: Injectors = Field(description="Number of injectors.")
    duration: Annotated[Duration, between("duration of a stage", "1s", "24h")] = Field(
        description="How long the stage's window lasts, once all its users run."
    )


class WaitTime(SpecModel):
    """How long a user waits after a page: a whole number of seconds drawn from min to max, both included."""

    rules = (
        Rule(
            "!self.min.matches('^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,9}s)?$') || self.min == '' || "
            "!self.max.matches('^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,9}s)?$') || self.max == '' || "
            "duration(self.min) <= duration(self.max)",
            "load.waitTime.min must not be longer than load.waitTime.max: lower min or raise max",
            lambda wait: wait.min.millis <= wait.max.millis,
        ),
    )

    min: Annotated[Duration, between("load.waitTime.min", "0s", "1h", whole_seconds=True)] = Field(
        default=Duration("1s"), description="Shortest wait, in whole seconds."
    )
    max: Annotated[Duration, between("load.waitTime.max", "0s", "1h", whole_seconds=True)] = Field(
        default=Duration("2s"), description="Longest wait, in whole seconds."
    )


class Load(SpecModel):
    """How much load, in which stages."""

    rules = (
        Rule(
            f"self.stages.all(stage, stage.injectors * self.usersPerInjector <= {MAX_USERS})",
            f"a stage has more than {MAX_USERS} users (injectors times load.usersPerInjector): lower one of the two",
            lambda load: all(stage.injectors * load.users_per_injector <= MAX_USERS for stage in load.stages),
        ),
        Rule(
            "self.mode != 'Open' || has(self.ratePerInjector)",
            "load.mode Open needs load.ratePerInjector, the requests that each injector begins per second: add it",
            lambda load: load.mode != "Open" or load.rate_per_injector is not None,
            field=".mode",
        ),
        Rule(
            "self.mode == 'Open' || !has(self.ratePerInjector)",
            "load.ratePerInjector is for load.mode Open: set that mode, or remove ratePerInjector",
            lambda load: load.mode == "Open" or load.rate_per_injector is None,
            field=".ratePerInjector",
        ),
    )

    mode: Literal["Closed", "Open"] = Field(
        default="Closed",
        description="Closed: a fixed number of users, each of which sends a request when the one before has ended and "
        "the wait is over. Open: requests are begun at a fixed rate, whether the target keeps up or not; users bound "
        "how many are under way at once, and waitTime is not used.",
    )
    stages: Annotated[tuple[Stage, ...], Field(min_length=1, max_length=50)] = Field(
        description="The stages, run in this order for each variant."
    )
    users_per_injector: Annotated[StrictInt, Field(ge=1, le=10_000)] = Field(
        default=200, description="Users that each injector simulates."
    )
    spawn_rate_per_injector: Annotated[StrictInt, Field(ge=1, le=10_000)] = Field(
        default=200, description="Users that each injector starts per second until all run."
    )
    wait_time: WaitTime = Field(
        default=WaitTime(), description="How long a user waits after each page of the requests file."
    )
    warm_up: Annotated[Duration, between("load.warmUp", "0s", "1h")] = Field(
        default=Duration("1m"),
        description="Load before the first window of each run, at the first stage's users; measured apart, never part "
        "of a result.",
    )
    request_timeout: Annotated[Duration, between("load.requestTimeout", "100ms", "1h")] = Field(
        default=Duration("60s"), description="Longest time of a request; then it is a failure of kind timeout."
    )
    injectors_per_pod: Annotated[StrictInt, Field(ge=1, le=1000)] = Field(
        default=1, description="How many injectors' users share one worker pod."
    )
    rate_per_injector: Annotated[StrictInt, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="With mode Open: requests that each injector begins per second."
    )
    max_stage_reruns: Annotated[StrictInt, Field(ge=0, le=5)] = Field(
        default=1, description="How often an invalid stage is run again before it is reported as invalid."
    )
