"""Launch tokens: a JWS (RS256) inside a JWE (RSA-OAEP, A256GCM)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from jwcrypto import jwe, jwk, jws
from jwcrypto.common import JWException

from sample_runner.keys import kid_of

CLOCK_LEEWAY_SECONDS = 60
"""How far ahead of this machine's clock a token may have been issued."""


class InvalidTokenError(Exception):
    """The token is not one that this application accepts; the message never has any of it."""


class TokenReader:
    """Decrypts and verifies tokens with the keys of a folder (see `keys`), found by the `kid` in each header."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        private = load_pem_private_key((folder / "encryption-private.pem").read_bytes(), password=None)
        public = load_pem_public_key((folder / "signing-public.pem").read_bytes())
        if not isinstance(private, RSAPrivateKey) or not isinstance(public, RSAPublicKey):
            raise TypeError(f"the keys in {folder} must be RSA keys")
        self._decryption = {_kid(folder / "encryption.kid", private.public_key()): jwk.JWK.from_pyca(private)}
        self._signing = {_kid(folder / "signing.kid", public): jwk.JWK.from_pyca(public)}
        self._now = now

    def claims(self, token: str) -> dict[str, Any]:
        """The claims of a token; InvalidTokenError where it is not meant for us, forged, expired or without a jti."""
        try:
            encrypted = jwe.JWE(algs=["RSA-OAEP", "A256GCM"])
            encrypted.deserialize(token)
            encrypted.decrypt(_key(encrypted.jose_header, self._decryption))
            signed = jws.JWS()
            signed.allowed_algs = ["RS256"]
            signed.deserialize(encrypted.payload.decode())
            signed.verify(_key(signed.jose_header, self._signing))
            claims = json.loads(signed.payload)
        except (JWException, ValueError) as error:
            raise InvalidTokenError(f"the token cannot be read: {type(error).__name__}") from error
        self._check(claims)
        return dict(claims)

    def _check(self, claims: object) -> None:
        if not isinstance(claims, dict):
            raise InvalidTokenError("the token has no claims")
        for claim in ("iat", "exp"):
            if isinstance(claims.get(claim), bool) or not isinstance(claims.get(claim), int | float):
                raise InvalidTokenError(f"the token's {claim} must be a time")
        if not isinstance(claims.get("jti"), str) or not claims["jti"]:
            raise InvalidTokenError("the token has no jti")
        if claims["exp"] <= self._now():
            raise InvalidTokenError("the token has expired")
        if claims["iat"] > self._now() + CLOCK_LEEWAY_SECONDS:
            raise InvalidTokenError("the token was issued in the future")


def _key(header: Mapping[str, Any], keys: Mapping[str, jwk.JWK]) -> jwk.JWK:
    kid = header.get("kid")
    if not isinstance(kid, str) or kid not in keys:
        raise InvalidTokenError("the token's kid names no key of ours")
    return keys[kid]


def _kid(override: Path, key: RSAPublicKey) -> str:
    return override.read_text().strip() if override.exists() else kid_of(key)
