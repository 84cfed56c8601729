"""The RSA keys of launch tokens: `python -m sample_runner.keys OUTDIR` makes a test set of them.

A launcher needs signing.pem (private, signs the JWS) and encryption.pem (public, encrypts the JWE); the application
needs signing-public.pem and encryption-private.pem. Each pair of files becomes a Secret of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

_BITS = 2048
_EXPONENT = 65537


def kid_of(key: RSAPublicKey) -> str:
    """The key id: SHA-1 in hex of the public key's DER SubjectPublicKeyInfo, which both sides can compute."""
    digest = hashes.Hash(hashes.SHA1())  # noqa: S303 - a name of the key, no protection
    digest.update(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    return digest.finalize().hex()


def make(folder: Path) -> None:
    """Write a new set of keys; private files are readable by their owner only."""
    signing, encryption = generate_private_key(_EXPONENT, _BITS), generate_private_key(_EXPONENT, _BITS)
    _write(folder / "signing.pem", _private(signing))
    _write(folder / "encryption.pem", _public(encryption))
    _write(folder / "signing-public.pem", _public(signing))
    _write(folder / "encryption-private.pem", _private(encryption))


def _private(key: RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(key: RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and one argument
        sys.exit("usage: python -m sample_runner.keys OUTDIR")
    make(Path(sys.argv[1]))
