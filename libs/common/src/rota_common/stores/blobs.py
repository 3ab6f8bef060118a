"""Long texts: inline while they are short, else in the NATS object store."""

import hashlib
import json
from base64 import urlsafe_b64encode

from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from pydantic_core import to_json

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.text import INLINE_LIMIT, BlobRef, Text
from rota_contracts.streams import DAY, OUTPUTS_BUCKET, OUTPUTS_SPARE_DAYS


def text_of(text: str, *, inline_limit: int = INLINE_LIMIT) -> Text:
    """`text` as messages and documents hold it; above `inline_limit` bytes of JSON a reference: an escaped character
    takes up to six.

    The caller stores the text of a reference: see `Blobs.keep`.
    """
    if json_size(text) <= inline_limit:
        return Text(inline=text)
    raw = text.encode()
    digest = hashlib.sha256(raw).hexdigest()
    return Text(ref=BlobRef(bucket=OUTPUTS_BUCKET, name=digest, size=len(raw), sha256=digest))


def json_size(text: str) -> int:
    """The bytes of the text in a message, without its quotes."""
    return len(to_json(text)) - 2


class Blobs:
    """Texts named by their content, so that storing one twice stores it once."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def keep(self, text: str, *, inline_limit: int = INLINE_LIMIT) -> Text:
        """`text_of(text)`; a reference is returned once its text is stored. Raises Transient while NATS is away or the
        store is full."""
        made = text_of(text, inline_limit=inline_limit)
        if made.ref is not None:
            await self._store(made.ref, text.encode())
        return made

    async def _store(self, ref: BlobRef, raw: bytes) -> None:
        if not self._bus.connected:  # the client would wait for its server
            raise Transient("NATS: not connected")
        try:
            store = await self._bus.jetstream.object_store(ref.bucket)
            await store.put(ref.name, raw)
        except (NatsError, TimeoutError) as error:
            text = f"the bucket {ref.bucket} doesn't take a text of {ref.size} bytes now: {error!r}"
            raise Transient(text) from error

    async def read(self, text: Text) -> str:
        """The whole text. Raises Permanent if it isn't kept any more, or its content has another digest."""
        if text.ref is None:
            return text.inline or ""
        try:
            raw = await _content(self._bus.jetstream, text.ref)
        except NotFoundError as error:
            raise gone(text.ref) from error
        if hashlib.sha256(raw).hexdigest() != text.ref.sha256:
            raise Permanent(f"object {text.ref.name} of bucket {text.ref.bucket} isn't what was stored there")
        return raw.decode()


def gone(ref: BlobRef) -> Permanent:
    text = f"they are kept for {OUTPUTS_SPARE_DAYS} days more than executions (ROTA_KEEP_DAYS)"
    return Permanent(f"object {ref.name} of bucket {ref.bucket} isn't there: long texts end by age, {text}")


async def check_kept(bus: Bus, *, keep_days: int) -> None:
    """Raise ValueError if long texts end before the executions that hold them."""
    kept = (await bus.jetstream.stream_info(f"OBJ_{OUTPUTS_BUCKET}")).config.max_age or 0
    if 0 < kept < (keep_days + OUTPUTS_SPARE_DAYS) * DAY:
        raise ValueError(
            f"expected the bucket {OUTPUTS_BUCKET} to keep long texts for {keep_days + OUTPUTS_SPARE_DAYS} days, as"
            f" ROTA_KEEP_DAYS is {keep_days}, and it keeps them for {kept / DAY:.4g}:"
            f" run python -m rota_common.topology --keep-days {keep_days}"
        )


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
