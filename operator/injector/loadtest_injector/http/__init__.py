"""An HTTP/1.1 client for Locust users: what a locustfile needs is `FastUser`.

    FastUser --> session   (Locust's API and its request event)
                    |
    replay ----> client    (cookies, redirects, what is sent again)
                    |-- request     (head and body as bytes, from parts prepared per site)
                    |-- connection  (one socket: connect, send, receive; tls; deadline)
                    |       |-- parser  (framing: llhttp)
                    |-- response    (headers read when asked for, content decoded)

The layers below `session` know nothing of Locust. Import `FastUser` from `loadtest_injector.http.user`, or from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loadtest_injector.http.errors import HttpError

if TYPE_CHECKING:
    from loadtest_injector.http.user import FastUser

__all__ = ["FastUser", "HttpError"]


def __getattr__(name: str) -> Any:
    """Import FastUser only when it is asked for: it imports Locust, which patches sockets when it is imported."""
    if name == "FastUser":
        from loadtest_injector.http.user import FastUser  # noqa: PLC0415

        return FastUser
    raise AttributeError(name)
