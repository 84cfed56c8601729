"""All cases."""

from tests.unit.api.cases import (
    refused_load,
    refused_measurements,
    refused_objectives,
    refused_rest,
    refused_target,
    refused_variants,
)
from tests.unit.api.cases.accepted import ACCEPTED

__all__ = ["ACCEPTED", "REFUSED"]

REFUSED = [
    *refused_rest.REFUSED,
    *refused_load.REFUSED,
    *refused_target.REFUSED,
    *refused_variants.REFUSED,
    *refused_objectives.REFUSED,
    *refused_measurements.REFUSED,
]
