"""The command line of the Job: `loadtest helm-job snapshot|apply|restore --key KEY [--variant NAME]`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from loadtest.adapters.helm_job import access, request
from loadtest.adapters.helm_job.errors import GONE, JobError, Reason
from loadtest.adapters.helm_job.helm import Helm
from loadtest.adapters.helm_job.kube import Api, ApiError
from loadtest.adapters.helm_job.operations import Operations, Result
from loadtest.adapters.helm_job.request import Request
from loadtest.adapters.helm_job.store import Store

REQUEST_FILE = Path("/etc/loadtest/helm/request.json")
_log = logging.getLogger("loadtest.helm_job")


def run(argv: Sequence[str]) -> int:
    """Does one operation and writes its outcome into the run's state ConfigMap.

    Returns:
        0 when the outcome is written, be it good or bad; 1 when it could not be written; 2 for wrong arguments.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    arguments = _parser().parse_args(argv)
    try:
        asked = request.load(arguments.request)
        api = Api(access.from_environment(os.environ))
    except (OSError, ValueError, access.NoAccessError) as error:
        _log.error("cannot start: %s", error)
        return 2
    if arguments.operation == "apply" and arguments.variant not in asked.variants:
        _log.error("the request has no variant %r", arguments.variant)
        return 2
    store = Store(api, asked)
    with tempfile.TemporaryDirectory(prefix="loadtest-helm-") as scratch:
        outcome = _attempt(arguments.operation, arguments.variant, asked, store, Path(scratch))
    _log.info("%s: %s %s %s", arguments.key, outcome["outcome"], outcome["reason"], outcome["message"])
    try:
        store.report(arguments.key, outcome)
    except ApiError as error:
        _log.error("the outcome could not be written: %s", error)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="loadtest helm-job", description="Changes or restores the Helm release of a run."
    )
    operations = parser.add_subparsers(dest="operation", required=True)
    for name, text in (
        ("snapshot", "keep the release as it is"),
        ("apply", "bring a variant live"),
        ("restore", "bring the original back"),
    ):
        operation = operations.add_parser(name, help=text)
        operation.add_argument("--key", required=True, help="key of the outcome in the state ConfigMap")
        operation.add_argument("--request", type=Path, default=REQUEST_FILE, help="the request file")
        operation.add_argument("--variant", required=name == "apply", default="", help="name of the variant")
    return parser


def _attempt(operation: str, variant: str, asked: Request, store: Store, scratch: Path) -> dict[str, Any]:
    def make_helm(hidden: tuple[str, ...]) -> Helm:
        return Helm(os.environ, scratch, hidden, keep=(asked.release, asked.namespace, *asked.variants))

    operations = Operations(asked, store, make_helm, scratch)
    try:
        if operation == "snapshot":
            result = operations.snapshot()
        elif operation == "apply":
            result = operations.apply(variant)
        else:
            result = operations.restore()
    except JobError as error:
        return _outcome(operation, error.reason, error.message, _peek(store))
    except ApiError as error:
        return _refused(operation, error)
    except Exception as error:  # noqa: BLE001  the operator must learn of a defect as well; it is told without values
        _log.error("".join(traceback.format_tb(error.__traceback__)))
        return _outcome(operation, Reason.INTERNAL, f"{type(error).__name__} in the helm Job; see its log", None)
    return {**_outcome(operation, "", result.message, None), **_of(result)}


def _of(result: Result) -> dict[str, Any]:
    return {
        "outcome": "ok",
        "reason": result.reason,
        "changed": result.changed,
        "release": result.live.summary() if result.live else None,
        "unsupported": list(result.unsupported),
    }


def _refused(operation: str, error: ApiError) -> dict[str, Any]:
    if error.status == HTTPStatus.FORBIDDEN:
        if operation == "restore" and "NamespaceTerminating" in error.causes:
            message = "the namespace is being deleted: there is nothing to put back"
            return {**_outcome(operation, GONE, message, None), "outcome": "ok"}
        return _outcome(operation, Reason.FORBIDDEN, f"{error.message}: install chart loadtest-target there", None)
    return _outcome(operation, Reason.API_FAILED, str(error), None)


def _peek(store: Store) -> Mapping[str, Any] | None:
    """The live release beside an error, where it can be had."""
    try:
        live = store.latest()
    except (ApiError, JobError):
        return None
    return live.summary() if live else None


def _outcome(operation: str, reason: str, message: str, release: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "op": operation,
        "outcome": "error",
        "reason": str(reason),
        "message": message,
        "changed": False,
        "release": release,
        "unsupported": [],
        "finishedAt": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
