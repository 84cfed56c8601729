"""Launch tokens of a Runner: a JWS (RS256) inside a JWE (RSA-OAEP, A256GCM), made for each journey.

The claims are those of eq-questionnaire-runner's own benchmark. A key's `kid` is the SHA-1 of the DER form
(SubjectPublicKeyInfo) of its public key in hex, unless a file beside the key (signing.kid, encryption.kid) names it.
"""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from jwcrypto import jwe, jwk, jws

from loadtest_injector.requests_file import Journey
from loadtest_injector.scenario import Launch, ScenarioError

LIFETIME_SECONDS = 3_600
"""How long a token is good for (claim exp)."""

_FIXED_CLAIMS: dict[str, Any] = {
    "user_id": "UNKNOWN",
    "period_id": "201605",
    "period_str": "May 2016",
    "ru_ref": "12346789012A",
    "ru_name": "ESSENTIAL ENTERPRISE LTD.",
    "return_by": "2016-06-12",
    "region_code": "GB-ENG",
    "language_code": "en",
    "case_type": "HH",
    "roles": [],
    "account_service_url": "https://example.com/",
}


class TokenMaker:
    """Makes launch tokens for one journey. A token takes about 1 ms of CPU: make it where no request waits for it."""

    def __init__(self, launch: Launch, journey: Journey) -> None:
        try:
            private = load_pem_private_key((launch.keys / "signing.pem").read_bytes(), password=None)
            public = load_pem_public_key((launch.keys / "encryption.pem").read_bytes())
        except (OSError, ValueError, TypeError) as error:
            raise ScenarioError(f"launch.keys: signing.pem or encryption.pem cannot be used: {error}") from error
        if not isinstance(private, RSAPrivateKey) or not isinstance(public, RSAPublicKey):
            raise ScenarioError("launch.keys: signing.pem and encryption.pem must be RSA keys")
        self._signing = jwk.JWK.from_pyca(private)
        self._encryption = jwk.JWK.from_pyca(public)
        self._signing_kid = _kid(launch.keys / "signing.kid", private.public_key())
        self._encryption_kid = _kid(launch.keys / "encryption.kid", public)
        self._claims = launch.claims
        key = "schema_name" if journey.schema_name else "schema_url"
        self._schema = {key: journey.schema_name or journey.schema_url}

    def claims(self) -> dict[str, Any]:
        """The claims of a new token: a respondent of its own."""
        now = int(time.time())
        claims = {
            **_FIXED_CLAIMS,
            **self._schema,
            **{claim: str(uuid4()) for claim in ("tx_id", "jti", "case_id", "collection_exercise_sid")},
            "response_id": str(secrets.randbelow(10**16)).zfill(16),
            "questionnaire_id": str(secrets.randbelow(10**16)).zfill(16),
            "iat": now,
            "exp": now + LIFETIME_SECONDS,
            **self._claims,
        }
        return {claim: value for claim, value in claims.items() if value is not None}

    def token(self) -> str:
        """A new token in its compact form."""
        signed = jws.JWS(json.dumps(self.claims()))
        signed.add_signature(
            self._signing, protected=json.dumps({"alg": "RS256", "kid": self._signing_kid, "typ": "jwt"})
        )
        header = json.dumps({"alg": "RSA-OAEP", "enc": "A256GCM", "kid": self._encryption_kid})
        encrypted = jwe.JWE(signed.serialize(compact=True).encode(), protected=header)
        encrypted.add_recipient(self._encryption)
        return str(encrypted.serialize(compact=True))


def _kid(override: Path, public: RSAPublicKey) -> str:
    if override.exists():
        return override.read_text().strip()
    digest = hashes.Hash(hashes.SHA1())  # noqa: S303 - a name of the key, as the Runner's key store has it
    digest.update(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    return digest.finalize().hex()
