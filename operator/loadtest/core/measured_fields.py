"""The figures that a measurement of each kind has, for the objectives that name one."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.alias_generators import to_camel

from loadtest.api.measured import Measured, PodsFigures, QueryFigures, RedisFigures
from loadtest.api.spec import LoadTestSpec

_FIGURES: Mapping[str, type[Measured]] = {
    "redis": RedisFigures,
    "pods": PodsFigures,
    "prometheus": QueryFigures,
    "cloud_monitoring": QueryFigures,
}
"""Kind of a measurement -> what the status has of it."""


def unknown_figure(spec: LoadTestSpec) -> str | None:
    """Which objective names a figure that its measurement does not have, and the remedy; None where all do.

    A misspelt figure would leave every stage unable to judge the objective, and show it only at the end.
    """
    kinds = {one.name: kind for one in spec.measurements or () for kind in _FIGURES if getattr(one, kind) is not None}
    for objective in spec.objectives or ():
        if objective.measurement is None:
            continue
        figures, field = _FIGURES[kinds[objective.measurement.name]], objective.measurement.field
        known = sorted(to_camel(name) for name in set(figures.model_fields) - set(Measured.model_fields))
        if field not in known:
            return (
                f"spec.objectives[{objective.name}].measurement.field {field!r} is no figure of that measurement: "
                f"name one of {', '.join(known)}"
            )
    return None
