"""`status.capacity`: how far each variant scales."""

from pydantic import Field

from loadtest.api.figures import Interval
from loadtest.api.model import StatusModel


class Scalability(StatusModel):
    """The Universal Scalability Law fitted to the valid stages: secondary to the knee, and no proof of anything.

    Contention and coherency are not negative. Intervals are 95 %, by resampling the residuals.
    """

    single_injector_requests_per_second_milli: int = Field(
        description="Throughput of one injector by the law, in thousandths of a request per second."
    )
    contention_ppm: int = Field(description="Share of the work that is done one after the other, in millionths.")
    contention_ppm_interval: Interval = Field(description="Its interval.")
    coherency_ppb: int = Field(description="Cost of keeping each pair of injectors' work in step, in billionths.")
    coherency_ppb_interval: Interval = Field(description="Its interval.")
    peak_injectors: int | None = Field(
        default=None,
        description="Load of the highest throughput; absent where that is beyond 1.25 times the largest load measured.",
    )
    peak_injectors_low: int | None = Field(default=None, description="Lower end of its interval.")
    peak_injectors_high: int | None = Field(
        default=None, description="Upper end; absent where it is more than 1.25 times the largest load measured."
    )
    peak_requests_per_second: int | None = Field(default=None, description="Throughput at that load.")


class VariantCapacity(StatusModel):
    """How far one variant scales, over its valid stages."""

    variant: str = Field(description="Name of the variant.")
    largest_injectors: int = Field(description="Largest load that was measured.")
    knee_injectors: int | None = Field(
        default=None,
        description="Smallest load at which an injector gets less than 95 % of the throughput that it has at the two "
        "smallest loads (of three loads or fewer, at the smallest); absent where none was measured.",
    )
    knee_efficiency_permille: int | None = Field(
        default=None, description="Throughput per injector there, in thousandths of that at the smallest loads."
    )
    missed_injectors: int | None = Field(
        default=None, description="Smallest load at which an objective was missed in any repeat."
    )
    missed_objectives: list[str] | None = Field(default=None, description="Names of the objectives missed there.")
    scalability: Scalability | None = Field(
        default=None, description="The law beside it; absent with fewer than four different loads."
    )
