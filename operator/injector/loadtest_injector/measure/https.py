"""GET of JSON, for sources that speak HTTP: one connection a request, no proxies, no redirects to elsewhere."""

from __future__ import annotations

import json
import ssl
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

import certifi

from loadtest_injector.measure.series import BAD_ANSWER, SOURCE_UNAVAILABLE, UNAUTHORIZED, Missed

_TIMEOUT_SECONDS = 10.0
_MAX_BYTES = 64 * 2**20
_REFUSED = (401, 403)
_ITS_OWN = 500  # from here on the error is the server's own
_MAX_TEXT = 200


class _NoRedirects(HTTPRedirectHandler):
    """A token must not follow a redirect to another host."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


def get_json(url: str, *, token: str | None = None, ca: str | None = None) -> Any:
    """The JSON at `url`, trusting the authorities in the PEM text `ca`, or the well-known. Raises Missed."""
    context = ssl.create_default_context(cadata=ca) if ca else ssl.create_default_context(cafile=certifi.where())
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context), _NoRedirects())
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    where = url.partition("?")[0]
    try:
        with opener.open(Request(url, headers=headers), timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - http(s) by the CRD's rule
            text = answer.read(_MAX_BYTES)
    except HTTPError as error:
        with error:
            said = error.read(_MAX_TEXT).decode(errors="replace")
        reason = UNAUTHORIZED if error.code in _REFUSED else BAD_ANSWER if error.code < _ITS_OWN else SOURCE_UNAVAILABLE
        raise Missed(reason, f"{where}: HTTP {error.code}: {said}") from error
    except (OSError, ValueError) as error:  # no connection, no TLS, no HTTP
        raise Missed(SOURCE_UNAVAILABLE, f"{where}: {type(error).__name__}: {error}") from error
    try:
        return json.loads(text)
    except ValueError as error:
        raise Missed(BAD_ANSWER, f"{where} answers no JSON") from error
