"""Pages of the web, over HTTP: the text of HTML, PDFs and texts, and what is refused."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.responses import RedirectResponse, Response, StreamingResponse

from executor.adapters import readable_text
from executor.adapters.guarded_get import REDIRECTS, GuardedGet, web_client
from executor.adapters.httpx_pages import BYTES, HttpxPages
from executor.file_ports import Page
from rota_common.errors import Permanent, Transient
from tests.integration.executor.web_site import LOOPBACK, Site, resolver, serving

LIMIT = 1_000
HTML = """<!doctype html><html><head><title>News</title><style>p {}</style><script>track()</script></head>
<body><h1>Prices</h1><p>The plan costs <b>9&nbsp;€</b>.</p><ul><li>one<li>two</ul>
<table><tr><td>Basic</td><td>9</td></tr></table></body></html>"""


def pdf_of(text: str) -> bytes:
    """A PDF with one line of text."""
    shown = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(shown)}>>stream\n{shown}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    made, places = "%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj{each}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size, head = len(objects) + 1, "0000000000 65535 f \n"
    ending = f"trailer<</Size {size}/Root 1 0 R>>\nstartxref\n{len(made)}\n%%EOF"
    return f"{made}xref\n0 {size}\n{head}{table}{ending}".encode()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


@pytest.fixture
async def read() -> AsyncIterator[Callable[[str], Awaitable[Page]]]:
    async with web_client() as client:
        pages = HttpxPages(GuardedGet(client=client, timeout=5, allowed=LOOPBACK, resolver=resolver))
        yield lambda url: pages.read(url, limit=LIMIT)


async def test_a_page_a_pdf_and_a_text_are_read_as_text(site: Site, read: Callable[..., Any]) -> None:  # CL-17
    site.answers = {
        "/moved": RedirectResponse(site.url("/page", "other.example")),
        "/page": Response(HTML, media_type="text/html"),
        "/latin": Response("<p>gr\xfcn".encode("latin-1"), headers={"content-type": "text/html; charset=latin-1"}),
        "/pdf": Response(pdf_of("Hello from a PDF"), media_type="application/octet-stream"),
        "/json": Response('{"price": 9}', media_type="application/json"),
        "/long": Response("a" * (LIMIT + 1), media_type="text/plain"),
        "/endless": Response(b"a" * (BYTES + 1), media_type="text/plain"),
    }
    page = await read(site.url("/moved"))
    assert (page.url, page.content_type, page.cut) == (site.url("/page", "other.example"), "text/html", False)
    assert [line.strip() for line in page.text.splitlines() if line.strip()] == [
        "Prices",
        "The plan costs 9 €.",
        "* one",
        "* two",
        "Basic  9",
    ]
    assert (await read(site.url("/latin"))).text == "grün"
    assert (await read(site.url("/pdf"))).text == "Hello from a PDF"
    assert (await read(site.url("/json"))).text == '{"price": 9}'
    for path in ("/long", "/endless"):
        long = await read(site.url(path))
        assert (len(long.text), long.cut) == (LIMIT, True)


async def _silent() -> AsyncIterator[bytes]:
    yield b"<html>"
    await asyncio.Event().wait()


async def test_what_may_not_be_reached_or_has_no_text_is_refused(
    site: Site, read: Callable[..., Any], subtests: pytest.Subtests
) -> None:  # CL-17
    site.answers = {
        "/inside": RedirectResponse(site.url("/b", "inside.example")),
        "/metadata": RedirectResponse("http://169.254.169.254/latest/meta-data"),
        "/round": RedirectResponse("/round"),
        "/odd": RedirectResponse("file:///etc/passwd"),
        "/key": RedirectResponse(site.url("/b", "user:pass@pictures.example")),
        "/picture": Response(b"\x89PNG", media_type="image/png"),
        "/packed": Response("text", headers={"content-encoding": "gzip"}),
        "/slow": StreamingResponse(_silent(), media_type="text/html"),
        "/empty": Response("<html><script>app()</script></html>", media_type="text/html"),
        "/broken": Response(b"%PDF-1.4 nothing", media_type="application/pdf"),
        "/large": Response(b"%PDF-" + b"a" * BYTES, media_type="application/pdf"),
    }
    cases = {
        "http://inside.example/": "inside.example is 10.0.0.7, which is not a public address: try another address",
        site.url("/inside"): "inside.example is 10.0.0.7",
        site.url("/round"): f"more than {REDIRECTS} redirects to a page",
        site.url("/odd"): "expected a URL with http or https",
        "file:///etc/passwd": "expected a URL with http or https",
        "ftp://pictures.example/a": "expected a URL with http or https",
        "no address": "expected a URL with http or https",
        site.url("/key"): "without user and password",
        site.url("/missing"): "pictures.example answered 404 in place of a page",
        site.url("/picture"): "expected a page, a PDF or a text at pictures.example, got image/png",
        site.url("/packed"): "answered 200 in place of a page",
        site.url("/slow"): "no page from pictures.example within 5 s",
        site.url("/empty"): "the html can't be read: it holds no text",
        site.url("/broken"): "the pdf can't be read",
        site.url("/large"): f"the PDF at pictures.example is too large: at most {BYTES} bytes",
    }
    for url, reason in cases.items():
        with subtests.test(url), pytest.raises(Permanent, match=reason):
            await read(url)
    assert "inside.example" not in " ".join(host for _, host in site.asked)
    site.answers["/busy"] = Response("later", 503)
    with pytest.raises(Transient, match="answered 503 for a page"):
        await read(site.url("/busy"))


async def test_without_permission_private_addresses_are_refused() -> None:
    urls = ("http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest", "http://[::ffff:10.0.0.1]/")
    async with web_client() as client:
        for url in urls:
            with pytest.raises(Permanent, match="not a public address"):
                await HttpxPages(GuardedGet(client=client)).read(url, limit=LIMIT)


async def test_a_page_that_takes_too_long_to_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable_text, "PATIENCE_S", 0.01)
    with pytest.raises(Permanent, match="it took more than 0.01 s to read the html"):
        await readable_text.readable(b"<p>a</p>" * 10_000, "html", limit=LIMIT)
