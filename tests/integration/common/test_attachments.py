"""Files in the object store of a real server: kept, found, read, checked, and nothing left of what was broken off."""

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from random import Random

import pytest

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_common.stores.attachments import CHUNK, STREAM, Attachments
from rota_common.testing.in_memory_stores import InMemoryAttachments
from rota_contracts.messages.attachment import StoredAttachment, object_name
from rota_contracts.streams import ATTACHMENTS_BUCKET

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CSV = "text/csv; charset=utf-8"


@pytest.fixture(params=["memory", "nats"])
def files(request: pytest.FixtureRequest) -> Attachments:
    return Attachments(request.getfixturevalue("bus")) if request.param == "nats" else InMemoryAttachments()


async def pieces(content: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def keep(files: Attachments, content: bytes, *, team: str = "acme", name: str = "leads.csv") -> StoredAttachment:
    return await files.put(team, name, CSV, pieces(content), at=NOON)


async def messages(bus: Bus) -> int:
    return int((await bus.jetstream.stream_info(STREAM)).state.messages)


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK + 77])
async def test_a_file_is_read_byte_for_byte(files: Attachments, size: int) -> None:  # DC-05
    content = Random(size).randbytes(size)
    stored = await keep(files, content, name="Übersicht 📈.csv")
    assert (stored.name, stored.content_type, stored.created_at) == ("Übersicht 📈.csv", CSV, NOON)
    assert (stored.size, stored.sha256) == (size, sha256(content).hexdigest())
    assert await files.find("acme", stored.file_id) == stored
    read = [chunk async for chunk in files.read(stored)]
    assert b"".join(read) == content
    assert max([len(chunk) for chunk in read], default=0) <= CHUNK


async def test_other_clients_of_nats_read_it_as_an_object(bus: Bus) -> None:
    content = Random(1).randbytes(2 * CHUNK + 5)
    stored = await keep(Attachments(bus), content)
    store = await bus.jetstream.object_store(ATTACHMENTS_BUCKET)
    result = await store.get(object_name("acme", stored.file_id))
    assert (result.data, result.info.description, result.info.chunks) == (content, "leads.csv", 3)


async def test_a_wrapper_becomes_base64(files: Attachments) -> None:  # DC-05
    stored = await keep(files, b"a,b\n1,2\n")
    for value in (stored.file, stored.file.replace("rota.", "yao.")):
        assert base64.b64decode(await files.base64("acme", value)) == b"a,b\n1,2\n"
    for value in (stored.file_id, stored.file.replace("rota.attachment", "s3"), ""):
        with pytest.raises(Permanent, match="expected the wrapper of a file that Rota keeps"):
            await files.base64("acme", value)


async def test_a_deleted_file_is_gone_and_only_its_own_team_can_delete_it(
    files: Attachments, request: pytest.FixtureRequest
) -> None:
    stored, other = await keep(files, bytes(2 * CHUNK)), await keep(files, b"stays")
    await files.delete("other", stored.file_id)
    assert len(await files.content(stored)) == 2 * CHUNK
    for _ in range(2):
        await files.delete("acme", stored.file_id)
    assert await files.find("acme", stored.file_id) is None
    assert await files.content(other) == b"stays"
    if not isinstance(files, InMemoryAttachments):
        assert await messages(request.getfixturevalue("bus")) == 2  # of the other one


async def test_a_file_belongs_to_one_team(files: Attachments) -> None:
    stored = await keep(files, b"secret")
    assert await files.find("other", stored.file_id) is None
    assert await files.find("acme", "0" * 32) is None
    with pytest.raises(Permanent, match="team other has no file"):
        await files.base64("other", stored.file)


async def test_an_aborted_upload_leaves_nothing(bus: Bus) -> None:
    async def broken() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield bytes(CHUNK)
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        await Attachments(bus).put("acme", "a", CSV, broken(), at=NOON)
    assert await messages(bus) == 0


async def test_changed_content_is_never_returned_whole(files: Attachments) -> None:
    content = Random(2).randbytes(2 * CHUNK)
    stored = await keep(files, content)
    reading = files.read(stored.model_copy(update={"sha256": sha256(b"").hexdigest()}))
    assert await anext(reading) == content[:CHUNK]
    with pytest.raises(Permanent, match="isn't what was stored"):
        await anext(reading)


async def test_content_without_one_chunk_is_refused(bus: Bus) -> None:
    files = Attachments(bus)
    stored = await keep(files, Random(2).randbytes(2 * CHUNK))
    await bus.jetstream.purge_stream(STREAM, subject=f"$O.{ATTACHMENTS_BUCKET}.C.{stored.file_id}", keep=1)
    with pytest.raises(Permanent, match="isn't what was stored"):
        await files.content(stored)


async def test_a_full_bucket_is_a_transient_failure_and_leaves_nothing(bus: Bus) -> None:
    config = (await bus.jetstream.stream_info(STREAM)).config
    room, config.max_bytes = config.max_bytes, 2 * CHUNK
    await bus.jetstream.update_stream(config)
    try:
        with pytest.raises(Transient, match="can't keep the file now"):
            await keep(Attachments(bus), bytes(3 * CHUNK))
        assert await messages(bus) == 0
    finally:
        config.max_bytes = room
        await bus.jetstream.update_stream(config)


async def test_without_a_server_every_call_is_a_transient_failure() -> None:
    files = Attachments(Bus("nats://127.0.0.1:1", name="test"))
    stored = StoredAttachment(file_id="0" * 32, team_id="acme", name="a", size=1, sha256="", created_at=NOON)
    for call in (files.find("acme", stored.file_id), files.content(stored)):
        with pytest.raises(Transient, match="not connected"):
            await call
