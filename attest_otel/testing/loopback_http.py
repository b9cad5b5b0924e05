"""The HTTP half of the scripted server: connections, threads, and bytes on the wire."""

from __future__ import annotations

import json
import socket
import socketserver
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from attest_otel.testing.render import Rendered, render
from attest_otel.testing.script import Failure

MAX_REQUEST_BYTES = 32 * 1024 * 1024
SECRET_HEADERS = frozenset({"x-api-key", "authorization"})


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request as it came.

    `headers` go by lower-case name, secrets replaced; `json` is None where the body was no JSON object.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    json: dict[str, Any] | None = None


class Service(Protocol):
    """What answers requests."""

    def respond(self, request: RecordedRequest) -> Rendered:
        """Return the response to a request."""

    def wait(self, seconds: float) -> bool:
        """Wait unless the server closes; return whether it still runs."""


class LoopbackServer(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1 and lets a `Service` answer; threads are joined on close."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, service: Service) -> None:
        self.service = service
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        """Bind without the name look-up of HTTPServer, which may ask a DNS server."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection and serve it in a thread of its own."""
        with self._connections_lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection and end it."""
        with self._connections_lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """Shut every open connection, which ends the threads that serve them."""
        with self._connections_lock:
            for connection in self._connections:
                _cut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what is not a client's leaving, which it may do at any time."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: LoopbackServer

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing on the terminal."""

    def _respond(self) -> None:
        length = self.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_REQUEST_BYTES:
            self.close_connection = True
            self._send(render(Failure(413, f"a request may have {MAX_REQUEST_BYTES} bytes"), {}, 0))
            return
        body = _json_object(self.rfile.read(int(length)))
        request = RecordedRequest(self.command, self.path, _public_headers(self.headers), body)
        self._send(self.server.service.respond(request))

    def _send(self, rendered: Rendered) -> None:
        if not self.server.service.wait(rendered.wire.delay_seconds):
            self.close_connection = True
            return
        self._send_head(rendered)
        self._send_body(rendered)

    def _send_head(self, rendered: Rendered) -> None:
        self.send_response(rendered.status)
        self.send_header("content-type", rendered.content_type)
        if rendered.wire.encoding != "identity":
            self.send_header("content-encoding", rendered.wire.encoding)
        for name, value in rendered.headers.items():
            self.send_header(name, value)
        if rendered.streamed:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(sum(map(len, rendered.writes))))
        self.end_headers()

    def _send_body(self, rendered: Rendered) -> None:
        left = rendered.wire.cut_after_bytes
        for number, write in enumerate(rendered.writes):
            if number and not self.server.service.wait(rendered.wire.pause_seconds):
                self.close_connection = True
                return
            piece = write if left is None else write[:left]
            self._write(piece, chunked=rendered.streamed)
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    self.close_connection = True
                    return
        if rendered.streamed:
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, piece: bytes, *, chunked: bool) -> None:
        if piece:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)


def _public_headers(headers: Message) -> dict[str, str]:
    named = ((name.lower(), value) for name, value in headers.items())
    return {name: "[secret]" if name in SECRET_HEADERS else value for name, value in named}


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
