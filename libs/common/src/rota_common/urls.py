"""Guard against requests into our own network: an address is resolved once, checked, and that address is used."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rota_common.errors import Permanent, Transient

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Awaitable[list[str]]]


_EMBEDS_IPV4 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
"""The last 32 bits are an IPv4 address: NAT64, and the old IPv4-compatible form."""

_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")


@dataclass(frozen=True)
class Target:
    """Where to connect (`address`) and whom to ask for there (`host`)."""

    host: str
    port: int
    address: str


def networks(text: str) -> tuple[Network, ...]:
    """Networks written as CIDRs with commas between; ValueError names a wrong one."""
    return tuple(ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())


async def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def is_public(address: Address) -> bool:
    """Is it an address of the public internet? IPv4 inside IPv6 is judged as the IPv4 address it stands for."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_public(inner)
        if any(address in network for network in _EMBEDS_IPV4):
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.is_site_local or address in _LOCAL_NAT64:
            return False
    return address.is_global and not address.is_multicast


async def checked_target(url: str, *, allowed: Sequence[Network] = (), resolver: Resolver = resolve) -> Target:
    """The address to connect to for `url`.

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
            raise Permanent(
                f"{host} is {address}, which is not a public address: "
                "allow its network in ROTA_ALLOW_PRIVATE_TARGETS if it is meant to be reached"
            )
    return Target(host, port, addresses[0])


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise Permanent(f"expected a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Permanent(f"expected a URL with http or https and a host, not scheme {parts.scheme!r}")
    return parts.hostname, port
