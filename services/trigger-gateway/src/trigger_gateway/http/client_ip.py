"""Clients' addresses: the peer's, or the one that a trusted proxy forwards."""

import ipaddress
from functools import lru_cache

from starlette.requests import Request

from rota_common.urls import Network

SUBSCRIBER_BITS = 64
"""Of an IPv6 address: a client has the whole prefix, so its addresses are counted as one."""

UNKNOWN = "unknown"


def client_ip(request: Request, trusted: tuple[Network, ...]) -> str:
    """The address that rate limits count."""
    peer = request.client.host if request.client else ""
    if not trusted:
        return _counted(peer)
    return _counted(_first_untrusted([*_forwarded(request), peer], trusted))


def _first_untrusted(hops: list[str], trusted: tuple[Network, ...]) -> str:
    """From the near end, because everything before the first untrusted hop may be forged."""
    known = ""
    for hop in reversed(hops):
        address = _address(hop)
        if address is None:
            break
        known = hop
        if not any(address in network for network in trusted):
            break
    return known


def _forwarded(request: Request) -> list[str]:
    return [hop.strip() for line in request.headers.getlist("x-forwarded-for") for hop in line.split(",")]


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return inner or address


@lru_cache(maxsize=4096)
def _counted(text: str) -> str:
    address = _address(text)
    if address is None:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, SUBSCRIBER_BITS), strict=False))
    return str(address)
