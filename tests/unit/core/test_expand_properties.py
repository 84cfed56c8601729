"""What must hold of the plan of every spec."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from loadtest.core.expand import InvalidSpec, RunPlan, merged
from tests.unit.core.builders import plan

AXES = {
    "threads": ["1", "2", "3"],
    "workers": ["5", "7", "9"],
    "datastoreTransport": ["grpc", "http"],
    "replicas": ["1", "2"],
}

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=3)
values = st.recursive(
    st.dictionaries(st.sampled_from("abc"), scalars, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner | scalars | st.lists(scalars, max_size=2), max_size=3),
    max_leaves=8,
)
stages = st.lists(
    st.fixed_dictionaries({"injectors": st.integers(1, 50), "duration": st.sampled_from(["1s", "1500ms", "2m"])}),
    min_size=1,
    max_size=4,
)
loads = st.fixed_dictionaries({"stages": stages, "injectorsPerPod": st.integers(1, 9), "warmUp": st.just("0s")})
orders = st.sampled_from(["Sequential", "Interleaved"])


@st.composite
def listed(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.from_regex("[a-z][a-z0-9]{0,6}", fullmatch=True), min_size=1, max_size=6, unique=True))
    return {
        "variants": [
            {"name": name, "runner": {"threads": n + 1}, "values": draw(values)} for n, name in enumerate(names)
        ]
    }


@st.composite
def crossed(draw: st.DrawFn) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(sorted(AXES)), min_size=1, max_size=3, unique=True))
    axes = [
        {"setting": name, "values": draw(st.lists(st.sampled_from(AXES[name]), min_size=1, unique=True))}
        for name in chosen
    ]
    entry = st.fixed_dictionaries({}, optional={name: st.sampled_from(AXES[name]) for name in chosen}).filter(bool)
    exclude = draw(st.lists(entry, max_size=3))
    return {"variants": None, "matrix": {"axes": axes, **({"exclude": exclude} if exclude else {})}}


ANY = listed() | crossed()


@st.composite
def plans(draw: st.DrawFn, variants: st.SearchStrategy[dict[str, Any]] = ANY) -> tuple[dict[str, Any], RunPlan]:
    change = draw(variants)
    change |= {"load": draw(loads), "repeats": draw(st.integers(1, 4)), "order": draw(orders)}
    try:
        return change, plan(change)
    except InvalidSpec:
        assume(condition=False)
        raise


@given(plans())
def test_positions_are_1_to_n_and_every_variant_has_every_repeat_exactly_once(
    made: tuple[dict[str, Any], RunPlan],
) -> None:
    change, plan_ = made
    assert [repeat.position for repeat in plan_.repeats] == list(range(1, len(plan_.repeats) + 1))
    pairs = [(repeat.variant, repeat.repeat) for repeat in plan_.repeats]
    names = [variant.name for variant in plan_.variants]
    assert sorted(pairs) == sorted(itertools.product(names, range(1, change["repeats"] + 1)))
    assert plan_.stage_runs == len(pairs) * len(change["load"]["stages"])


@given(plans())
def test_interleaved_repeats_rotate_and_sequential_ones_finish_a_variant_first(
    made: tuple[dict[str, Any], RunPlan],
) -> None:
    change, plan_ = made
    names = [variant.name for variant in plan_.variants]
    done = [repeat.variant for repeat in plan_.repeats]
    if change["order"] == "Sequential":
        assert [name for name, _ in itertools.groupby(done)] == names
    else:
        passes = [done[start : start + len(names)] for start in range(0, len(done), len(names))]
        assert [one[0] for one in passes] == [names[n % len(names)] for n in range(change["repeats"])]
        assert all(sorted(one) == sorted(names) for one in passes)
        assert all(
            one[(one.index(names[0]) + n) % len(names)] == name for one in passes for n, name in enumerate(names)
        )


@given(plans(crossed()))
def test_a_matrix_is_the_product_of_its_axes_without_what_is_excluded(made: tuple[dict[str, Any], RunPlan]) -> None:
    change, plan_ = made
    axes, exclude = change["matrix"]["axes"], change["matrix"].get("exclude", [])
    wanted = []
    for words in itertools.product(*(axis["values"] for axis in axes)):
        combination = {axis["setting"]: word for axis, word in zip(axes, words, strict=True)}
        if not any(entry.items() <= combination.items() for entry in exclude):
            wanted.append(words)
    assert len(plan_.variants) == len(wanted)
    proofs = {"threads": "WEB_SERVER_THREADS", "workers": "WEB_SERVER_WORKERS"}
    for variant, words in zip(plan_.variants, wanted, strict=True):
        for axis, word in zip(axes, words, strict=True):
            if (name := proofs.get(axis["setting"])) is not None:
                assert variant.env[name] == word
    assert len({variant.name for variant in plan_.variants}) == len(wanted)
    assert all(len(variant.name) <= 40 for variant in plan_.variants)


@given(plans())
def test_workers_hold_all_injectors_and_no_worker_is_idle(made: tuple[dict[str, Any], RunPlan]) -> None:
    change, plan_ = made
    per_pod = change["load"]["injectorsPerPod"]
    for stage, asked in zip(plan_.stages, change["load"]["stages"], strict=True):
        assert stage.workers * per_pod >= asked["injectors"] > (stage.workers - 1) * per_pod
        assert stage.users == asked["injectors"] * 200


@given(plans())
@settings(max_examples=50)
def test_every_plan_survives_its_storage(made: tuple[dict[str, Any], RunPlan]) -> None:
    _, plan_ = made
    assert RunPlan.from_json(plan_.to_json()) == plan_


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if isinstance(value, dict) and value:
        return {k: v for key, inner in value.items() for k, v in leaves(inner, (*path, key)).items()}
    return {path: value}


def covers(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return path[: len(other)] == other or other[: len(path)] == path


@given(values, values)
def test_a_merge_has_every_leaf_that_is_laid_over_and_every_other_leaf_of_the_base(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    result, above = leaves(merged(base, over)), leaves(over)
    for path, value in above.items():
        if value != {}:
            assert result[path] == value
    for path, value in leaves(base).items():
        if not any(covers(path, other) for other in above):
            assert result[path] == value
    assert merged(base, {}) == base
    assert merged({}, over) == over
    assert merged(base, base) == base
