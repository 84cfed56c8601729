import pytest
from pydantic import ValidationError

from loadtest.api import spec as api
from tests.unit.api.cases.all import ACCEPTED, REFUSED
from tests.unit.api.cases.base import BARE, WITH_RELEASE, Accepted, Refused, merged


def path(location: tuple[int | str, ...]) -> str:
    return "spec" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.what)
def test_a_good_spec_is_parsed_and_comes_back_as_it_was(case: Accepted):
    parsed = api.LoadTestSpec.model_validate(case.spec)
    assert api.LoadTestSpec.model_validate(parsed.to_wire()) == parsed
    wire = parsed.to_wire()
    for field, value in case.change.items():
        if field in {"variants", "matrix", "baseline", "repeats", "order", "rerun"} and value is not None:
            assert wire[field] == value


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.what)
def test_a_bad_spec_is_refused_with_the_field_and_the_remedy(case: Refused):
    with pytest.raises(ValidationError) as refused:
        api.LoadTestSpec.model_validate(case.spec)
    errors = refused.value.errors()
    assert any(case.says in error["msg"] for error in errors), errors
    # The API server blames the same field, or one inside of it.
    assert any(case.at.startswith(found) or found.startswith(case.at) for found in [path(e["loc"]) for e in errors])


def test_defaults_are_those_of_the_contract():
    wire = api.LoadTestSpec.model_validate(merged(WITH_RELEASE, {})).to_wire()
    assert (wire["suspend"], wire["abort"], wire["rerun"]) == (False, False, "")
    assert (wire["deadline"], wire["artifactTTL"], wire["repeats"], wire["order"]) == ("12h", "168h", 1, "Sequential")
    assert wire["target"]["sendSecureCookiesOverHttp"] is False
    assert wire["target"]["allowScaling"] is False
    assert (wire["target"]["release"]["rolloutTimeout"], wire["target"]["release"]["settle"]) == ("10m", "15s")
    assert {key: value for key, value in wire["load"].items() if key != "stages"} == {
        "mode": "Closed",
        "usersPerInjector": 200,
        "spawnRatePerInjector": 200,
        "waitTime": {"min": "1s", "max": "2s"},
        "warmUp": "1m",
        "requestTimeout": "60s",
        "injectorsPerPod": 1,
        "maxStageReruns": 1,
    }


def test_a_null_reads_as_a_field_left_out():
    assert api.LoadTestSpec.model_validate(BARE | {"repeats": None, "variants": None}).repeats == 1


def test_a_spec_cannot_be_changed_after_parsing():
    parsed = api.LoadTestSpec.model_validate(BARE)
    with pytest.raises(ValidationError, match="frozen"):
        parsed.repeats = 2  # type: ignore[misc]


def test_a_duration_keeps_its_text_and_tells_its_length():
    stage = api.LoadTestSpec.model_validate(BARE).load.stages[0]
    assert (stage.duration, stage.duration.seconds) == ("20m", 1200.0)


def test_a_whole_number_of_resources_reads_as_text():
    resources = api.Resources.model_validate({"requests": {"cpu": 2}})
    assert resources.requests == {"cpu": "2"}


def defining(change: dict[str, object]) -> dict[str, object]:
    return api.test_defining(api.LoadTestSpec.model_validate(merged(WITH_RELEASE, change)))


@pytest.mark.parametrize(
    "change",
    [{"suspend": True}, {"abort": True}, {"rerun": "again"}, {"deadline": "1h"}, {"artifactTTL": "1h"}],
    ids=str,
)
def test_what_only_steers_or_bounds_a_run_does_not_define_the_test(change: dict[str, object]):
    assert defining(change) == defining({})


@pytest.mark.parametrize(
    "change",
    [
        {"repeats": 2},
        {"load": {"warmUp": "0s"}},
        {"target": {"headers": {"X": "y"}}},
        {"variants": [{"name": "a", "values": {"x": None}}]},
        {"injector": {"image": "other"}},
    ],
    ids=str,
)
def test_every_other_field_defines_the_test(change: dict[str, object]):
    assert defining(change) != defining({})


def test_a_default_written_out_defines_the_same_test_as_one_left_out():
    assert defining({"repeats": 1, "load": {"warmUp": "1m", "waitTime": {"min": "1s"}}}) == defining({})


def test_what_defines_the_test_is_a_spec_again():
    parsed = api.LoadTestSpec.model_validate(WITH_RELEASE)
    assert api.LoadTestSpec.model_validate(api.test_defining(parsed)) == parsed


def test_the_runner_names_its_settings_as_the_wire_does():
    runner = api.Runner(worker_class="gevent", uwsgi_async_cores=3)
    assert runner.to_wire() == {"workerClass": "gevent", "uwsgiAsyncCores": 3}
