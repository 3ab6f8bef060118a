"""Requests to addresses that others have written: to public ones alone, each checked before it is connected to."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from rota_common.errors import Permanent, Transient
from rota_common.urls import Network, Resolver, checked_target
from rota_common.urls import resolve as system_resolver

TIMEOUT_S = 20.0
"""From the first name to the last byte, redirects included."""

REDIRECTS = 3


def web_client() -> httpx.AsyncClient:
    """A client that keeps neither connections nor cookies, because it goes to addresses rather than names."""
    return httpx.AsyncClient(
        timeout=None,  # noqa: S113  # the whole fetch has one
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        trust_env=False,
        follow_redirects=False,
    )


@dataclass(frozen=True)
class Wanted:
    """What is expected, as a `noun`. `accept`: the header; `advice`: what to do about what can't be fetched. A `limit`
    of bytes that is `cut` gives the beginning; otherwise what is longer is refused."""

    noun: str
    accept: str
    advice: str
    limit: int
    too_large: str
    cut: bool = False


@dataclass(frozen=True)
class Got:
    """`url`: where it was in the end; `cut`: this is the beginning alone."""

    url: str
    content_type: str
    content: bytes
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class GuardedGet:
    """Raises Permanent for what may not be reached or isn't there, Transient while its server doesn't answer."""

    client: httpx.AsyncClient
    timeout: float = TIMEOUT_S
    allowed: Sequence[Network] = ()
    resolver: Resolver = system_resolver

    async def __call__(self, url: str, wanted: Wanted) -> Got:
        try:
            async with asyncio.timeout(self.timeout):
                return await self._followed(url, wanted)
        except TimeoutError as error:
            host = host_of(url)
            raise Permanent(f"no {wanted.noun} from {host} within {self.timeout:g} s: {wanted.advice}") from error

    async def _followed(self, url: str, wanted: Wanted) -> Got:
        for _ in range(REDIRECTS + 1):
            async with self._response(url, wanted) as response:
                if not response.has_redirect_location:
                    return await _got(response, url, wanted)
                url = _redirect(url, response, wanted)
        noun, host = wanted.noun, host_of(url)
        raise Permanent(f"more than {REDIRECTS} redirects to a {noun}, the last one to {host}: {wanted.advice}")

    @asynccontextmanager
    async def _response(self, url: str, wanted: Wanted) -> AsyncIterator[httpx.Response]:
        """From the checked address, with the name of the requested host."""
        where = await checked_target(url, allowed=self.allowed, resolver=self.resolver, advice=wanted.advice)
        try:
            asked = httpx.URL(url)
            if asked.userinfo:
                raise Permanent(f"expected an address without user and password at {where.host}: {wanted.advice}")
            request = self.client.build_request(
                "GET",
                asked.copy_with(host=where.address, fragment=None),
                headers={
                    "user-agent": "rota-executor/1",
                    "accept": wanted.accept,
                    "accept-encoding": "identity",
                    "host": asked.netloc.decode(),
                },
                extensions={"sni_hostname": asked.raw_host.decode()},
            )
            response = await self.client.send(request, stream=True)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise Permanent(f"expected an address of a {wanted.noun}: {error}") from error
        except httpx.HTTPError as error:
            raise Transient(f"can't reach {where.host}: {type(error).__name__} {error}".strip()) from error
        try:
            yield response
        except httpx.HTTPError as error:
            raise Transient(f"{where.host} breaks off: {type(error).__name__}") from error
        finally:
            await response.aclose()


async def _got(response: httpx.Response, url: str, wanted: Wanted) -> Got:
    status, noun = response.status_code, wanted.noun
    if status == 429 or status >= 500:
        raise Transient(f"{host_of(url)} answered {status} for a {noun}")
    if status != 200 or response.headers.get("content-encoding", "identity") != "identity":
        raise Permanent(f"{host_of(url)} answered {status} in place of a {noun}: {wanted.advice}")
    content, kind = bytearray(), response.headers.get("content-type", "")
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > wanted.limit:
            if wanted.cut:
                return Got(url, kind, bytes(content[: wanted.limit]), cut=True)
            raise Permanent(f"the {noun} at {host_of(url)} is too large: {wanted.too_large}")
    return Got(url, kind, bytes(content))


def _redirect(url: str, response: httpx.Response, wanted: Wanted) -> str:
    """The next address, never one that gives up the encryption."""
    noun, host = wanted.noun, host_of(url)
    try:
        target = httpx.URL(url).join(response.headers["location"])
    except httpx.InvalidURL as error:
        raise Permanent(f"{host} redirects to what is no address: {wanted.advice}") from error
    if url.lower().startswith("https:") and target.scheme != "https":
        raise Permanent(f"{host} redirects a {noun} to a place without encryption: {wanted.advice}")
    return str(target)


def host_of(url: str) -> str:
    """The host alone: an address may hold a key."""
    try:
        return httpx.URL(url).host
    except httpx.InvalidURL:
        return "the address"
