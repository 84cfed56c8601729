"""A plain client that walks a journey as a load injector does, over one connection that it keeps."""

from __future__ import annotations

import http.client
import json
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jwcrypto import jwe, jwk, jws

from sample_runner.keys import kid_of

WINDOW = "0123456789abcdef/1/0/1/window"
CSRF_TOKEN = re.compile(r'<input id="csrf_token" name="csrf_token" type="hidden" value="([^"]+)">')
PLACEHOLDER = re.compile(r"{(\w+)}")


def make_token(keys: Path, schema_name: str, jti: str) -> str:
    """A launch token."""
    signing = jwk.JWK.from_pem((keys / "signing.pem").read_bytes())
    encryption = jwk.JWK.from_pem((keys / "encryption.pem").read_bytes())
    now = int(time.time())
    claims = {"jti": jti, "tx_id": str(uuid.uuid4()), "iat": now, "exp": now + 3600, "schema_name": schema_name}
    signed = jws.JWS(json.dumps(claims))
    signing_kid = kid_of(signing.get_op_key("verify"))
    signed.add_signature(signing, protected=json.dumps({"alg": "RS256", "kid": signing_kid}))
    header = {"alg": "RSA-OAEP", "enc": "A256GCM", "kid": kid_of(encryption.get_op_key("encrypt"))}
    encrypted = jwe.JWE(signed.serialize(compact=True).encode(), protected=json.dumps(header))
    encrypted.add_recipient(encryption)
    return str(encrypted.serialize(compact=True))


class Walker:
    """One respondent. Each request that was answered is in `sent` as (method, path, status)."""

    def __init__(self, port: int, keys: Path, journey: Path) -> None:
        document = json.loads(journey.read_text())
        self.requests: list[dict[str, Any]] = document["requests"]
        self.sent: list[tuple[str, str, int]] = []
        self.ids: dict[str, str] = {}
        self.token = make_token(keys, document["schema_name"], str(uuid.uuid4()))
        self._port = port
        self.cookie = self._csrf_token = ""

    def walk(self) -> None:
        """Launch and walk the whole journey; anything unexpected fails."""
        with self._connected() as connection:
            self._send(connection, "GET", f"/session?token={self.token}", expect="/questionnaire")
            self._send(connection, "GET", "/questionnaire", expect=self.requests[0]["url"])
            for index, request in enumerate(self.requests):
                form = None
                if request["method"] == "POST":
                    form = urlencode({"csrf_token": self._csrf_token} | request["data"], doseq=True)
                redirects = form is not None or "redirect_route" in request
                target = request.get("redirect_route") or self.requests[index + 1]["url"] if redirects else None
                self._send(connection, request["method"], self._fill(request["url"]), form, expect=target)

    def launch(self) -> int:
        """The status of a launch alone; the token works once."""
        with self._connected() as connection:
            return self._ask(connection, "GET", f"/session?token={self.token}", None)[0]

    @contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.connect()
        connection.auto_open = False  # the server must keep the connection
        try:
            yield connection
        finally:
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        url: str,
        form: str | None = None,
        *,
        expect: str | None,
    ) -> None:
        status, location, page = self._ask(connection, method, url, form)
        where = f"{method} {url.partition('?')[0]}, the request number {len(self.sent)}: {page[:200]}"
        if expect is None:
            assert status == 200, where
            assert page.startswith("<!doctype html>"), where
            if found := CSRF_TOKEN.search(page):
                self._csrf_token = found[1]
            return
        assert status == 302, where
        for part, actual in zip(expect.split("/"), location.split("/"), strict=True):
            if found := PLACEHOLDER.fullmatch(part):
                assert self.ids.setdefault(found[1], actual) == actual, where
        assert location == self._fill(expect), where

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, url: str, form: str | None
    ) -> tuple[int, str, str]:
        headers = {"X-LoadTest-Window": WINDOW}
        if self.cookie:
            headers["Cookie"] = self.cookie
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, url, form, headers)
        response = connection.getresponse()
        page = response.read().decode()
        if cookie := response.getheader("Set-Cookie"):
            self.cookie = cookie.partition(";")[0]
        self.sent.append((method, url.partition("?")[0], response.status))
        return response.status, response.getheader("Location", ""), page

    def _fill(self, template: str) -> str:
        return PLACEHOLDER.sub(lambda found: self.ids[found[1]], template)
