"""The command line of the Job: `loadtest helm-job snapshot|apply|restore|dead-man --key KEY [...]`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from loadtest.adapters.helm_job import access, request
from loadtest.adapters.helm_job.dead_man import DeadMan
from loadtest.adapters.helm_job.errors import GONE, JobError, Reason
from loadtest.adapters.helm_job.helm import Helm
from loadtest.adapters.helm_job.kube import Api, ApiError
from loadtest.adapters.helm_job.operations import Operations, Result
from loadtest.adapters.helm_job.request import Request
from loadtest.adapters.helm_job.store import Store
from loadtest.api import names

REQUEST_FILE = Path("/etc/loadtest/helm/request.json")
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 300.0
_FINAL = frozenset({Reason.RESTORE_CONFLICT, Reason.LEASE_LOST})
"""What the dead-man Job does not try again: what is live is somebody else's."""
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
    if arguments.operation == names.DEAD_MAN:
        return _stand_by(arguments.key, arguments.silence, api, asked, store)
    outcome = _attempt(arguments.operation, arguments.variant, asked, store, asked.holder)
    return _report(store, arguments.key, outcome)


def _report(store: Store, key: str, outcome: Mapping[str, Any]) -> int:
    _log.info("%s: %s %s %s", key, outcome["outcome"], outcome["reason"], outcome["message"])
    try:
        store.report(key, outcome)
    except ApiError as error:
        _log.error("the outcome could not be written: %s", error)
        return 1
    return 0


def _stand_by(key: str, silence: float, api: Api, asked: Request, store: Store) -> int:
    """The dead-man Job: until the run ends, which deletes it; or until the operator is dead, then until restored."""
    # Python would ignore SIGTERM as the first process of a container.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if not DeadMan(api, asked, silence).wait():
        _log.info("another run holds the Lease: there is nothing to guard any more")
        return 0
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a helm that has begun is not to be broken off
    pause = _FIRST_PAUSE
    while True:
        outcome = {**_attempt("restore", "", asked, store, names.dead_man_holder(asked.holder)), "op": names.DEAD_MAN}
        written = _report(store, key, outcome)
        if outcome["outcome"] == "ok" or outcome["reason"] in _FINAL:
            return written
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="loadtest helm-job", description="Changes or restores the Helm release of a run."
    )
    operations = parser.add_subparsers(dest="operation", required=True)
    for name, text in (
        ("snapshot", "keep the release as it is"),
        ("apply", "bring a variant live"),
        ("restore", "bring the original back"),
        (names.DEAD_MAN, "bring the original back if the operator is dead"),
    ):
        operation = operations.add_parser(name, help=text)
        operation.add_argument("--key", required=True, help="key of the outcome in the state ConfigMap")
        operation.add_argument("--request", type=Path, default=REQUEST_FILE, help="the request file")
        operation.add_argument("--variant", required=name == "apply", default="", help="name of the variant")
        if name == names.DEAD_MAN:
            operation.add_argument(
                "--silence", type=float, required=True, help="seconds without a renewal of the Lease"
            )
    return parser


def _attempt(operation: str, variant: str, asked: Request, store: Store, holder: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="loadtest-helm-") as scratch:
        return _attempt_in(Path(scratch), operation, variant, asked, store, holder)


def _attempt_in(
    scratch: Path, operation: str, variant: str, asked: Request, store: Store, holder: str
) -> dict[str, Any]:
    def make_helm(hidden: tuple[str, ...]) -> Helm:
        return Helm(os.environ, scratch, hidden, keep=(asked.release, asked.namespace, *asked.variants))

    operations = Operations(asked, store, make_helm, scratch, holder)
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
