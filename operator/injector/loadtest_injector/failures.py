"""Which kind of failure an exception of a locustfile's request is.

Locust's clients wrap the error of the socket several times over, and a custom client may report anything. What says
most is looked for in the exception, in what it was made of, and in what caused it.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Iterator

import gevent
from geventhttpclient import useragent
from geventhttpclient.response import HTTPConnectionClosed, HTTPParseError
from locust.contrib.fasthttp import LocustBadStatusCode
from locust.exception import CatchResponseError
from requests import exceptions as of_requests
from urllib3 import exceptions as of_urllib3

from loadtest_injector.http import errors
from loadtest_injector.http.errors import HttpError
from loadtest_injector.recorder import Failure

OTHER = "other"
"""The kind of a failure that says of itself nothing that is known here."""

_DEPTH = 8
_BY_CLASS: tuple[tuple[tuple[type[BaseException], ...], tuple[str, str]], ...] = (
    (
        (ConnectionResetError, BrokenPipeError, ConnectionAbortedError),
        (errors.RESET, "the connection was reset"),
    ),
    (
        (of_requests.Timeout, of_urllib3.TimeoutError, gevent.Timeout),
        (errors.TIMEOUT, "no answer in time"),
    ),
    ((HTTPConnectionClosed,), (errors.RESET, "the connection ended before the answer")),
    ((of_urllib3.IncompleteRead,), (errors.RESET, "the connection ended within the answer")),
    ((of_requests.TooManyRedirects,), (errors.PROTOCOL, "too many redirects")),
    (
        (HTTPParseError, zlib.error, of_requests.ContentDecodingError, of_requests.ChunkedEncodingError),
        (errors.PROTOCOL, "the answer cannot be read: {}"),
    ),
)
"""Classes of exceptions, and the kind and message that they alone say."""


def failure_of(error: object) -> Failure:
    """The kind and a short message, without the url: a query may hold what nobody is to read."""
    if not isinstance(error, BaseException):
        return Failure(OTHER, str(error))
    chain = list(_chain(error, _DEPTH))
    for part in chain:
        if (failure := _known(part)) is not None:
            return failure
    for part in reversed(chain):  # the innermost error of the socket says most
        if isinstance(part, ssl.SSLError | OSError) and not isinstance(part, of_requests.RequestException):
            found = errors.of_socket(part)
            return Failure(found.kind, found.message)
    if isinstance(error, useragent.RetriesExceeded):  # nothing caused it: it followed redirects
        return Failure(errors.PROTOCOL, "too many redirects")
    if isinstance(error, of_requests.SSLError):
        return Failure(errors.TLS, "TLS failed")
    if isinstance(error, of_requests.ConnectionError):
        return Failure(errors.RESET, "the connection was lost")
    return Failure(OTHER, f"{type(error).__name__}: {error}" if not _is_http(error) else type(error).__name__)


def _known(part: BaseException) -> Failure | None:
    """The failure, where this exception alone says which."""
    match part:
        case HttpError():
            return Failure(part.kind, part.message)
        case CatchResponseError() | AssertionError():
            return Failure(errors.ASSERTION, str(part) or "an assertion failed")
        case of_requests.HTTPError():
            return _status(getattr(part.response, "status_code", "unknown"))
        case useragent.BadStatusCode() | LocustBadStatusCode():
            return _status(getattr(part, "code", "unknown"))
        case of_urllib3.NewConnectionError():
            return None  # a timeout by its class, and any failure to connect by its cause
    message = next((text for kinds, text in _BY_CLASS if isinstance(part, kinds)), None)
    return Failure(message[0], message[1].format(type(part).__name__)) if message is not None else None


def _status(code: object) -> Failure:
    return Failure(errors.STATUS, f"status {code}")


def _is_http(error: BaseException) -> bool:
    """Whether its text may hold a url."""
    return isinstance(error, of_requests.RequestException | of_urllib3.HTTPError | useragent.ConnectionError)


def _chain(error: BaseException, depth: int) -> Iterator[BaseException]:
    """The exception, then those that it was made of and that caused it."""
    yield error
    if depth > 0:
        named = (getattr(error, "reason", None), getattr(error, "original", None))  # of urllib3, of geventhttpclient
        inner = (*error.args, *named, error.__cause__ or error.__context__)
        for part in inner:
            if isinstance(part, BaseException):
                yield from _chain(part, depth - 1)
