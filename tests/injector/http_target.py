"""A server over raw sockets that says exactly what a test wants, and does to the connection what it wants."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
from gevent.server import StreamServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CLOSE = "close"
RESET = "reset"
HANG = "hang"

Step = bytes | str | float | Callable[[Any], None]


class Target:
    """Answers each request with the next script: bytes are sent, numbers slept, CLOSE, RESET and HANG done.

    Without a script left it answers OK.
    """

    def __init__(self, *scripts: list[Step], address: tuple[str, int] = ("127.0.0.1", 0), **tls: Any) -> None:
        self.scripts = list(scripts)
        self.requests: list[bytes] = []
        self.connections = 0
        self.server = StreamServer(address, self.serve, **tls)
        self.server.start()
        self.scheme = "https" if tls else "http"

    @property
    def port(self) -> int:
        return int(self.server.server_port)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def serve(self, sock: Any, _address: Any) -> None:
        self.connections += 1
        try:
            while request := read_request(sock):
                self.requests.append(request)
                for step in self.scripts.pop(0) if self.scripts else [OK]:
                    if not self.do(sock, step):
                        return
        except OSError:
            return
        finally:
            sock.close()

    def do(self, sock: Any, step: Step) -> bool:
        if isinstance(step, bytes):
            sock.sendall(step)
        elif isinstance(step, float | int):
            gevent.sleep(step)
        elif step == CLOSE:
            return False
        elif step == RESET:
            reset(sock)
            return False
        elif step == HANG:
            gevent.sleep(30)
        elif callable(step):
            step(sock)
        return True

    def stop(self) -> None:
        self.server.stop(timeout=0)


def open_files() -> int:
    """How many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def reset(sock: Any) -> None:
    """Close with an RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def read_request(sock: Any) -> bytes:
    """One request with its body (by Content-Length); b"" at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65_536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        piece = sock.recv(65_536)
        if not piece:
            return b""
        body += piece
    return head + b"\r\n\r\n" + body
