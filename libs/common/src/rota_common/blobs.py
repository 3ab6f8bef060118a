"""Long texts: kept inline while they are short, in the NATS object store when they are not."""

import hashlib

from rota_common.bus import Bus
from rota_common.errors import Permanent
from rota_contracts.streams import OUTPUTS_BUCKET
from rota_contracts.text import INLINE_LIMIT, BlobRef, Text


def text_of(text: str, *, inline_limit: int = INLINE_LIMIT) -> Text:
    """`text` as it goes into messages and documents; beyond `inline_limit` bytes of UTF-8 by reference.

    Whoever makes a reference also keeps the text: see `Blobs.keep`.
    """
    raw = text.encode()
    if len(raw) <= inline_limit:
        return Text(inline=text)
    digest = hashlib.sha256(raw).hexdigest()
    return Text(ref=BlobRef(bucket=OUTPUTS_BUCKET, name=digest, size=len(raw), sha256=digest))


class Blobs:
    """Named by their content, so storing one twice stores it once."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def keep(self, text: str, *, inline_limit: int = INLINE_LIMIT) -> Text:
        """`text_of(text)`, stored before it is returned if it is a reference."""
        made = text_of(text, inline_limit=inline_limit)
        if made.ref is not None:
            store = await self._bus.jetstream.object_store(made.ref.bucket)
            await store.put(made.ref.name, text.encode())
        return made

    async def read(self, text: Text) -> str:
        """The whole text. Raises Permanent when what is stored isn't what was kept."""
        if text.ref is None:
            return text.inline or ""
        store = await self._bus.jetstream.object_store(text.ref.bucket)
        raw = (await store.get(text.ref.name)).data or b""
        if hashlib.sha256(raw).hexdigest() != text.ref.sha256:
            raise Permanent(f"object {text.ref.name} of bucket {text.ref.bucket} isn't what was stored there")
        return raw.decode()
