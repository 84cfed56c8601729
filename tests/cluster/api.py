"""The few calls to the API server that starting a cluster takes, through a client certificate."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cluster.log import ClusterError
from tests.cluster.pki import Pair

_NOT_FOUND, _CONFLICT, _BAD_REQUEST = 404, 409, 400


class Api:
    """A client of one API server; every call opens its own connection."""

    def __init__(self, server: str, authority: Path, client: Pair) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._context = ssl.create_default_context(cafile=str(authority))
        self._context.load_cert_chain(client.certificate, client.key)

    def call(self, method: str, path: str, body: object = None, timeout: float = 5.0) -> tuple[int, str]:
        """One request; the status and the text of the answer. Raises OSError when the server cannot be reached."""
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, body=text, headers={"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The object at this path, None if it is not there."""
        status, text = self.call("GET", path)
        if status == _NOT_FOUND:
            return None
        if status >= _BAD_REQUEST:
            raise ClusterError(f"GET {path}: {status} {text[:300]}")
        return json.loads(text)

    def create(self, collection: str, body: object) -> None:
        """Creates an object; one that is already there is left as it is."""
        status, text = self.call("POST", collection, body)
        if status >= _BAD_REQUEST and status != _CONFLICT:
            raise ClusterError(f"POST {collection}: {status} {text[:300]}")

    def ready(self, timeout: float = 2.0) -> bool:
        """Whether the server says that it is ready to serve."""
        try:
            return self.call("GET", "/readyz", timeout=timeout)[0] == http.HTTPStatus.OK
        except OSError:
            return False


def http_ok(url: str) -> bool:
    """Whether a plain health URL of a daemon answers 200 within a second."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=1.0)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
