from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwcrypto import jwe, jwk, jws

from loadtest_injector.launch import TokenMaker
from loadtest_injector.requests_file import Journey
from loadtest_injector.scenario import Launch, ScenarioError

SIGNING = rsa.generate_private_key(65537, 2048)
ENCRYPTION = rsa.generate_private_key(65537, 2048)


def private_pem(key: Any) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # type: ignore[no-any-return]


def public(key: Any, encoding: Encoding) -> bytes:
    return key.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[no-any-return]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    (tmp_path / "signing.pem").write_bytes(private_pem(SIGNING))
    (tmp_path / "encryption.pem").write_bytes(public(ENCRYPTION, Encoding.PEM))
    return tmp_path


def opened(token: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Headers of the JWE and of the JWS, and the verified claims."""
    outer = jwe.JWE()
    outer.deserialize(token, jwk.JWK.from_pyca(ENCRYPTION))
    inner = jws.JWS()
    inner.deserialize(outer.payload.decode(), jwk.JWK.from_pyca(SIGNING.public_key()))
    return json.loads(outer.objects["protected"]), inner.jose_header, json.loads(inner.payload)


def maker(keys: Path, claims: dict[str, Any] | None = None, journey: Journey | None = None) -> TokenMaker:
    return TokenMaker(Launch(keys, claims or {}), journey or Journey("census", None, ()))


def test_a_token_is_signed_and_encrypted_with_kids_made_of_the_keys(keys: Path):
    outer, inner, claims = opened(maker(keys).token())
    assert outer == {
        "alg": "RSA-OAEP",
        "enc": "A256GCM",
        "kid": hashlib.sha1(public(ENCRYPTION, Encoding.DER)).hexdigest(),  # noqa: S324
    }
    assert (inner["alg"], inner["kid"]) == ("RS256", hashlib.sha1(public(SIGNING, Encoding.DER)).hexdigest())  # noqa: S324
    assert abs(claims["iat"] - time.time()) < 5
    assert claims["exp"] == claims["iat"] + 3_600
    assert claims["schema_name"] == "census"
    needed = (
        "tx_id jti response_id case_id collection_exercise_sid user_id period_id period_str ru_ref ru_name return_by"
    )
    needed += " region_code language_code case_type questionnaire_id roles account_service_url"
    assert set(needed.split()) <= set(claims)


def test_each_token_is_of_another_respondent(keys: Path):
    one, other = maker(keys).claims(), maker(keys).claims()
    for claim in ("tx_id", "jti", "response_id", "case_id", "collection_exercise_sid", "questionnaire_id"):
        assert one[claim] != other[claim]


def test_claims_of_the_scenario_replace_and_null_removes(keys: Path):
    claims = maker(keys, {"region_code": "GB-WLS", "period_str": None, "extra": 1}).claims()
    assert (claims["region_code"], claims["extra"]) == ("GB-WLS", 1)
    assert "period_str" not in claims


def test_a_schema_may_be_named_by_its_url(keys: Path):
    claims = maker(keys, journey=Journey(None, "http://schemas/x.json", ())).claims()
    assert claims["schema_url"] == "http://schemas/x.json"
    assert "schema_name" not in claims


def test_files_beside_the_keys_name_their_kids(keys: Path):
    (keys / "signing.kid").write_text("sign-me\n")
    (keys / "encryption.kid").write_text("encrypt-me")
    outer, inner, _ = opened(maker(keys).token())
    assert (inner["kid"], outer["kid"]) == ("sign-me", "encrypt-me")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("signing.pem", b"nonsense"),
        ("encryption.pem", b""),
        ("signing.pem", private_pem(ec.generate_private_key(ec.SECP256R1()))),
    ],
)
def test_keys_that_cannot_be_used_are_refused(keys: Path, file: Any, content: Any):
    (keys / file).write_bytes(content)
    with pytest.raises(ScenarioError, match=r"launch\.keys"):
        maker(keys)


def test_missing_keys_are_refused(tmp_path: Path):
    with pytest.raises(ScenarioError, match=r"launch\.keys"):
        maker(tmp_path)
