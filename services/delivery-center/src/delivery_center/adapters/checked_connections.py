"""Connections that are kept for a while, each opened to an address that was checked before."""

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

KEPT = 64
KEPT_FOR_S = 2.0
"""Shorter than servers keep theirs, which is 5 s at the least: one that is used again is rarely closed just then."""


@dataclass
class Connecting:
    """The checked address of a request in hand; `opened`: it needed a new connection."""

    address: str
    opened: bool = False


_REQUEST: ContextVar[Connecting] = ContextVar("connecting")


@contextmanager
def connecting_to(address: str) -> Iterator[Connecting]:
    """Requests made meanwhile by this task connect to the address, whatever the name in their URL resolves to."""
    request = Connecting(address)
    token = _REQUEST.set(request)
    try:
        yield request
    finally:
        _REQUEST.reset(token)


class _CheckedAddresses(httpcore.AsyncNetworkBackend):
    def __init__(self, network: httpcore.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        request = _REQUEST.get()  # none: a request whose address was not checked fails here
        request.opened = True
        return await self._network.connect_tcp(request.address, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def checked_transport(
    *, verify: ssl.SSLContext | bool = True, network: httpcore.AsyncNetworkBackend | None = None
) -> httpx.AsyncHTTPTransport:
    """A transport that connects as `connecting_to` says. Connections are kept by the name that they were opened (and
    verified) for, never by address: one name's serves no other name there. `network`: the real one by default."""
    transport = httpx.AsyncHTTPTransport(trust_env=False)
    transport._pool = httpcore.AsyncConnectionPool(  # httpx takes no network backend
        ssl_context=httpx.create_ssl_context(verify=verify, trust_env=False),
        max_connections=None,
        max_keepalive_connections=KEPT,
        keepalive_expiry=KEPT_FOR_S,
        network_backend=_CheckedAddresses(network or httpcore.AnyIOBackend()),
    )
    return transport
