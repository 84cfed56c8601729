"""How to reach the API server: from inside a pod, or through a kubeconfig.

The official client could do this, but importing it takes about a second of a Job that should be done in two. Only what
the Job and its tests need is read here: the files of a service account, and kubeconfigs with a token or certificates.
Helm finds its access by the same rules (KUBECONFIG first, then the pod's files), so that both act as the same user.
"""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class NoAccessError(Exception):
    """Neither a kubeconfig nor a service account was found, or the kubeconfig needs what is not supported here."""


@dataclass(frozen=True)
class Access:
    """Where the API server is and who we are to it.

    Attributes:
        token: the bearer token of the kubeconfig; empty where a certificate or `token_file` is used.
        token_file: read for each connection, because the kubelet renews it.
    """

    host: str
    port: int
    prefix: str
    tls: ssl.SSLContext
    token: str = ""
    token_file: Path | None = None

    def headers(self) -> dict[str, str]:
        """The headers that say who we are."""
        token = self.token_file.read_text().strip() if self.token_file else self.token
        return {"Authorization": f"Bearer {token}"} if token else {}


def from_environment(environment: Mapping[str, str]) -> Access:
    """The access that `environment` describes.

    Raises:
        NoAccessError: it describes none.
    """
    if environment.get("KUBECONFIG"):
        return from_kubeconfig(Path(environment["KUBECONFIG"]))
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (_SERVICE_ACCOUNT / "token").exists():
        raise NoAccessError("no KUBECONFIG, and not in a pod with a service account token")
    tls = ssl.create_default_context(cafile=str(_SERVICE_ACCOUNT / "ca.crt"))
    return Access(host, int(port), "", tls, token_file=_SERVICE_ACCOUNT / "token")


def from_kubeconfig(path: Path) -> Access:
    """The access of the current context of a kubeconfig.

    Raises:
        NoAccessError: the file lacks a part, or logs in by a way that is not supported.
    """
    import yaml  # noqa: PLC0415  only where there is a kubeconfig: a pod has none, and starts faster without

    config = yaml.safe_load(path.read_text())
    try:
        context = _named(config, "contexts", config["current-context"])["context"]
        cluster = _named(config, "clusters", context["cluster"])["cluster"]
        user = _named(config, "users", context["user"])["user"]
        url = urlsplit(cluster["server"])
    except (KeyError, TypeError) as error:
        raise NoAccessError(f"{path} lacks {error}") from error
    if url.scheme != "https" or not url.hostname:
        raise NoAccessError(f"{path}: the server must be an https URL")
    ca = _content(cluster, "certificate-authority", path)
    tls = ssl.create_default_context(cadata=ca.decode() if ca else None)
    certificate, key = _content(user, "client-certificate", path), _content(user, "client-key", path)
    if certificate and key:
        with tempfile.NamedTemporaryFile() as both:  # the standard library loads certificates from files only
            both.write(certificate + b"\n" + key)
            both.flush()
            tls.load_cert_chain(both.name)
    elif not (user.get("token") or user.get("tokenFile")):
        raise NoAccessError(f"{path}: only tokens and client certificates are supported")
    token_file = Path(user["tokenFile"]) if user.get("tokenFile") else None
    prefix = url.path.rstrip("/")
    return Access(url.hostname, url.port or 443, prefix, tls, user.get("token") or "", token_file)


def _named(config: Any, kind: str, name: str) -> Any:
    for each in config[kind]:
        if each["name"] == name:
            return each
    raise KeyError(f"{kind}/{name}")


def _content(part: Mapping[str, Any], key: str, kubeconfig: Path) -> bytes:
    """What a kubeconfig gives inline (base64 under KEY-data) or by a path, which may be relative to the file."""
    if part.get(f"{key}-data"):
        return base64.b64decode(part[f"{key}-data"])
    return (kubeconfig.parent / part[key]).read_bytes() if part.get(key) else b""
