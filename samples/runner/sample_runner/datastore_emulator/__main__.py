"""`python -m sample_runner.datastore_emulator`: serves both transports until SIGTERM.

DATASTORE_EMULATOR_BIND (0.0.0.0), DATASTORE_EMULATOR_HTTP_PORT (8081), DATASTORE_EMULATOR_GRPC_PORT (8082),
DATASTORE_EMULATOR_MAX_MEBIBYTES (96): the least recently used entities go when there is more than that.
"""

from __future__ import annotations

import asyncio
import os
import signal

from sample_runner.datastore_emulator import http_front, rpc_front
from sample_runner.datastore_emulator.service import Service
from sample_runner.datastore_emulator.store import Store
from sample_runner.settings import number

_MEBIBYTE = 1024 * 1024


async def serve() -> None:
    """Serve until SIGTERM or SIGINT."""
    host = os.environ.get("DATASTORE_EMULATOR_BIND") or "0.0.0.0"  # noqa: S104 - a pod's own address
    service = Service(Store(max_bytes=number(os.environ, "DATASTORE_EMULATOR_MAX_MEBIBYTES", 96) * _MEBIBYTE))
    http = await http_front.start(service, host, number(os.environ, "DATASTORE_EMULATOR_HTTP_PORT", 8081))
    rpc = await rpc_front.start(service, f"{host}:{number(os.environ, 'DATASTORE_EMULATOR_GRPC_PORT', 8082)}")
    stop = asyncio.Event()
    for number_of_signal in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number_of_signal, stop.set)
    await stop.wait()
    http.close()
    await rpc.stop(grace=1)


asyncio.run(serve())
