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
        if address in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address.is_global and not address.is_multicast


async def checked_target(url: str, *, allowed: Sequence[Network] = (), resolver: Resolver = resolve) -> Target:
    """The address to connect to for `url`.

    Every address the host resolves to must be public or in `allowed`. Raises Permanent if one isn't, and for anything
    but http and https; Transient when the name can't be resolved now.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Permanent(f"expected a URL with http or https and a host, not scheme {parts.scheme!r}")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = await resolver(parts.hostname, port)
    except OSError as error:
        raise Transient(f"can't resolve {parts.hostname}: {error}") from error
    for text in addresses:
        address = ipaddress.ip_address(text.split("%")[0])
        if not is_public(address) and not any(address in network for network in allowed):
            raise Permanent(
                f"{parts.hostname} is {address}, which is not a public address: "
                "allow its network in ROTA_ALLOW_PRIVATE_TARGETS if it is meant to be reached"
            )
    return Target(parts.hostname, port, addresses[0])
