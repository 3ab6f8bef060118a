"""Failures of connections as text: what the server at an address did, and what to do."""

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORTS = {"https": 443, "nats": 4222, "tls": 4222}

Kinds = type[BaseException] | tuple[type[BaseException], ...]


def address(url: str) -> str:
    """Host and port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or url, parts.port or PORTS.get(parts.scheme, 80)
    except ValueError:
        return url
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False


def connection_problem(url: str, error: BaseException) -> str:
    """One line. The causes behind an error of a client's library say more than it does itself."""
    where = address(url)
    texts: tuple[tuple[Kinds, str], ...] = (
        (ConnectionRefusedError, f"connection refused by {where}"),
        (socket.gaierror, f"unknown host {where.rpartition(':')[0]}"),
        (ssl.SSLError, f"no TLS connection to {where}: {error}"),
        (ConnectionResetError, f"connection closed by {where}"),
    )
    causes = list(_causes(error))
    for kinds, text in texts:
        if any(isinstance(cause, kinds) for cause in causes):
            return f"no answer from {url}: {text}"
    return f"no answer from {url}: {str(error) or type(error).__name__}"


def connection_hint(url: str) -> str:
    start = "start Rota here with `rota up`" if is_loopback(url) else "start Rota there"
    other = "choose another address with ROTA_URL or `rota context use NAME`"
    return f"{start}, or {other}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [cause for cause in (one.__cause__ or one.__context__,) if cause is not None]
