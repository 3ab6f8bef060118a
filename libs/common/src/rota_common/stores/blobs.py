"""Long texts: inline while they are short, else in the NATS object store, under the run that they belong to.

A text is written as chunks, each under a subject of its own: `$O.<bucket>.C.<team>.<execution>.<sha256>.<number>`. So
writing one again replaces it with itself, also when two do at once, and all that a run has kept goes with one purge.
"""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from nats.errors import Error as NatsError
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError
from pydantic_core import to_json

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.text import INLINE_LIMIT, BlobRef, Text
from rota_contracts.streams import OUTPUTS_BUCKET

CHUNK = 128 * 1024
STREAM = f"OBJ_{OUTPUTS_BUCKET}"
_FIRST_CHUNKS = f"$O.{OUTPUTS_BUCKET}.C.*.*.*.0"
_OF_EARLIER_VERSIONS = (f"$O.{OUTPUTS_BUCKET}.C.*", f"$O.{OUTPUTS_BUCKET}.M.*")
"""Objects named by their content, shared between runs: chunks and metadata, as every client of NATS writes them."""

_ROLLUP = {str(api.Header.ROLLUP.value): "sub"}


@dataclass(frozen=True)
class Owner:
    """The run that texts belong to; as text the beginning of their names."""

    team_id: str
    execution_id: str

    def __str__(self) -> str:
        return f"{self.team_id}.{self.execution_id}"


def text_of(text: str, *, owner: Owner | None = None, inline_limit: int = INLINE_LIMIT) -> Text:
    """`text` as messages and documents hold it; above `inline_limit` bytes of JSON a reference: an escaped character
    takes up to six.

    The caller stores the text of a reference: see `Blobs.keep`. Without an owner it is named by its content alone.
    """
    if json_size(text) <= inline_limit:
        return Text(inline=text)
    raw = text.encode()
    digest = hashlib.sha256(raw).hexdigest()
    name = f"{owner}.{digest}" if owner else digest
    return Text(ref=BlobRef(bucket=OUTPUTS_BUCKET, name=name, size=len(raw), sha256=digest))


def json_size(text: str) -> int:
    """The bytes of the text in a message, without its quotes."""
    return len(to_json(text)) - 2


class Blobs:
    """Texts by their owner and their content, so that storing one twice stores it once. Every method raises Transient
    while NATS is away."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def keep(self, text: str, *, owner: Owner, inline_limit: int = INLINE_LIMIT) -> Text:
        """`text_of(text)`; a reference is returned once its text is stored. Raises Transient also while the store is
        full."""
        made = text_of(text, owner=owner, inline_limit=inline_limit)
        if made.ref is not None:
            await self._store(made.ref, text.encode())
        return made

    async def _store(self, ref: BlobRef, raw: bytes) -> None:
        with self._transient(f"the bucket {ref.bucket} doesn't take a text of {ref.size} bytes now") as jetstream:
            for number, start in enumerate(range(0, len(raw), CHUNK)):
                chunk = raw[start : start + CHUNK]
                await jetstream.publish(_chunk(ref.name, number), chunk, stream=STREAM, headers=_ROLLUP)

    async def read(self, text: Text) -> str:
        """The whole text. Raises Permanent if it isn't kept any more, or its content has another digest."""
        if text.ref is None:
            return text.inline or ""
        with self._transient(f"can't read {text.ref.name}") as jetstream:
            try:
                raw = await _content(jetstream, text.ref)
            except NotFoundError as error:
                raise gone(text.ref) from error
        if hashlib.sha256(raw).hexdigest() != text.ref.sha256:
            raise Permanent(f"object {text.ref.name} of bucket {text.ref.bucket} isn't what was stored there")
        return raw.decode()

    async def empty(self) -> bool:
        """Whether no text at all is kept."""
        with self._transient("can't look into the bucket") as jetstream:
            return (await jetstream.stream_info(STREAM)).state.messages == 0

    async def free(self, owner: Owner) -> None:
        """Remove all that this owner has kept."""
        with self._transient(f"can't remove the texts of {owner}") as jetstream:
            await jetstream.purge_stream(STREAM, subject=f"$O.{OUTPUTS_BUCKET}.C.{owner}.>")

    async def free_team(self, team: str) -> None:
        """Remove all that executions of this team have kept."""
        with self._transient(f"can't remove the texts of team {team}") as jetstream:
            await jetstream.purge_stream(STREAM, subject=f"$O.{OUTPUTS_BUCKET}.C.{team}.>")

    async def free_strays(self, *, before: datetime, is_kept: Callable[[Owner], Awaitable[bool]]) -> int:
        """Remove texts stored before then whose owner isn't kept, as of a database that was lost, and those of earlier
        versions, which name no owner; returns how many objects."""
        removed = 0
        async for subject in self._stored(_FIRST_CHUNKS, before):
            owner = Owner(*subject.split(".")[3:5])
            if not await is_kept(owner):
                await self.free(owner)
                removed += 1
        for pattern in _OF_EARLIER_VERSIONS:
            async for subject in self._stored(pattern, before):
                with self._transient(f"can't remove {subject}") as jetstream:
                    await jetstream.purge_stream(STREAM, subject=subject)
                removed += 1
        return removed

    async def _stored(self, pattern: str, before: datetime) -> AsyncIterator[str]:
        """The subjects of messages stored before then, oldest first."""
        seq = 1
        while True:
            with self._transient("can't look into the bucket") as jetstream:
                try:
                    found = await jetstream.get_msg(STREAM, seq=seq, subject=pattern, next=True)
                except NotFoundError:
                    return
            if found.time is None or found.time >= before:
                return
            seq = (found.seq or seq) + 1
            yield found.subject or ""

    @contextmanager
    def _transient(self, failure: str) -> Iterator[JetStreamContext]:
        """JetStream; its failures, except that something isn't there, are raised as Transient with this text."""
        if not self._bus.connected:  # the client would wait for its server
            raise Transient("NATS: not connected")
        try:
            yield self._bus.jetstream
        except (NatsError, TimeoutError) as error:
            raise Transient(f"{failure}: {error!r}") from error


def gone(ref: BlobRef) -> Permanent:
    return Permanent(
        f"object {ref.name} of bucket {ref.bucket} isn't there: long texts end with their execution (ROTA_KEEP_DAYS)"
    )


def _chunk(name: str, number: int) -> str:
    return f"$O.{OUTPUTS_BUCKET}.C.{name}.{number}"


async def _content(jetstream: JetStreamContext, ref: BlobRef) -> bytes:
    """The text, read chunk by chunk. Not through a consumer: the permission to create one includes having it publish to
    any subject."""
    if "." not in ref.name:
        return await _by_content(jetstream, ref)
    raw, number = b"", 0
    while len(raw) < ref.size:
        found = await jetstream.get_last_msg(STREAM, _chunk(ref.name, number))
        raw, number = raw + (found.data or b""), number + 1
    return raw


async def _by_content(jetstream: JetStreamContext, ref: BlobRef) -> bytes:
    """An object that an earlier version named by its content alone, with its metadata."""
    stream, subjects = f"OBJ_{ref.bucket}", f"$O.{ref.bucket}"
    about = await jetstream.get_last_msg(stream, f"{subjects}.M.{urlsafe_b64encode(ref.name.encode()).decode()}")
    info = json.loads(about.data or b"{}")
    chunks, raw, seq = f"{subjects}.C.{info['nuid']}", b"", 1
    while len(raw) < info["size"]:
        found = await jetstream.get_msg(stream, seq=seq, subject=chunks, next=True)
        raw, seq = raw + (found.data or b""), (found.seq or seq) + 1
    return raw
