from __future__ import annotations

from loadtest.api.figures import StageResult
from loadtest.core.capacity import capacities
from loadtest.results.capacity import Law
from tests.unit.core.builders import stage, variants


def at(injectors: int, rate: float, valid: str = "True", missed: list[str] | None = None) -> StageResult:
    return stage(
        injectors, valid, injectors=injectors, requests_per_second_milli=round(1000 * rate), missed_objectives=missed
    )


def test_a_variant_has_its_knee_and_its_first_miss() -> None:
    (found,) = capacities(
        variants(
            (
                "seven",
                1,
                [at(10, 100), at(20, 200), at(30, 270, missed=["p99"]), at(40, 300, missed=["p99", "errors"])],
            ),
            ("seven", 2, [at(10, 100), at(20, 198, missed=["rate"])]),
        )
    )
    assert (found.variant, found.largest_injectors) == ("seven", 40)
    assert (found.knee_injectors, found.knee_efficiency_permille) == (30, 903)
    assert (found.missed_injectors, found.missed_objectives) == (20, ["rate"])


def test_invalid_stages_say_nothing_of_capacity() -> None:
    (found,) = capacities(variants(("seven", 1, [at(10, 100), at(20, 10, valid="False", missed=["p99"])])))
    assert (found.largest_injectors, found.knee_injectors, found.missed_injectors) == (10, None, None)
    assert capacities(variants(("seven", 1, [stage(0, "False")]))) == []


def curve(law: Law, loads: tuple[int, ...]) -> list[StageResult]:
    return [at(load, law.throughput(load)) for load in loads]


def test_a_peak_is_told_up_to_a_quarter_beyond_the_largest_load_and_not_further() -> None:
    law = Law(100, 0.02, 0.0001)  # highest at 99 injectors
    (found,) = capacities(variants(("seven", 1, curve(law, (10, 30, 50, 80)))))
    assert found.scalability is not None
    assert (found.scalability.contention_ppm, found.scalability.coherency_ppb) == (20_000, 100_000)
    assert found.scalability.single_injector_requests_per_second_milli == 100_000
    assert (found.scalability.peak_injectors, found.scalability.peak_injectors_low) == (99, 99)
    (found,) = capacities(variants(("seven", 1, curve(law, (10, 30, 50, 75)))))
    assert found.scalability is not None
    assert (found.scalability.peak_injectors, found.scalability.peak_requests_per_second) == (None, None)


def test_three_loads_have_a_knee_and_no_law() -> None:
    (found,) = capacities(variants(("seven", 1, [at(10, 100), at(20, 200), at(30, 200)])))
    assert (found.knee_injectors, found.scalability) == (30, None)
