"""The user class of a locustfile: change the base class from HttpUser or FastHttpUser to FastUser."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from locust import User
from locust.exception import StopTest
from locust.user.users import RestMixin

from loadtest_injector.http.connection import Limits
from loadtest_injector.http.session import CaughtResponse, HttpSession
from loadtest_injector.http.tls import client_context, insecure_context


class FastUser(User, RestMixin[CaughtResponse]):
    """A user with a `client` as FastHttpUser has one.

    Other than there: certificates are verified unless `insecure` is set; `request_timeout` bounds a request as a whole;
    Secure cookies stay off plain http unless `secure_cookies_over_http` is set. It knows no proxy, no `stream` and no
    `files`. Class attributes are read when a user starts; times are seconds.
    """

    abstract = True

    connection_timeout: float = 60.0
    network_timeout: float = 60.0
    request_timeout: float = 60.0
    max_redirects: int = 30
    insecure: bool = False
    ca: Path | str | None = None
    ssl_context_factory: Callable[[], ssl.SSLContext] | None = None
    default_headers: Mapping[str, str] | None = None
    secure_cookies_over_http: bool = False
    resend: bool = True

    _contexts: ClassVar[dict[Any, ssl.SSLContext]] = {}
    """One context for all users of a kind: making one reads every authority there is."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        if self.host is None:
            raise StopTest("set the base host: the class attribute host of the user, or --host on the command line")
        limits = Limits(
            connect=self.connection_timeout,
            read=self.network_timeout if self.network_timeout < self.request_timeout else None,
            request=self.request_timeout,
        )
        self.client = HttpSession(
            self.host,
            self.environment.events.request,
            self,
            tls=self._context,
            headers=self.default_headers,
            limits=limits,
            secure_cookies_over_http=self.secure_cookies_over_http,
            resend=self.resend,
            max_redirects=self.max_redirects,
        )

    def on_stop(self) -> None:
        """Close the connections. Call this where a subclass has an on_stop of its own."""
        self.client.http.close()

    @classmethod
    def _context(cls) -> ssl.SSLContext:
        key = cls.ssl_context_factory or (cls.insecure, cls.ca)
        context = cls._contexts.get(key)
        if context is None:
            if cls.ssl_context_factory is not None:
                context = cls.ssl_context_factory()
            else:
                context = insecure_context() if cls.insecure else client_context(Path(cls.ca) if cls.ca else None)
            cls._contexts[key] = context
        return context
