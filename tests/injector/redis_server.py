"""A redis-server of a test's own, on loopback."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.injector.rig import free_port


@contextmanager
def redis_server(*options: str, port: int = 0) -> Iterator[int]:
    """Run a redis-server; its port. With TLS options it listens on the port that these name."""
    port = port or free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd="/tmp")  # noqa: S108 - it writes nothing
    try:
        _wait(process, port)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + 30
    while True:
        assert process.poll() is None, "redis-server ended"
        try:
            with redis.Redis(port=port) as client:
                client.ping()
        except redis.exceptions.AuthenticationError:
            return  # it answers, and wants a password
        except redis.exceptions.ConnectionError:
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.02)
        else:
            return


def secret(folder: Path, measurement: str, name: str, text: str) -> Path:
    """What the master would find mounted; the folder of all secrets."""
    (folder / measurement).mkdir(parents=True, exist_ok=True)
    (folder / measurement / name).write_text(text)
    return folder
