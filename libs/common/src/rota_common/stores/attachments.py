"""Attachments: files in the NATS object store, written and read in chunks, checked by their digest.

Written as every client of NATS writes objects. Read chunk by chunk rather than through a consumer: nothing is created
on the server, and a slow reader holds one chunk and no more.
"""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from hashlib import sha256
from uuid import uuid4

from nats.errors import Error as NatsError
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.attachment import ALIASES, StoredAttachment, object_name, parse
from rota_contracts.streams import ATTACHMENTS_BUCKET

CHUNK = 128 * 1024
STREAM = f"OBJ_{ATTACHMENTS_BUCKET}"
_DIGEST = "SHA-256="
_ROLLUP = {str(api.Header.ROLLUP.value): "sub"}


class Attachments:
    """The attachments of all teams. Every method raises Transient while NATS can't be reached or is full."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def put(
        self,
        team: str,
        name: str,
        content_type: str,
        chunks: AsyncIterator[bytes],
        *,
        at: datetime,
        file_id: str | None = None,
    ) -> StoredAttachment:
        """Store what `chunks` yields under `file_id`, or a new id. If `chunks` raises, nothing is left behind: callers
        limit the size so."""
        file_id = file_id or uuid4().hex
        with self._transient("keep the file") as jetstream:
            try:
                digest, size = sha256(), 0
                async for chunk in _even(chunks):
                    digest.update(chunk)
                    size += len(chunk)
                    await jetstream.publish(_content(file_id), chunk, stream=STREAM)
                stored = StoredAttachment(
                    file_id=file_id,
                    team_id=team,
                    name=name,
                    content_type=content_type,
                    size=size,
                    sha256=digest.hexdigest(),
                    created_at=at,
                )
                await jetstream.publish(_about(team, file_id), _described(stored), headers=_ROLLUP, stream=STREAM)
            except BaseException:
                with contextlib.suppress(NatsError, TimeoutError):  # then it expires with the bucket's objects
                    await jetstream.purge_stream(STREAM, subject=_content(file_id))
                raise
        return stored

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        """The metadata of a file of this team; None if it has no such file."""
        with self._transient("look for the file") as jetstream:
            try:
                found = await jetstream.get_last_msg(STREAM, _about(team, file_id))
            except NotFoundError:
                return None
            return _known(team, file_id, found.data or b"{}")

    async def delete(self, team: str, file_id: str) -> None:
        """Delete a file of this team, if there is one; its metadata first, so that no reader finds half of it."""
        if await self.find(team, file_id) is None:
            return
        with self._transient("delete the file") as jetstream:
            for subject in (_about(team, file_id), _content(file_id)):
                await jetstream.purge_stream(STREAM, subject=subject)

    async def read(self, stored: StoredAttachment) -> AsyncIterator[bytes]:
        """The content. Raises Permanent before the last chunk if it isn't what was stored."""
        digest, left, seq, held = sha256(), stored.size, 1, b""
        while left > 0:
            with self._transient("read the file") as jetstream:
                try:
                    found = await jetstream.get_msg(STREAM, seq=seq, subject=_content(stored.file_id), next=True)
                except NotFoundError:
                    break
            chunk = found.data or b""
            digest.update(chunk)
            left, seq = left - len(chunk), (found.seq or seq) + 1
            if held:
                yield held
            held = chunk
        if left != 0 or digest.hexdigest() != stored.sha256:
            raise Permanent(f"the content of file {stored.file_id} isn't what was stored there")
        if held:
            yield held

    async def content(self, stored: StoredAttachment) -> bytes:
        """The content in one piece."""
        return b"".join([chunk async for chunk in self.read(stored)])

    async def base64(self, team: str, value: str) -> str:
        """The content of the file that a wrapper names. Raises Permanent if this team has no such file."""
        uploader, file_id, is_wrapper = parse(value)
        if not is_wrapper or uploader not in ALIASES:
            raise Permanent(f"expected the wrapper of a file that Rota keeps, __{ALIASES[0]}://…, not {value!r}")
        stored = await self.find(team, file_id)
        if stored is None:
            raise Permanent(f"team {team} has no file {file_id}: it was never there, or it is too old")
        return base64.b64encode(await self.content(stored)).decode()

    @contextlib.contextmanager
    def _transient(self, what: str) -> Iterator[JetStreamContext]:
        """JetStream, with its failures raised as Transient."""
        if not self._bus.connected:  # the client would wait for its server
            raise Transient("NATS: not connected")
        try:
            yield self._bus.jetstream
        except (NatsError, TimeoutError) as error:
            raise Transient(f"can't {what} now: NATS: {type(error).__name__}") from error


async def _even(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in chunks of one size; the last may be shorter."""
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        while len(waiting) >= CHUNK:
            yield bytes(waiting[:CHUNK])
            del waiting[:CHUNK]
    if waiting:
        yield bytes(waiting)


def _content(file_id: str) -> str:
    return f"$O.{ATTACHMENTS_BUCKET}.C.{file_id}"


def _about(team: str, file_id: str) -> str:
    name = base64.urlsafe_b64encode(object_name(team, file_id).encode()).decode()
    return f"$O.{ATTACHMENTS_BUCKET}.M.{name}"


def _described(stored: StoredAttachment) -> bytes:
    """The object's metadata, as clients of NATS write it."""
    digest = base64.urlsafe_b64encode(bytes.fromhex(stored.sha256)).decode()
    info = api.ObjectInfo(
        name=object_name(stored.team_id, stored.file_id),
        bucket=ATTACHMENTS_BUCKET,
        nuid=stored.file_id,
        size=stored.size,
        chunks=-(-stored.size // CHUNK),
        digest=f"{_DIGEST}{digest}",
        mtime=stored.created_at.isoformat(),
        description=stored.name,
        headers={"Content-Type": [stored.content_type]},
        options=api.ObjectMetaOptions(max_chunk_size=CHUNK),
    )
    return json.dumps(info.as_dict()).encode()


def _known(team: str, file_id: str, data: bytes) -> StoredAttachment | None:
    info = api.ObjectInfo.from_response(json.loads(data))
    if info.deleted:
        return None
    return StoredAttachment.model_validate(
        {
            "file_id": file_id,
            "team_id": team,
            "name": info.description,
            "content_type": (info.headers or {})["Content-Type"][0],
            "size": info.size,
            "sha256": base64.urlsafe_b64decode((info.digest or "").removeprefix(_DIGEST)).hex(),
            "created_at": info.mtime,
        }
    )
