"""Why a request failed, sorted into the kinds of the results."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from typing import Final

REFUSED: Final = "refused"
RESET: Final = "reset"
TIMEOUT: Final = "timeout"
TLS: Final = "tls"
PROTOCOL: Final = "protocol"
STATUS: Final = "status"
ASSERTION: Final = "assertion"

_RESET_ERRORS = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ESHUTDOWN}


class HttpError(Exception):
    """There was no whole answer, or not the one that was wanted.

    `kind` is one of refused (no connection), reset (the connection ended too early), timeout, tls, protocol (the answer
    is not HTTP, or above a limit), status and assertion; the message holds nothing of request and answer.
    `unanswered`: the connection ended before the first byte of an answer; `unsent`: before the first of the request.
    """

    def __init__(self, kind: str, message: str, *, unanswered: bool = False, unsent: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.unanswered = unanswered or unsent
        self.unsent = unsent


def kind_of(error: BaseException) -> str:
    """The kind of failure that an exception is; of those that say nothing of it: assertion."""
    if isinstance(error, HttpError):
        return error.kind
    return of_socket(error).kind if isinstance(error, OSError) else ASSERTION


def of_socket(error: OSError, *, unanswered: bool = False) -> HttpError:
    """The HttpError that an error of a socket, of TLS or of the resolver is."""
    match error:
        case ssl.SSLCertVerificationError():
            return HttpError(TLS, f"the certificate is not valid: {error.verify_message}")
        case ssl.SSLError():
            return HttpError(TLS, error.reason or "TLS failed")
        case ssl.CertificateError():
            return HttpError(TLS, "the certificate is not valid")
        case socket.gaierror():
            return HttpError(REFUSED, "the target's host name was not resolved")
        case TimeoutError():
            return HttpError(TIMEOUT, "no answer in time")
        case _ if error.errno in _RESET_ERRORS:
            return HttpError(RESET, "the connection was reset", unanswered=unanswered)
        case _:
            return HttpError(REFUSED, os.strerror(error.errno) if error.errno else "no connection")
