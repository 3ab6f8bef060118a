"""A receiver of signed results on this machine: it verifies each request, hands it on, and answers."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rota.errors import CliError
from rota.signing import check_secret, signature_problem
from rota.timestamps import now

LOOPBACK = "127.0.0.1"
MAX_BYTES = 32 * 1024 * 1024
"""More than any result of Rota has."""

READ_S = 30.0


@dataclass(frozen=True)
class Received:
    """A request. `problem`: why its signature isn't right, or empty. `body` is JSON, or the text of what isn't."""

    message_id: str
    verified: bool
    problem: str
    body: Any
    status: int


class Receiver(ThreadingHTTPServer):
    """Listens on `host`. Without a `secret` nothing is verified. A wrong signature is answered with
    401, everything else with `status`. `received` is called by one thread at a time."""

    daemon_threads = True

    def __init__(
        self, port: int, *, secret: str, status: int, received: Callable[[Received], None], host: str = LOOPBACK
    ) -> None:
        if secret:
            check_secret(secret)
        self.secret = secret
        self.status = status
        self._received = received
        self.ending = False
        self._lock = threading.Lock()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise CliError(f"can't listen on {host}:{port}: {error.strerror}", hint="0 takes any free port") from error

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"

    def stop(self) -> None:
        """End `serve_forever`, once this request is answered: without an answer its sender would try again."""
        self.ending = True

    def hand_on(self, received: Received) -> None:
        with self._lock:
            self._received(received)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    timeout = READ_S

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdigit():
            return self._answer(HTTPStatus.LENGTH_REQUIRED)
        if int(length) > MAX_BYTES:
            return self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        body = self.rfile.read(int(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        secret = self.server.secret
        problem = signature_problem(secret, body, headers, at=now()) if secret else ""
        status = HTTPStatus.UNAUTHORIZED if problem else self.server.status
        verified = bool(secret) and not problem
        self.server.hand_on(Received(headers.get("webhook-id", ""), verified, problem, _read(body), int(status)))
        self._answer(status)
        if self.server.ending:
            threading.Thread(target=self.server.shutdown, daemon=True).start()
        return None

    do_PUT = do_PATCH = do_POST  # noqa: N815  # as http.server calls them

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """What is received is handed on instead."""


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
