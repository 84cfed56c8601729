"""The gRPC side: the service google.datastore.v1.Datastore."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc  # type: ignore[import-untyped]

from sample_runner.datastore_emulator import store
from sample_runner.datastore_emulator.service import Call, Service

SERVICE = "google.datastore.v1.Datastore"

_CODES: dict[type[store.StoreError], grpc.StatusCode] = {
    store.InvalidArgumentError: grpc.StatusCode.INVALID_ARGUMENT,
    store.NotFoundError: grpc.StatusCode.NOT_FOUND,
    store.AlreadyExistsError: grpc.StatusCode.ALREADY_EXISTS,
    store.AbortedError: grpc.StatusCode.ABORTED,
}


async def start(service: Service, address: str) -> grpc.aio.Server:
    """Serve gRPC at host:port. Calls that the emulator does not have are answered UNIMPLEMENTED by gRPC itself."""
    server = grpc.aio.server()
    handlers = {
        call.name: grpc.unary_unary_rpc_method_handler(
            _handler(service, call),
            request_deserializer=call.request.FromString,
            response_serializer=_serialize,
        )
        for call in service.calls
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    if server.add_insecure_port(address) == 0:
        raise OSError(f"cannot listen on {address}")
    await server.start()
    return server


def _handler(service: Service, call: Call) -> Callable[[Any, Any], Awaitable[Any]]:
    async def handle(request: Any, context: Any) -> Any:
        try:
            return service.answer(call, request, "grpc")
        except store.StoreError as error:
            await context.abort(_CODES[type(error)], str(error))

    return handle


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())
