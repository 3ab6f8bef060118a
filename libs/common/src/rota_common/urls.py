"""The SSRF guard: a host is resolved once, its addresses are checked, and the checked address is used."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from rota_common.errors import Permanent, Transient

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Awaitable[list[str]]]

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""The last 32 bits are an IPv4 address."""

_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All allocated IPv6 addresses; any other is private, or leads nowhere."""

_RESERVED: Sequence[Network] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",  # of protocols; Oracle's metadata server is in it
        "192.88.99.0/24",  # relays of 6to4
        "168.63.129.16/32",  # Azure's own services, seen by its machines only
        "3fff::/20",  # for documentation
    )
)
"""Not public, though not every version of Python treats them so."""

_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""Bits 64 to 95 of an IPv6 address whose last 32 are an IPv4 address behind a local tunnel."""

_LOOKUPS = ThreadPoolExecutor(64, thread_name_prefix="resolve")
"""Separate threads: a name server that doesn't answer blocks one for seconds, and asyncio has only a few."""


@dataclass(frozen=True)
class Target:
    """The address to connect to, and the host to request there."""

    host: str
    port: int
    address: str


def networks(text: str) -> tuple[Network, ...]:
    """Networks written as CIDRs with commas between; ValueError names a wrong one."""
    return tuple(ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())


async def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, by the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(_LOOKUPS, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    return [str(entry[4][0]) for entry in found]


def is_public(address: Address) -> bool:
    """True for an address of the public internet. IPv4 inside IPv6 counts as the IPv4 address."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _ipv4_inside(address)
        if inner is not None:
            return is_public(inner)
        if address not in _UNICAST or (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
            return False
    if any(address in network for network in _RESERVED):
        return False
    return address.is_global and not address.is_multicast


def _ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


ADVICE = "allow its network in ROTA_ALLOW_PRIVATE_TARGETS if it is meant to be reached"


async def checked_target(
    url: str, *, allowed: Sequence[Network] = (), resolver: Resolver = resolve, advice: str = ADVICE
) -> Target:
    """The address to connect to for `url`. `advice`: what to do about a private one.

    Every address the host resolves to must be public or in `allowed`. Raises Permanent if one isn't, and for anything
    but http and https; Transient when the name can't be resolved now.
    """
    host, port = _host_and_port(url)
    try:
        addresses = await resolver(host, port)
    except UnicodeError as error:  # a label that is empty or too long; the resolver never asks for such a name
        raise Permanent(f"{host!r} can't be a host name: {error}") from error
    except OSError as error:
        raise Transient(f"can't resolve {host}: {error}") from error
    if not addresses:
        raise Transient(f"can't resolve {host}: no addresses")
    for text in addresses:
        address = ipaddress.ip_address(text.split("%")[0])
        if not is_public(address) and not any(address in network for network in allowed):
            raise Permanent(f"{host} is {address}, which is not a public address: {advice}")
    return Target(host, port, addresses[0])


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Permanent(f"expected a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Permanent(f"expected a URL with http or https and a host, not scheme {parts.scheme!r}")
    if port == 0:
        raise Permanent("expected a URL with a port from 1 to 65535, not 0")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)
