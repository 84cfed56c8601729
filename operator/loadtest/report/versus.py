"""Two results beside each other: two LoadTests, or published Locust CSVs with either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from loadtest.api.comparison import VariantComparison
from loadtest.api.figures import Figures
from loadtest.api.spec import LoadTestSpec
from loadtest.api.status import RunResult, VariantResult
from loadtest.core.compare import common_stages, comparisons
from loadtest.core.expand import RunPlan, StagePlan, VariantPlan, expand
from loadtest.report import compared
from loadtest.report.document import Document, Section, table
from loadtest.report.result import Result
from loadtest.results.figures import pooled
from loadtest.results.locust_csv import Imported
from loadtest.results.record import parse
from loadtest.results.tables import DASH, count

_NO_RUN = "0" * 16

NOT_IN_TURN = (
    "The two were not run in turn: what else differed between their days is in the differences, and no statistic can "
    "take it out. To claim a cause, run both as variants of one LoadTest, with order: Interleaved."
)


class NotComparable(ValueError):  # noqa: N818 - named for the fact
    """The two have nothing in common that could be compared. The message says what was looked for."""


@dataclass(frozen=True)
class Side:
    """One variant of a result, under the name by which it is shown."""

    label: str
    result: Result
    variant: VariantResult


def sides(first: Result, second: Result, pairs: Sequence[tuple[str, str]]) -> list[tuple[Side, Side]]:
    """The variants that belong together: as `pairs` say, else those of the same name, else the only ones.

    Raises:
        NotComparable: a name is none of the variants, or nothing belongs together.
    """
    mine = {variant.name: variant for variant in first.variants}
    others = {variant.name: variant for variant in second.variants}
    chosen = list(pairs) or [(name, name) for name in mine if name in others]
    if not chosen and len(mine) == len(others) == 1:
        chosen = [(next(iter(mine)), next(iter(others)))]
    for name, known, of in [*((a, mine, first) for a, _ in chosen), *((b, others, second) for _, b in chosen)]:
        if name not in known:
            raise NotComparable(f"{of.name} has no variant {name!r}: it has {', '.join(known) or 'none'}")
    if not chosen:
        raise NotComparable(
            f"no variant of {first.name} ({', '.join(mine) or 'none'}) is one of {second.name} "
            f"({', '.join(others) or 'none'}): say which belong together with --variant FIRST=SECOND"
        )
    same = first.name == second.name
    names = (f"{first.name} (first)", f"{second.name} (second)") if same else (first.name, second.name)
    return [(Side(f"{names[0]}: {a}", first, mine[a]), Side(f"{names[1]}: {b}", second, others[b])) for a, b in chosen]


@dataclass(frozen=True)
class Comparison:
    """The second result beside the first, which is the baseline; `notes` say what else differs."""

    first: str
    second: str
    notes: tuple[str, ...]
    found: tuple[VariantComparison, ...]


def compare(first: Result, second: Result, pairs: Sequence[tuple[str, str]] = ()) -> Comparison:
    """Compare the variants that belong together, over the stages that make the same load.

    Raises:
        NotComparable: they have nothing in common.
    """
    found = [one for base, other in sides(first, second, pairs) for one in _compared(base, other)]
    if not found:
        raise NotComparable(
            f"{first.name} and {second.name} have no stage in common that is valid in both, with the same injectors, "
            "users and duration"
        )
    notes = (NOT_IN_TURN, *_differing_load(first.spec, second.spec))
    return Comparison(first.name, second.name, notes, tuple(found))


def document(made: Comparison) -> Document:
    """A comparison for people."""
    sections = [compared.section([one]) for one in made.found]
    return Document(
        f"{made.second} compared with {made.first}", made.notes, tuple(each for each in sections if each is not None)
    )


def _compared(base: Side, other: Side) -> list[VariantComparison]:
    shared = _shared_stages(base.result.spec, other.result.spec)
    spec = other.result.spec
    if spec is None or not shared:
        return []
    variants = [_only(side, shared) for side in (base, other)]
    plan = expand(_NO_RUN, spec).model_copy(
        update={
            "spec": spec.model_copy(update={"baseline": base.label}),
            "variants": tuple(VariantPlan(name=side.label) for side in (base, other)),
        }
    )
    complete = all(side.result.status.phase == "Succeeded" for side in (base, other))
    return comparisons(plan, variants, _overall((base, other), variants), complete=complete)


def _shared_stages(first: LoadTestSpec | None, second: LoadTestSpec | None) -> set[int]:
    """Stages at the same place that make the same load for the same time."""
    if first is None or second is None:
        return set()
    mine, others = _stages(first), _stages(second)
    return {index for index in mine if index in others and mine[index] == others[index]}


def _stages(spec: LoadTestSpec) -> dict[int, tuple[int, int, float]]:
    plan: RunPlan = expand(_NO_RUN, spec)
    return {stage.index: _load(stage) for stage in plan.stages}


def _load(stage: StagePlan) -> tuple[int, int, float]:
    return stage.injectors, stage.users, stage.seconds


def _only(side: Side, stages: set[int]) -> VariantResult:
    """The variant with these stages alone, under its label."""
    runs = [
        run.model_copy(update={"stages": [stage for stage in run.stages if stage.index in stages]})
        for run in side.variant.runs
    ]
    return side.variant.model_copy(update={"name": side.label, "runs": runs})


def _overall(both: Sequence[Side], variants: Sequence[VariantResult]) -> Mapping[tuple[str, int], Figures]:
    """Each repeat over the stages that are valid everywhere; nothing where one of the records is not there."""
    stages = common_stages(variants)
    found: dict[tuple[str, int], Figures] = {}
    for side, variant in zip(both, variants, strict=True):
        for run in variant.runs:
            whole = _repeat(side.result, run, stages)
            if whole is None:
                return {}
            found[variant.name, run.repeat] = whole
    return found


def _repeat(result: Result, run: RunResult, stages: Sequence[int]) -> Figures | None:
    records = [result.record(stage) for stage in run.stages if stage.index in stages]
    known = [parse(stored) for stored in records if stored is not None]
    return pooled(known) if known and len(known) == len(records) else None


def _differing_load(first: LoadTestSpec | None, second: LoadTestSpec | None) -> list[str]:
    """What else the two specs ask differently of the load; stages are compared one by one."""
    if first is None or second is None:
        return []
    fields = ("waitTime", "mode", "spawnRatePerInjector", "requestTimeout", "warmUp")
    mine, others = first.load.to_wire(), second.load.to_wire()
    told = [
        f"load.{field} is {mine.get(field)} in the first and {others.get(field)} in the second"
        for field in fields
        if mine.get(field) != others.get(field)
    ]
    if first.scenario != second.scenario:
        told.append("the scenarios are not the same")
    return [f"Not the same load: {'; '.join(told)}."] if told else []


@dataclass(frozen=True)
class Old:
    """A result's figures by the old definition, in milliseconds, and its counts."""

    label: str
    requests: int
    failures: int
    figures: Mapping[str, Fraction]


ROWS = ("GETs (99th)", "POSTs (99th)", "All requests (99th)", "50th", "90th", "95th", "99.9th")
_OLD_FIELDS = (
    "gets_p99_micros", "posts_p99_micros", "all_p99_micros", "p50_micros", "p90_micros", "p95_micros", "p999_micros",
)  # fmt: skip


def old_of(source: Result | Imported) -> list[Old]:
    """What a result has of the old definition: an import has one set, a LoadTest one for each variant."""
    if isinstance(source, Imported):
        values = (
            source.old(method="GET"), source.old(method="POST"), source.old(), source.old("50"), source.old("90"),
            source.old("95"), source.old("99.9"),
        )  # fmt: skip
        known = {row: value for row, value in zip(ROWS, values, strict=True) if value is not None}
        return [Old(source.name, source.requests, source.failures, known)]
    found = []
    for variant in source.variants:
        figures = variant.pooled
        if figures is None or figures.old_definition is None:
            continue
        micros = {row: getattr(figures.old_definition, field) for row, field in zip(ROWS, _OLD_FIELDS, strict=True)}
        known = {row: Fraction(value, 1000) for row, value in micros.items() if value is not None}
        label = f"{source.name}: {variant.name}"
        found.append(Old(label, figures.requests or 0, figures.failures or 0, known))
    return found


def compare_old(first: Result | Imported, second: Result | Imported) -> tuple[list[Old], list[Old]]:
    """The old figures of both, the only ones that an import shares with a LoadTest.

    Raises:
        NotComparable: one of them has none.
    """
    mine, others = old_of(first), old_of(second)
    for source, found in ((first, mine), (second, others)):
        if not found:
            raise NotComparable(f"{source.name} has no figures by the old definition: none of its stages is valid")
    return mine, others


def old_document(first: Result | Imported, second: Result | Imported) -> Document:
    """Two results by the old definition, for people.

    Raises:
        NotComparable: one of them has none.
    """
    mine, others = compare_old(first, second)
    return Document(
        f"{second.name} compared with {first.name}",
        (
            (
                "By the old definition: request-weighted means of the endpoints' percentiles, in milliseconds. They "
                "are no percentiles, and only these are known of both. Indicative: one pass each tells nothing of "
                "chance, and no winner is named."
            ),
            NOT_IN_TURN,
        ),
        tuple(_old_section(base, other) for base in mine for other in others),
    )


def _old_section(base: Old, other: Old) -> Section:
    rows = [
        [row, _millis(base.figures.get(row)), _millis(other.figures.get(row)), _ratio(base, other, row)] for row in ROWS
    ]
    rows += [
        ["Total requests", count(base.requests), count(other.requests), DASH],
        ["Failures", count(base.failures), count(other.failures), DASH],
    ]
    return Section(
        f"{other.label} and {base.label}", tables=(table(["Metric", base.label, other.label, "Ratio"], rows),)
    )


def _millis(value: Fraction | None) -> str:
    return DASH if value is None else f"{float(value):,.2f}"


def _ratio(base: Old, other: Old, row: str) -> str:
    if not base.figures.get(row) or row not in other.figures:
        return DASH
    return f"{float(other.figures[row] / base.figures[row]):.3f}"
