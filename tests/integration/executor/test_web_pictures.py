"""Pictures of the web, over HTTP: what is fetched, and what is refused before it is connected to or while it comes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.responses import RedirectResponse, Response, StreamingResponse

from executor.adapters.guarded_get import REDIRECTS, GuardedGet, web_client
from executor.adapters.httpx_pictures import HttpxPictures
from executor.file_ports import Picture
from rota_common.errors import Permanent, Transient
from tests.integration.executor.web_site import LOOPBACK, Site, resolver, serving

PNG = b"\x89PNG\r\n\x1a\n-a picture-"
LIMIT = 1_000


async def _endless() -> AsyncIterator[bytes]:
    while True:
        yield PNG * 10
        await asyncio.sleep(0)


async def _silent() -> AsyncIterator[bytes]:
    yield PNG
    await asyncio.Event().wait()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


@pytest.fixture
async def fetch() -> AsyncIterator[Callable[..., Awaitable[Picture]]]:
    async with web_client() as client:
        pictures = HttpxPictures(GuardedGet(client=client, timeout=2, allowed=LOOPBACK, resolver=resolver))
        yield lambda url: pictures.fetch(url, limit=LIMIT)


async def test_a_picture_is_fetched_from_the_checked_address_over_redirects(
    site: Site, fetch: Callable[..., Any]
) -> None:
    site.answers = {
        "/a": RedirectResponse(site.url("/b", "other.example")),
        "/b": Response(PNG, media_type="text/plain"),
    }
    assert await fetch(site.url("/a")) == Picture("image/png", PNG)
    assert site.asked == [("/a", f"pictures.example:{site.port}"), ("/b", f"other.example:{site.port}")]


async def test_what_is_no_picture_or_may_not_be_reached_is_refused(
    site: Site, fetch: Callable[..., Any], subtests: pytest.Subtests
) -> None:  # EX-43
    site.answers = {
        "/inside": RedirectResponse(site.url("/b", "inside.example")),
        "/round": RedirectResponse("/round"),
        "/odd": RedirectResponse("file:///etc/passwd"),
        "/page": Response("<html>", media_type="image/png"),
        "/packed": Response(PNG, headers={"content-encoding": "gzip"}),
        "/large": StreamingResponse(_endless()),
        "/slow": StreamingResponse(_silent()),
        "/key": RedirectResponse(site.url("/b", "user:pass@pictures.example")),
    }
    cases = {
        site.url("/b", "inside.example"): "10.0.0.7, which is not a public address: upload the picture",
        site.url("/inside"): "inside.example is 10.0.0.7",
        site.url("/round"): f"more than {REDIRECTS} redirects",
        site.url("/odd"): "expected a URL with http or https",
        site.url("/page"): r"expected a picture \(PNG, JPEG, GIF or WebP\) at pictures.example",
        site.url("/packed"): "in place of a picture",
        site.url("/large"): f"is too large: a model is shown at most {LIMIT} bytes",
        site.url("/slow"): "no picture from pictures.example within 2 s",
        site.url("/key"): "without user and password",
        site.url("/missing"): "pictures.example answered 404",
    }
    for url, reason in cases.items():
        with subtests.test(url), pytest.raises(Permanent, match=reason):
            await fetch(url)
    assert "inside.example" not in " ".join(host for _, host in site.asked)


async def test_a_server_that_is_away_or_busy_is_tried_again_later(site: Site, fetch: Callable[..., Any]) -> None:
    site.answers = {"/busy": Response("later", 503)}
    with pytest.raises(Transient, match="answered 503"):
        await fetch(site.url("/busy"))
    with pytest.raises(Transient, match="can't reach pictures.example"):
        await fetch("http://pictures.example:1/a.png")


async def test_without_permission_loopback_is_refused() -> None:
    async with web_client() as client:
        for url in ("http://127.0.0.1/a.png", "http://[::1]/a.png", "http://169.254.169.254/a.png"):
            with pytest.raises(Permanent, match="not a public address"):
                await HttpxPictures(GuardedGet(client=client)).fetch(url, limit=LIMIT)
