"""TLS over a socket of which only bytes are known: OpenSSL between two buffers.

Reads of up to 64 KiB take one call of the system where an `SSLSocket` takes two for each record of TLS.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import certifi

from loadtest_injector.http.errors import RESET, HttpError, of_socket

_RECORD = 16 * 1024


def client_context(ca: Path | None = None) -> ssl.SSLContext:
    """A context that verifies certificate and host name, by the authorities in `ca`, else by the public ones."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # of this kind it verifies certificate and host name
    context.load_verify_locations(cafile=ca or certifi.where())
    return context


def insecure_context() -> ssl.SSLContext:
    """A context that verifies nothing: only where the user has asked for that."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class TlsStream:
    """One TLS connection of a client. `send` and `receive` move bytes of the socket; receive gives b"" at its end."""

    __slots__ = ("_ended", "_incoming", "_outgoing", "_receive", "_send", "_tls")

    def __init__(
        self,
        context: ssl.SSLContext,
        host: str,
        session: ssl.SSLSession | None,
        send: Callable[[bytes], bool],
        receive: Callable[[], bytes],
    ) -> None:
        self._send = send
        self._receive = receive
        self._ended = False
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        # The host name goes into SNI; of an address only the certificate is checked.
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host, session=session)

    def handshake(self) -> None:
        """Shake hands. HttpError of kind tls where that fails, of kind reset where the connection ends."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                data = self._receive()
                if not data:
                    raise HttpError(RESET, "the connection was closed in the TLS handshake") from None
                self._incoming.write(data)
            except ssl.SSLError as error:
                self._flush_alert()
                raise of_socket(error) from error
            else:
                self._flush()
                return

    @property
    def resumed(self) -> bool:
        """Whether the handshake was spared by a session of before."""
        return self._tls.session_reused is True

    @property
    def session(self) -> ssl.SSLSession | None:
        """What the next connection may begin with. With TLS 1.3 it is there after the first answer."""
        return self._tls.session

    def send(self, data: bytes) -> bool:
        """Encrypt and send; whether all of it went out."""
        written = self._tls.write(data)
        while written < len(data):
            written += self._tls.write(data[written:])
        return self._send(self._outgoing.read())

    def receive(self) -> bytes:
        """What arrived, b"" where the other side has said that it ends; HttpError where it ended without."""
        while not self._ended:
            if not self._incoming.pending:
                received = self._receive()
                if received:
                    self._incoming.write(received)
                else:
                    self._incoming.write_eof()
            data = self.decrypted()
            if data is not None:
                return data
        return b""

    def decrypted(self) -> bytes | None:
        """All that can be decrypted now; None where more must arrive first, b"" at the end."""
        pieces: list[bytes] = []
        try:
            while True:
                piece = self._tls.read(_RECORD)
                if not piece:
                    self._ended = True
                    break
                pieces.append(piece)
                if not self._incoming.pending and len(piece) < _RECORD:
                    break  # spares the exception that says that there is no more
        except ssl.SSLWantReadError:
            if not pieces:
                return None
        except ssl.SSLZeroReturnError:
            self._ended = True
        except ssl.SSLEOFError as error:
            if not pieces:
                raise HttpError(RESET, "the connection ended without a TLS close") from error
        except ssl.SSLError as error:
            raise of_socket(error) from error
        return b"".join(pieces) if len(pieces) != 1 else pieces[0]

    def quiet_after(self, received: bytes) -> bool:
        """Take what arrived between two requests: False where it is more than TLS's own (tickets)."""
        if not received:
            return False
        self._incoming.write(received)
        try:
            return self.decrypted() is None
        except HttpError:
            return False

    def _flush(self) -> None:
        data = self._outgoing.read()
        if data:
            self._send(data)

    def _flush_alert(self) -> None:
        try:
            self._flush()
        except (OSError, HttpError):
            return  # it was a courtesy
