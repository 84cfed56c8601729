"""The report's section on how far each variant scales."""

from __future__ import annotations

from loadtest.api.capacity import VariantCapacity
from loadtest.report.document import Section, table
from loadtest.report.result import Result
from loadtest.results.tables import DASH, count

KNEE_NOTE = (
    "Loads in injectors. The knee is the first load at which an injector gets less than 95 % of the throughput that it "
    "has at the smallest loads."
)
LAW_NOTE = (
    "The law is a curve through the points, with contention and coherency not negative; a peak is told up to 1.25 "
    "times the largest load measured, and not beyond."
)


def section(result: Result) -> Section | None:
    """The knee and the law of each variant; None where only one load was measured."""
    found = [one for one in result.status.capacity or () if len(_loads(result, one.variant)) > 1]
    if not found:
        return None
    laws = [one for one in found if one.scalability is not None]
    tables = [
        table(
            ("Variant", "Knee", "Efficiency there", "First miss", "Objective", "Largest load"),
            [_knee(one) for one in found],
        )
    ]
    if laws:
        tables.append(
            table(
                ("Variant", "Contention", "95 % interval", "Coherency", "95 % interval", "Peak at", "Requests/s there"),
                [_law(one) for one in laws],
                "Universal Scalability Law, beside it",
            )
        )
    text = [KNEE_NOTE, LAW_NOTE] if laws else [KNEE_NOTE]
    return Section("Capacity", text=tuple(text), tables=tuple(tables))


def _loads(result: Result, name: str) -> set[int]:
    return {stage.injectors for variant, _, stage in result.stages() if variant.name == name and stage.valid == "True"}


def _knee(one: VariantCapacity) -> list[str]:
    efficiency = one.knee_efficiency_permille
    return [
        one.variant,
        "none" if one.knee_injectors is None else count(one.knee_injectors),
        DASH if efficiency is None else f"{efficiency / 10:.1f} %",
        "none" if one.missed_injectors is None else count(one.missed_injectors),
        ", ".join(one.missed_objectives or ()) or DASH,
        count(one.largest_injectors),
    ]


def _law(one: VariantCapacity) -> list[str]:
    law = one.scalability
    if law is None:  # pragma: no cover - asked only of those that have one
        raise AssertionError("a variant without a law has no row")
    contention, coherency = law.contention_ppm_interval, law.coherency_ppb_interval
    peak = "beyond" if law.peak_injectors is None else count(law.peak_injectors)
    if law.peak_injectors is not None:
        high = "beyond" if law.peak_injectors_high is None else count(law.peak_injectors_high)
        peak += f" ({count(law.peak_injectors_low)} to {high})"
    return [
        one.variant,
        f"{law.contention_ppm / 1e6:.6f}",
        f"{contention.low / 1e6:.6f} to {contention.high / 1e6:.6f}",
        f"{law.coherency_ppb / 1e9:.9f}",
        f"{coherency.low / 1e9:.9f} to {coherency.high / 1e9:.9f}",
        peak,
        count(law.peak_requests_per_second),
    ]
