"""Pictures of the web over HTTP: from public addresses alone, each checked before it is connected to."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from executor.file_ports import Picture
from rota_common.errors import Permanent, Transient
from rota_common.urls import Network, Resolver, checked_target
from rota_common.urls import resolve as system_resolver

TIMEOUT_S = 20.0
"""From the first name to the last byte, redirects included."""

REDIRECTS = 3
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)
"""The beginnings of the pictures that models take: the content decides, not the type that a server names."""

ADVICE = "upload the picture, and name the attachment"
HEADERS = {"user-agent": "rota-executor/1", "accept": "image/*", "accept-encoding": "identity"}


def picture_client() -> httpx.AsyncClient:
    """A client that keeps neither connections nor cookies, because it goes to addresses rather than names."""
    return httpx.AsyncClient(
        timeout=None,  # noqa: S113  # the whole fetch has one
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        trust_env=False,
        follow_redirects=False,
    )


class HttpxPictures:
    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        timeout: float = TIMEOUT_S,
        allowed: Sequence[Network] = (),
        resolver: Resolver = system_resolver,
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._allowed = allowed
        self._resolver = resolver

    async def fetch(self, url: str, *, limit: int) -> Picture:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._followed(url, limit)
        except TimeoutError as error:
            raise Permanent(f"no picture from {_host(url)} within {self._timeout:g} s: {ADVICE}") from error

    async def _followed(self, url: str, limit: int) -> Picture:
        for _ in range(REDIRECTS + 1):
            async with self._response(url) as response:
                if not response.has_redirect_location:
                    return await _picture(response, url, limit)
                url = _redirect(url, response)
        raise Permanent(f"more than {REDIRECTS} redirects to a picture, the last one to {_host(url)}: {ADVICE}")

    @asynccontextmanager
    async def _response(self, url: str) -> AsyncIterator[httpx.Response]:
        """From the checked address, with the name of the requested host."""
        where = await checked_target(url, allowed=self._allowed, resolver=self._resolver, advice=ADVICE)
        try:
            asked = httpx.URL(url)
            if asked.userinfo:
                raise Permanent(f"expected an address without user and password at {where.host}: {ADVICE}")
            request = self._client.build_request(
                "GET",
                asked.copy_with(host=where.address, fragment=None),
                headers={**HEADERS, "host": asked.netloc.decode()},
                extensions={"sni_hostname": asked.raw_host.decode()},
            )
            response = await self._client.send(request, stream=True)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise Permanent(f"expected an address of a picture: {error}") from error
        except httpx.HTTPError as error:
            raise Transient(f"can't reach {where.host}: {type(error).__name__} {error}".strip()) from error
        try:
            yield response
        except httpx.HTTPError as error:
            raise Transient(f"{where.host} breaks off: {type(error).__name__}") from error
        finally:
            await response.aclose()


async def _picture(response: httpx.Response, url: str, limit: int) -> Picture:
    status = response.status_code
    if status == 429 or status >= 500:
        raise Transient(f"{_host(url)} answered {status} for a picture")
    if status != 200 or response.headers.get("content-encoding", "identity") != "identity":
        raise Permanent(f"{_host(url)} answered {status} in place of a picture: {ADVICE}")
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > limit:
            raise Permanent(f"the picture at {_host(url)} is too large: a model is shown at most {limit} bytes")
    found = (kind for mark, at, kind in SIGNATURES if content[at : at + len(mark)] == mark)
    kind = next(found, "")
    if not kind:
        raise Permanent(f"expected a picture (PNG, JPEG, GIF or WebP) at {_host(url)}, what is there is none: {ADVICE}")
    return Picture(kind, bytes(content))


def _redirect(url: str, response: httpx.Response) -> str:
    """The next address, never one that gives up the encryption."""
    try:
        target = httpx.URL(url).join(response.headers["location"])
    except httpx.InvalidURL as error:
        raise Permanent(f"{_host(url)} redirects to what is no address: {ADVICE}") from error
    if url.lower().startswith("https:") and target.scheme != "https":
        raise Permanent(f"{_host(url)} redirects a picture to a place without encryption: {ADVICE}")
    return str(target)


def _host(url: str) -> str:
    """The host alone: an address may hold a key."""
    try:
        return httpx.URL(url).host
    except httpx.InvalidURL:
        return "the address"
