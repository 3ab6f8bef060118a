"""Long texts: inline while they are short, else in the NATS object store."""

import hashlib
import json
from base64 import urlsafe_b64encode

from nats.js import JetStreamContext

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent
from rota_contracts.messages.text import INLINE_LIMIT, BlobRef, Text
from rota_contracts.streams import OUTPUTS_BUCKET


def text_of(text: str, *, inline_limit: int = INLINE_LIMIT) -> Text:
    """`text` as messages and documents hold it; above `inline_limit` bytes of UTF-8 a reference.

    The caller stores the text of a reference: see `Blobs.keep`.
    """
    raw = text.encode()
    if len(raw) <= inline_limit:
        return Text(inline=text)
    digest = hashlib.sha256(raw).hexdigest()
    return Text(ref=BlobRef(bucket=OUTPUTS_BUCKET, name=digest, size=len(raw), sha256=digest))


class Blobs:
    """Texts named by their content, so that storing one twice stores it once."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def keep(self, text: str, *, inline_limit: int = INLINE_LIMIT) -> Text:
        """`text_of(text)`; a reference is returned once its text is stored."""
        made = text_of(text, inline_limit=inline_limit)
        if made.ref is not None:
            store = await self._bus.jetstream.object_store(made.ref.bucket)
            await store.put(made.ref.name, text.encode())
        return made

    async def read(self, text: Text) -> str:
        """The whole text. Raises Permanent if the stored content has another digest."""
        if text.ref is None:
            return text.inline or ""
        raw = await _content(self._bus.jetstream, text.ref)
        if hashlib.sha256(raw).hexdigest() != text.ref.sha256:
            raise Permanent(f"object {text.ref.name} of bucket {text.ref.bucket} isn't what was stored there")
        return raw.decode()


async def _content(jetstream: JetStreamContext, ref: BlobRef) -> bytes:
    """The object, read chunk by chunk. Not by nats-py's `get`: that creates a consumer, and the permission to create
    one includes having it publish to any subject."""
    stream, subjects = f"OBJ_{ref.bucket}", f"$O.{ref.bucket}"
    about = await jetstream.get_last_msg(stream, f"{subjects}.M.{urlsafe_b64encode(ref.name.encode()).decode()}")
    info = json.loads(about.data or b"{}")
    chunks, raw, seq = f"{subjects}.C.{info['nuid']}", b"", 1
    while len(raw) < info["size"]:
        found = await jetstream.get_msg(stream, seq=seq, subject=chunks, next=True)
        raw, seq = raw + (found.data or b""), (found.seq or seq) + 1
    return raw
