"""The calls of google.datastore.v1.Datastore that the emulator answers, whichever way they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.cloud.datastore_v1 import types

from sample_runner.datastore_emulator.store import InvalidArgumentError, Store


@dataclass(frozen=True)
class Call:
    """One kind of call: its gRPC name, its messages (plain protobuf) and what it does."""

    name: str
    request: Any
    answer: Callable[[Any], Any]

    @property
    def http_name(self) -> str:
        """The name in an HTTP path, /v1/projects/PROJECT:NAME."""
        return self.name[0].lower() + self.name[1:]


class Service:
    """Answers calls from a store, and counts them by transport and name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.requests: dict[str, Counter[str]] = {"http": Counter(), "grpc": Counter()}
        self.calls = (
            Call("Lookup", types.LookupRequest.pb(), self._lookup),
            Call("Commit", types.CommitRequest.pb(), self._commit),
            Call("BeginTransaction", types.BeginTransactionRequest.pb(), self._begin),
            Call("Rollback", types.RollbackRequest.pb(), self._rollback),
        )

    def answer(self, call: Call, request: Any, transport: str) -> Any:
        """The answer of one call; a StoreError is one that Datastore refuses."""
        self.requests[transport][call.name] += 1
        return call.answer(request)

    def counters(self) -> dict[str, Any]:
        """How many calls came over each transport, and what is stored."""
        return {"requests": self.requests, "entities": len(self._store), "bytes": self._store.stored_bytes}

    def _lookup(self, request: Any) -> Any:
        response = types.LookupResponse.pb()()
        options = request.read_options
        if options.WhichOneof("consistency_type") == "new_transaction":
            response.transaction = self._store.begin()
        for key in request.keys:
            stored = self._store.lookup(key, options.transaction or response.transaction)
            if stored is None:
                response.missing.add().entity.key.CopyFrom(key)
            else:
                found = response.found.add()
                found.entity.CopyFrom(stored[0])
                found.version = stored[1]
        return response

    def _commit(self, request: Any) -> Any:
        if request.mode == types.CommitRequest.Mode.TRANSACTIONAL and not request.WhichOneof("transaction_selector"):
            raise InvalidArgumentError("a transactional commit needs a transaction")
        response = types.CommitResponse.pb()()
        for version, key in self._store.commit(request.mutations, request.transaction):
            result = response.mutation_results.add()
            result.version = version
            if key is not None:
                result.key.CopyFrom(key)
        return response

    def _begin(self, _: Any) -> Any:
        return types.BeginTransactionResponse.pb()(transaction=self._store.begin())

    def _rollback(self, request: Any) -> Any:
        self._store.rollback(request.transaction)
        return types.RollbackResponse.pb()()
