"""What was measured beside the load, in the status: whole numbers with the unit in their name.

A measurement that has too few points is unknown: it says why and has no figure at all. Missing is never zero.
"""

from pydantic import Field

from loadtest.api.model import StatusModel


class Measured(StatusModel):
    """What all kinds of measurement have in common."""

    name: str = Field(description="Name of the measurement in spec.measurements.")
    points: int | None = Field(default=None, description="Points that were taken.")
    points_expected: int | None = Field(default=None, description="Points that the whole window has.")
    unknown_reason: str | None = Field(
        default=None, description="Why there are no figures, in one word; absent where there are."
    )
    unknown_message: str | None = Field(default=None, description="Why there are no figures, in a sentence.")


class RedisFigures(Measured):
    """A Redis server through the window. Rates are differences of its own counters, first point to last."""

    connections_peak: int | None = Field(
        default=None, description="Most clients connected at any point, without the one that asks."
    )
    connections_mean: int | None = Field(default=None, description="Mean of the points' connected clients, rounded.")
    cpu_millicores: int | None = Field(
        default=None, description="CPU time of the server's process per time, in thousandths of a core, rounded."
    )
    cpu_microcores: int | None = Field(default=None, description="The same in millionths of a core.")
    ops_per_second: int | None = Field(
        default=None, description="Commands processed per second, rounded; one a second is the one that asks."
    )
    evicted_keys: int | None = Field(default=None, description="Keys evicted for want of memory.")
    memory_bytes_peak: int | None = Field(default=None, description="Most memory used at any point, in bytes.")


class PodsFigures(Measured):
    """The target's pods through the window. Their set was the same throughout."""

    pods: int | None = Field(default=None, description="Number of pods.")
    restarts: int | None = Field(default=None, description="Restarts of their containers during the stage.")
    cpu_millicores: int | None = Field(
        default=None, description="CPU time of all pods per time, in thousandths of a core, rounded."
    )
    cpu_millicores_available: int | None = Field(
        default=None,
        description="CPU that all pods may count on, in thousandths of a core: of each container its limit, else its "
        "request; absent where a container has neither.",
    )
    memory_bytes_peak: int | None = Field(
        default=None, description="Most memory of a single pod at any point (working set), in bytes."
    )
    covered_permille: int | None = Field(
        default=None, description="Share of the window that the intervals of the least covered pod cover."
    )


class QueryFigures(Measured):
    """A query's values over the window."""

    mean_milli: int | None = Field(default=None, description="Mean of the points, in thousandths, rounded.")
    min_milli: int | None = Field(default=None, description="Lowest point, in thousandths.")
    max_milli: int | None = Field(default=None, description="Highest point, in thousandths.")
