"""Certificates and kubeconfigs, made with the openssl command: the standard library reads certificates only."""

import base64
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.log import ClusterError
from tests.cluster.paths import write_atomically

_DAYS = "365"


@dataclass(frozen=True)
class Pair:
    """A private key and its certificate, or just its public half for the service accounts' tokens."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority in a folder, with the key that signs service account tokens beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ca = Pair(folder / "ca.crt", folder / "ca.key")
        self.ca = self._ca.certificate
        """The authority's certificate, which clients and servers trust."""
        self.service_accounts = Pair(folder / "sa.pub", folder / "sa.key")

    def create(self) -> "Authority":
        """Makes the keys; the folder must be new."""
        self._folder.mkdir(parents=True, mode=0o700)
        subject = ("-subj", "/CN=loadtest-cluster", "-days", _DAYS, "-out", str(self.ca))
        _openssl(*_NEW_KEY, "-out", str(self._ca.key))
        _openssl("req", "-x509", "-new", "-key", str(self._ca.key), *subject)
        signing = self.service_accounts
        _openssl(*_NEW_KEY, "-out", str(signing.key))
        _openssl("pkey", "-in", str(signing.key), "-pubout", "-out", str(signing.certificate))
        return self

    def pair(self, name: str) -> Pair:
        """Where the key and the certificate of this name lie, issued or not."""
        stem = name.replace(":", "-")
        return Pair(self._folder / f"{stem}.crt", self._folder / f"{stem}.key")

    def issue(self, name: str, groups: Sequence[str] = (), addresses: Sequence[str] = ()) -> Pair:
        """A certificate for a client (its groups become organisations) or, with addresses, also for a server.

        An address is written as openssl wants it: `IP:10.0.0.1` or `DNS:localhost`.
        """
        pair = self.pair(name)
        extensions = "keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n"
        if addresses:
            extensions += f"subjectAltName={','.join(addresses)}\n"
        config, request = pair.key.with_suffix(".cnf"), pair.key.with_suffix(".csr")
        config.write_text(extensions)
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        _openssl(*_NEW_KEY, "-out", str(pair.key))
        _openssl("req", "-new", "-key", str(pair.key), "-subj", subject, "-out", str(request))
        signer = ("-CA", str(self.ca), "-CAkey", str(self._ca.key), "-CAcreateserial")
        extras = ("-days", _DAYS, "-extfile", str(config), "-out", str(pair.certificate))
        _openssl("x509", "-req", "-in", str(request), *signer, *extras)
        return pair

    def kubeconfig(self, path: Path, server: str, client: Pair) -> Path:
        """Writes a kubeconfig that needs no other file; JSON is YAML, and the standard library writes JSON."""
        cluster = {"server": server, "certificate-authority-data": _data(self.ca)}
        user = {"client-certificate-data": _data(client.certificate), "client-key-data": _data(client.key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "loadtest", "cluster": cluster}],
            "users": [{"name": "loadtest", "user": user}],
            "contexts": [{"name": "loadtest", "context": {"cluster": "loadtest", "user": "loadtest"}}],
            "current-context": "loadtest",
        }
        write_atomically(path, json.dumps(config, indent=2) + "\n", mode=0o600)
        return path


_NEW_KEY = ("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
