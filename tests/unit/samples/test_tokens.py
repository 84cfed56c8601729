"""Launch tokens: which are taken and which are not."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from jwcrypto import jwe, jwk, jws

from loadtest_injector.launch import TokenMaker
from loadtest_injector.requests_file import parse
from loadtest_injector.scenario import Launch
from sample_runner.keys import kid_of, make
from sample_runner.tokens import InvalidTokenError, TokenReader

NOW = 1_700_000_000
CLAIMS = {"jti": "one", "iat": NOW, "exp": NOW + 3600, "schema_name": "test_checkbox"}


def token(
    keys: Path,
    claims: object = CLAIMS,
    *,
    signing_kid: str | None = None,
    encryption_kid: str | None = None,
    alg: str = "RS256",
    enc: str = "A256GCM",
) -> str:
    signing = jwk.JWK.from_pem((keys / "signing.pem").read_bytes())
    encryption = jwk.JWK.from_pem((keys / "encryption.pem").read_bytes())
    signing_kid = signing_kid or kid_of(signing.get_op_key("verify"))
    encryption_kid = encryption_kid or kid_of(encryption.get_op_key("encrypt"))
    signed = jws.JWS(json.dumps(claims))
    signed.add_signature(signing, protected=json.dumps({"alg": alg, "kid": signing_kid}))
    header = json.dumps({"alg": "RSA-OAEP", "enc": enc, "kid": encryption_kid})
    encrypted = jwe.JWE(signed.serialize(compact=True).encode(), protected=header)
    encrypted.add_recipient(encryption)
    return str(encrypted.serialize(compact=True))


def reader(keys: Path) -> TokenReader:
    return TokenReader(keys, now=lambda: NOW)


def test_a_token_gives_its_claims(keys: Path) -> None:
    assert reader(keys).claims(token(keys)) == CLAIMS


def test_a_token_of_the_load_injector_is_taken(keys: Path, journeys: Path) -> None:
    journey = parse((journeys / "test_checkbox.json").read_text(), launch=True)
    made = TokenMaker(Launch(keys=keys, claims={}), journey).token()
    claims = TokenReader(keys, now=time.time).claims(made)
    assert claims["schema_name"] == "test_checkbox"
    assert claims["exp"] - claims["iat"] == 3600


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"exp": NOW}, "expired", id="expired"),
        pytest.param({"iat": NOW + 3600}, "future", id="issued in the future"),
        pytest.param({"jti": None}, "jti", id="without a jti"),
        pytest.param({"exp": "later"}, "exp", id="with an exp that is no time"),
        pytest.param({"iat": True}, "iat", id="with an iat that is no time"),
    ],
)
def test_claims_that_do_not_hold_are_refused(keys: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidTokenError, match=problem):
        reader(keys).claims(token(keys, CLAIMS | changes))


def test_claims_that_are_no_object_are_refused(keys: Path) -> None:
    with pytest.raises(InvalidTokenError, match="claims"):
        reader(keys).claims(token(keys, ["jti"]))


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"signing_kid": "0" * 40}, id="the signing key's kid is unknown"),
        pytest.param({"encryption_kid": "0" * 40}, id="the encryption key's kid is unknown"),
        pytest.param({"alg": "RS512"}, id="signed by another algorithm"),
        pytest.param({"enc": "A128GCM"}, id="encrypted by another algorithm"),
    ],
)
def test_a_token_made_another_way_is_refused(keys: Path, arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidTokenError):
        reader(keys).claims(token(keys, **arguments))


def test_a_token_signed_by_a_stranger_is_refused(keys: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    make(stranger)
    shutil.copy(keys / "encryption.pem", stranger)
    ours = kid_of(jwk.JWK.from_pem((keys / "signing.pem").read_bytes()).get_op_key("verify"))
    with pytest.raises(InvalidTokenError):
        reader(keys).claims(token(stranger, signing_kid=ours))


@pytest.mark.parametrize("text", ["", "a", "a.b.c.d.e", "e30.e30.e30.e30.e30", "☃"])
def test_what_is_no_token_is_refused(keys: Path, text: str) -> None:
    with pytest.raises(InvalidTokenError):
        reader(keys).claims(text)


def test_a_file_beside_the_keys_names_another_kid(keys: Path, tmp_path: Path) -> None:
    shutil.copytree(keys, tmp_path / "named")
    (tmp_path / "named" / "signing.kid").write_text("ours\n")
    (tmp_path / "named" / "encryption.kid").write_text("theirs\n")
    made = token(keys, signing_kid="ours", encryption_kid="theirs")
    assert reader(tmp_path / "named").claims(made) == CLAIMS


def test_private_keys_are_for_their_owner_only(keys: Path) -> None:
    for name in ("signing.pem", "encryption-private.pem"):
        assert (keys / name).stat().st_mode & 0o077 == 0, name
