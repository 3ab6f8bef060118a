"""Pages of the web over HTTP, as texts."""

from email.message import Message

from executor.adapters.guarded_get import GuardedGet, Wanted, host_of
from executor.adapters.readable_text import readable
from executor.file_ports import Page
from rota_common.errors import Permanent

BYTES = 5 * 1024 * 1024
"""Of a page; more of a text isn't read, and more of a PDF can't be."""

ADVICE = "try another address; only public ones are fetched"
ACCEPT = "text/html, application/pdf, text/*;q=0.9, application/json;q=0.9, */*;q=0.1"
TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml")
HTML = ("text/html", "application/xhtml+xml")


class HttpxPages:
    def __init__(self, get: GuardedGet) -> None:
        self._get = get

    async def read(self, url: str, *, limit: int) -> Page:
        got = await self._get(url, Wanted("page", ACCEPT, ADVICE, BYTES, f"at most {BYTES} bytes are read", cut=True))
        header = Message()
        header["content-type"] = got.content_type
        kind, charset = header.get_content_type() if got.content_type else "", header.get_content_charset("")
        beginning = got.content[:1024].lstrip().lower()
        if beginning.startswith(b"%pdf-"):
            if got.cut:
                raise Permanent(f"the PDF at {host_of(got.url)} is too large: at most {BYTES} bytes are read")
            kind, text = "application/pdf", await readable(got.content, "pdf", limit=limit + 1)
        elif kind in HTML or beginning.startswith((b"<!doctype html", b"<html")):
            kind, text = "text/html", await readable(got.content, "html", charset=charset, limit=limit + 1)
        elif kind.startswith(TEXTS) or kind.endswith(("+json", "+xml")):
            text = _decoded(got.content, charset)
        else:
            raise Permanent(f"expected a page, a PDF or a text at {host_of(got.url)}, got {kind or 'what has no type'}")
        return Page(got.url, kind, text[:limit], cut=got.cut or len(text) > limit)


def _decoded(content: bytes, charset: str) -> str:
    try:
        return content.decode(charset or "utf-8", errors="replace")
    except LookupError:  # an encoding that isn't known
        return content.decode(errors="replace")
