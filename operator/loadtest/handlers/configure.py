"""kopf's settings, each with the failure that it prevents."""

from __future__ import annotations

import logging
from typing import Any

import kopf

from loadtest.api import names


class NoDiffBase(kopf.DiffBaseStorage):
    """Keeps no copy of the spec: the loop compares with the world, never with the last spec.

    kopf's own storage copies the spec into an annotation, and annotations end at 256 KiB: a LoadTest with large
    `values` could not be handled at all.
    """

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - the signature is kopf's
        """Nothing was stored."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Store nothing."""


def configure(settings: kopf.OperatorSettings) -> None:
    """Set what kopf's defaults leave open."""
    settings.watching.server_timeout = 300  # a watch that a load balancer has silently dropped ends by itself
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.scanning.disabled = True  # no rights on CRDs or namespaces are needed
    settings.peering.standalone = True  # equal peers freeze each other; one replica, and a Lease per target
    settings.posting.loggers = False  # events are ours, one per transition
    settings.persistence.finalizer = names.FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=names.GROUP)
    settings.persistence.diffbase_storage = NoDiffBase()
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)  # it logs every success of every event handler


def register_login(registry: kopf.OperatorRegistry) -> None:
    """Log in by the pod's service account, else by kubeconfig; kopf's own way imports whole client libraries."""

    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
