from __future__ import annotations

import math
from typing import Any

import pytest

from loadtest.core.expand import InvalidSpec, RunPlan, expand, merged, order
from tests.unit.api.cases.base import BARE, WITH_RELEASE, axes, matrix, one_setting, runner, settings_of_its_own
from tests.unit.core.builders import RUN, SMALL, plan, spec


def test_a_variant_is_resolved_into_chart_values_proofs_and_the_paths_that_the_chart_must_know() -> None:
    first, second = plan().variants
    assert first.values == {
        "webServer": {"type": "gunicorn-threads", "workers": "7", "threads": "7"},
        "datastore": {"useGRPC": "True"},
        "autoscaler": {"minReplicas": 50, "maxReplicas": 50},
    }
    assert first.env == {
        "WEB_SERVER_TYPE": "gunicorn-threads",
        "WEB_SERVER_WORKERS": "7",
        "WEB_SERVER_THREADS": "7",
        "DATASTORE_USE_GRPC": "True",
    }
    assert first.replicas == 50
    assert first.paths == {
        "webServer.type": "workerClass",
        "webServer.workers": "workers",
        "webServer.threads": "threads",
        "datastore.useGRPC": "datastoreTransport",
        "autoscaler.minReplicas": "replicas",
        "autoscaler.maxReplicas": "replicas",
    }
    assert second.values["webServer"]["threads"] == "2"


def test_chart_values_of_a_variant_are_merged_last() -> None:
    change = {
        "variants": [{"name": "one", "runner": {"workers": 7}, "values": {"webServer": {"workers": "9", "x": 1}}}]
    }
    assert plan(change).variants[0].values == {"webServer": {"workers": "9", "x": 1}}


def test_a_target_as_it_is_has_one_variant_that_changes_nothing() -> None:
    (variant,) = plan(base=BARE).variants
    assert (variant.name, variant.values, variant.env, variant.replicas) == ("current", {}, {}, None)


def test_a_release_may_map_settings_of_its_own_and_override_those_of_the_preset() -> None:
    own = plan(settings_of_its_own({"poolSize": "20"}))
    assert own.variants[0].values == {"pool": {"size": 20}}
    overridden = plan(one_setting(env="WORKERS", values={"7": "seven"}))
    assert overridden.variants[0].values["webServer"]["workers"] == "seven"
    assert overridden.variants[0].env["WORKERS"] == "seven"


def test_a_setting_named_replicas_is_a_number_whatever_words_it_is_given_in() -> None:
    change = {
        "target": {"release": {"preset": None, "settings": [
            {"name": "replicas", "paths": ["pods"], "values": {"few": "3"}}
        ]}},
        "variants": [{"name": "one", "settings": {"replicas": "few"}}],
    }  # fmt: skip
    (variant,) = plan(change).variants
    assert (variant.values, variant.replicas) == ({"pods": 3}, 3)


def test_the_rate_of_an_open_load_is_that_of_all_injectors() -> None:
    open_load = {"load": {"mode": "Open", "ratePerInjector": 30}}
    assert [stage.rate for stage in plan(open_load).stages] == [300, 450]
    assert {stage.rate for stage in plan().stages} == {None}


def test_stages_are_counted_in_users_and_workers() -> None:
    change = {"load": {"usersPerInjector": 200, "spawnRatePerInjector": 50, "injectorsPerPod": 4}}
    first, second = plan(change).stages
    assert (first.injectors, first.users, first.spawn_rate, first.workers, first.seconds) == (10, 2000, 500, 3, 1200)
    assert (second.index, second.injectors, second.workers) == (1, 15, 4)


@pytest.mark.parametrize(
    ("names", "repeats", "how", "expected"),
    [
        (["a"], 2, "Sequential", "a1 a2"),
        (["a", "b"], 2, "Sequential", "a1 a2 b1 b2"),
        (["a", "b"], 2, "Interleaved", "a1 b1 b2 a2"),
        (["a", "b", "c"], 4, "Interleaved", "a1 b1 c1 b2 c2 a2 c3 a3 b3 a4 b4 c4"),
        (["a"], 3, "Interleaved", "a1 a2 a3"),
    ],
)
def test_the_order_of_repeats(names: list[str], repeats: int, how: str, expected: str) -> None:
    assert " ".join(f"{name}{repeat}" for name, repeat in order(names, repeats, how)) == expected


def test_a_matrix_makes_a_variant_of_every_combination_with_the_last_axis_fastest() -> None:
    made = plan(matrix())
    assert [variant.name for variant in made.variants] == [
        f"threads-{threads}-workers-{workers}" for threads in (2, 3, 7) for workers in (5, 7)
    ]
    assert made.variants[1].env == {"WEB_SERVER_THREADS": "2", "WEB_SERVER_WORKERS": "7"}


def test_a_matrix_leaves_out_what_is_excluded() -> None:
    made = plan(matrix(exclude=[{"threads": "3"}, {"threads": "7", "workers": "5"}]))
    assert [variant.name for variant in made.variants] == [
        "threads-2-workers-5", "threads-2-workers-7", "threads-7-workers-7"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (settings_of_its_own({"poolSize": "1"}) | runner(workers=2), "sets 'workers', which no preset"),
        ({"variants": [{"name": "one", "settings": {"replicas": "many"}}]}, "replicas: 'many' is not a whole number"),
        (matrix() | {"baseline": "threads-5"}, "spec.baseline 'threads-5' is not a variant: name one of threads-2-"),
        (matrix(exclude=[{"threads": "2"}, {"threads": "3"}, {"threads": "7"}]), "excludes every combination"),
        (matrix(exclude=[{"cpu": "2"}]), "spec.matrix.exclude names 'cpu', which is no axis"),
        (axes(["many"]), "spec.variants[threads-many].threads: 'many' is not a whole number"),
        (axes(["0"]), "spec.variants[threads-0].threads is 0: input should be greater than or equal to 1"),
        (axes(["1"], ["²"]), "'²' is not a whole number"),
        (axes(["1"], ["1"], ["1"], ["x" * 50, "x" * 51]), "after cutting to 40 characters: shorten the axis values"),
        (axes([str(n) for n in range(1, 12)], [str(n) for n in range(1, 12)]) | {"repeats": 2}, "split"),
        ({"deadline": "1h", "load": {"stages": [{"injectors": 1, "duration": "31m"}]}}, "spec.deadline 1h is shorter"),
        ({"variants": [{"name": "one", "values": {"a": [{"b": math.nan}]}}]}, "only finite numbers"),
        ({"variants": [{"name": "one", "values": {"a": {"b": -math.inf}}}]}, "only finite numbers"),
    ],
)
def test_what_parses_but_cannot_be_run_is_refused_with_field_and_remedy(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        plan(change)
    assert says in str(refusal.value)


def test_gevent_with_grpc_is_refused_however_it_is_written() -> None:
    change = {
        "target": {"release": {"settings": [{"name": "datastoreTransport", "paths": ["x"]}]}},
        "variants": [{"name": "one", "runner": {"workerClass": "gevent"}, "settings": None}],
    }
    assert plan(change).variants[0].env == {"WEB_SERVER_TYPE": "gunicorn-async"}
    both = spec().model_copy(
        update={"variants": (spec(change).variants[0].model_copy(  # type: ignore[index]
            update={"settings": {"workerClass": "gevent", "datastoreTransport": "grpc"}, "runner": None}),)}
    )  # fmt: skip
    with pytest.raises(InvalidSpec, match="gevent and gRPC do not work together"):
        expand(RUN, both)


@pytest.mark.parametrize(
    ("base", "over", "result"),
    [
        ({}, {}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
        ({"a": 5}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": [1, 2, 3]}, {"a": [4]}, {"a": [4]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"d": None}}}, {"a": {"b": {"c": 1, "d": None}}}),
    ],
)
def test_values_are_merged_as_helm_merges_values_files(
    base: dict[str, Any], over: dict[str, Any], result: dict[str, Any]
) -> None:
    before = (repr(base), repr(over))
    assert merged(base, over) == result
    assert (repr(base), repr(over)) == before, "neither is changed"


def test_a_stored_plan_is_read_back_as_it_was() -> None:
    change = {
        "variants": [
            {"name": "one", "runner": {"workers": 7}, "values": {"a": None, "b": {"c": [1, 2.5, None, "x", True]}}},
            {"name": "zwei", "runner": {"cpu": "500m"}},
        ],
        "target": {"headers": {"X-Team": "performance"}},
    }
    made = plan(change)
    assert made.variants[0].values["a"] is None
    assert RunPlan.from_json(made.to_json()) == made
    assert RunPlan.from_json(made.to_json()).to_json() == made.to_json()


def test_the_plan_counts_all_stages_of_all_repeats() -> None:
    made = plan(SMALL | {"repeats": 3})
    assert made.stage_runs == 2 * 3 * 2
    assert made.variant("two").env["WEB_SERVER_THREADS"] == "2"
    assert WITH_RELEASE["variants"][0]["name"] == "seven-threads", "the good spec is left as it was"
