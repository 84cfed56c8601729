"""Which hosts a measurement may ask: what no load may go to, no measurement may ask either."""

from __future__ import annotations

import socket

from loadtest_injector.http.addresses import forbidden
from loadtest_injector.measure.series import SOURCE_UNAVAILABLE, Missed

FORBIDDEN = "Forbidden"


def require_allowed(host: str, port: int) -> None:
    """Raise Missed where a name leads nowhere, or to an address that is never asked: metadata services, for one."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise Missed(SOURCE_UNAVAILABLE, f"{host} is not found: {error}") from error
    for address in sorted(found):
        if (why := forbidden(address)) is not None:
            raise Missed(FORBIDDEN, f"{host} leads to {address}, which {why}")
