"""HTTP to addresses that teams write: each is checked before it is connected to, and the checked one is used."""

from collections.abc import Sequence

import httpx

from rota_common.urls import Network, Resolver, checked_target
from rota_common.urls import resolve as system_resolver


class GuardedTransport(httpx.AsyncBaseTransport):
    """Requests go to the checked address, under the name of the host. Raises Permanent for an address that isn't public
    unless it is in `allowed`, Transient while a name can't be resolved.

    Keeps no connections, because they are to addresses rather than to names.
    """

    def __init__(self, *, allowed: Sequence[Network] = (), resolver: Resolver = system_resolver) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._inner = httpx.AsyncHTTPTransport(limits=limits, trust_env=False)
        self._allowed, self._resolver = allowed, resolver

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        where = await checked_target(str(request.url), allowed=self._allowed, resolver=self._resolver)
        asked = request.url
        request.url = asked.copy_with(host=where.address)
        request.headers["host"] = asked.netloc.decode()
        request.extensions = {**request.extensions, "sni_hostname": asked.raw_host.decode()}
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
