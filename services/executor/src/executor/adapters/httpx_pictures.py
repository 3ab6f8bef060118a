"""Pictures of the web over HTTP."""

from executor.adapters.guarded_get import GuardedGet, Wanted, host_of
from executor.file_ports import Picture
from rota_common.errors import Permanent

SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)
"""The beginnings of the pictures that models take: the content decides, not the type that a server names."""

ADVICE = "upload the picture, and name the attachment"


class HttpxPictures:
    def __init__(self, get: GuardedGet) -> None:
        self._get = get

    async def fetch(self, url: str, *, limit: int) -> Picture:
        too_large = f"a model is shown at most {limit} bytes"
        content = (await self._get(url, Wanted("picture", "image/*", ADVICE, limit, too_large))).content
        kind = next((kind for mark, at, kind in SIGNATURES if content[at : at + len(mark)] == mark), "")
        if not kind:
            expected = f"expected a picture (PNG, JPEG, GIF or WebP) at {host_of(url)}, what is there is none"
            raise Permanent(f"{expected}: {ADVICE}")
        return Picture(kind, content)
