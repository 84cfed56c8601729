"""A small target on loopback, for the calibration: pages of 10 kB with a csrf_token, and forms that redirect.

`python -m loadtest_injector.loopback` prints its port and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import sys

_TOKEN = b'<form><input id="csrf_token" name="csrf_token" type="hidden" value="calibration"></form>'
_BODY = b"<html>" + _TOKEN + b"x" * (10_000 - len(_TOKEN) - 13) + b"</html>"
_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
_REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: /page/\r\nContent-Length: 0\r\n\r\n"


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._read = b""
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - a socket's is
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n") + 4) >= 4:  # noqa: PLR2004 - an empty line ends a head
            head = self._read[:end].lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
            whole = end + int(length or b"0")
            if len(self._read) < whole:
                return
            self._read = self._read[whole:]
            self._transport.write(_PAGE if head.startswith(b"get ") else _REDIRECT)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Connection, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
