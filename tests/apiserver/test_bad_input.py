"""The first table of docs/bad-input.md holds on a real API server."""

import json

import pytest

from loadtest.api import names
from tests.cluster.api import Api
from tests.cluster.apiserver import PrivateApiServer
from tests.unit.api.cases.base import Refused
from tests.unit.bad_input.apply import AT_APPLY

DRY_RUN = f"/apis/{names.API_VERSION}/namespaces/default/{names.PLURAL}?dryRun=All&fieldValidation=Strict"


@pytest.fixture(scope="module")
def api(private_server: PrivateApiServer) -> Api:
    admin = private_server.authority.issue("bad-input", ["system:masters"])
    return Api(private_server.url, private_server.authority.ca, admin)


@pytest.mark.parametrize("case", AT_APPLY, ids=lambda case: case.what)
def test_a_bad_input_is_refused_at_apply_with_the_field_and_the_message(api: Api, case: Refused) -> None:
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": "bad"}, "spec": case.spec}
    code, answer = api.call("POST", DRY_RUN, body)
    message = json.loads(answer)["message"]
    assert code in {400, 422}
    assert case.at in message
    assert case.says in message
