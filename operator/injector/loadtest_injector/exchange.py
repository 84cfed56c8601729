"""What a user needs of an HTTP client: the seam between the journeys and whatever sends their requests."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Response(NamedTuple):
    """An answer, read to its end; the body is decompressed."""

    status: int
    location: str | None
    body: bytes


class Client(Protocol):
    """What a user needs of an HTTP client."""

    def send(self, method: str, path: str, lines: str, body: bytes | None) -> Response:
        """Send one request once and read the answer, all within the time of a request; HttpError where that fails.

        `lines` are headers of this request, each with its line end; `body` is a form.
        """

    def new_respondent(self) -> None:
        """Forget all cookies; the connection may stay."""

    def drop_connection(self) -> None:
        """Close the connection: a request on it was given up."""
