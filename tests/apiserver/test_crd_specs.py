"""The API server accepts and refuses the same specs as the models, with the same messages."""

import json
from typing import Any

import pytest

from loadtest.api import names, spec
from tests.cluster.api import Api
from tests.cluster.apiserver import PrivateApiServer
from tests.unit.api.cases.all import ACCEPTED, REFUSED
from tests.unit.api.cases.base import BARE, WITH_RELEASE, Accepted, Refused

COLLECTION = f"/apis/{names.API_VERSION}/namespaces/default/{names.PLURAL}"
STRICT = "?dryRun=All&fieldValidation=Strict"


@pytest.fixture(scope="module")
def api(private_server: PrivateApiServer) -> Api:
    admin = private_server.authority.issue("spec-cases", ["system:masters"])
    return Api(private_server.url, private_server.authority.ca, admin)


def load_test(spec_: dict[str, Any], name: str = "case") -> dict[str, Any]:
    return {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": name}, "spec": spec_}


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.what)
def test_a_good_spec_is_accepted_with_the_defaults_of_the_models(api: Api, case: Accepted):
    code, answer = api.call("POST", COLLECTION + STRICT, load_test(case.spec))
    assert code == 201, answer
    assert spec.LoadTestSpec.model_validate(json.loads(answer)["spec"]) == spec.LoadTestSpec.model_validate(case.spec)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.what)
def test_a_bad_spec_is_refused_with_the_field_and_the_remedy(api: Api, case: Refused):
    code, answer = api.call("POST", COLLECTION + STRICT, load_test(case.spec))
    message = json.loads(answer)["message"]
    assert code in {400, 422}, answer
    assert case.at in message
    assert case.says in message
    assert "no such key" not in message
    assert "rule error" not in message


@pytest.mark.parametrize("name", ["a", "0", "x" * 253, "a.b-c.0"])
def test_every_legal_name_is_accepted(api: Api, name: str):
    code, answer = api.call("POST", COLLECTION + STRICT, load_test(WITH_RELEASE, name))
    assert code == 201, answer


@pytest.mark.parametrize("name", ["x" * 254, "Größe", "a_b", ""])
def test_an_illegal_name_is_refused(api: Api, name: str):
    code, _ = api.call("POST", COLLECTION + STRICT, load_test(WITH_RELEASE, name))
    assert code == 422


def test_a_null_reads_as_a_field_left_out(api: Api):
    nulls = {"repeats": None, "variants": None, "injector": None}
    code, answer = api.call("POST", COLLECTION + STRICT, load_test(BARE | nulls))
    assert code == 201, answer
    stored = json.loads(answer)["spec"]
    assert stored["repeats"] == 1
    assert "variants" not in stored
    assert spec.LoadTestSpec.model_validate(stored) == spec.LoadTestSpec.model_validate(BARE | nulls)


def test_an_object_above_what_etcd_takes_is_refused(api: Api):
    big = {"variants": [{"name": "a", "values": {"big": "x" * 4_000_000}}]}
    code, _ = api.call("POST", COLLECTION + STRICT, load_test(WITH_RELEASE | big))
    assert code == 413
