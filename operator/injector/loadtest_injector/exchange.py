"""What a user needs of an HTTP client: the seam between the journeys and whatever sends their requests."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from loadtest_injector.recorder import Failure


class Response(NamedTuple):
    """An answer, read to its end; the body is decompressed."""

    status: int
    location: str | None
    body: bytes


class RequestError(Exception):
    """There was no whole answer; `failure` says of which kind that is."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Client(Protocol):
    """What a user needs of an HTTP client."""

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Response:
        """Send one request once and read the answer; RequestError where that fails."""

    def new_respondent(self) -> None:
        """Forget all cookies; the connection may stay."""

    def drop_connection(self) -> None:
        """Close the connection: a request on it was given up."""
