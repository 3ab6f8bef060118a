"""Long texts in the object store: stored under their run, read back, checked by their digest, removed with the run."""

import hashlib
from datetime import timedelta

import pytest

from rota_common import topology
from rota_common.bus.connection import Bus
from rota_common.bus.stream_usage import kept_texts
from rota_common.clock import now
from rota_common.errors import Permanent, Transient
from rota_common.stores.blobs import CHUNK, STREAM, Blobs, Owner, text_of
from rota_common.testing.in_memory_stores import InMemoryBlobs
from rota_contracts.messages.text import INLINE_LIMIT, BlobRef, Text
from rota_contracts.streams import OUTPUTS_BUCKET

ONE, OTHER = Owner("acme", "e1"), Owner("acme", "e11")


@pytest.fixture(params=["memory", "nats"])
def blobs(request: pytest.FixtureRequest) -> Blobs:
    return Blobs(request.getfixturevalue("bus")) if request.param == "nats" else InMemoryBlobs()


async def test_long_texts_are_kept_by_reference_and_short_ones_inline(blobs: Blobs) -> None:
    short, long = "ö" * (INLINE_LIMIT // 2), "ö" * (INLINE_LIMIT // 2) + "x"
    kept = [await blobs.keep(text, owner=ONE) for text in (short, long, long, "", "y" + long)]
    assert [text.ref is None for text in kept] == [True, False, False, True, False]
    assert kept[1] == kept[2]  # named by its content: stored once
    assert kept[1].ref is not None
    assert kept[1].ref.size == INLINE_LIMIT + 1
    assert [await blobs.read(text) for text in kept] == [short, long, long, "", "y" + long]
    tiny = await blobs.keep("abc", owner=ONE, inline_limit=2)
    assert (tiny.inline, await blobs.read(tiny)) == (None, "abc")


async def test_a_text_is_as_long_as_it_is_in_a_message(blobs: Blobs) -> None:
    controls = await blobs.keep("\x01" * (INLINE_LIMIT // 3), owner=ONE)  # six bytes each, as JSON
    assert controls.ref is not None
    assert (controls.ref.size, await blobs.read(controls)) == (INLINE_LIMIT // 3, "\x01" * (INLINE_LIMIT // 3))


async def test_the_texts_of_a_run_go_together_and_no_others(blobs: Blobs) -> None:
    assert await blobs.empty()
    mine = [await blobs.keep(letter * (INLINE_LIMIT + 1), owner=ONE) for letter in "ab"]
    others = [await blobs.keep("a" * (INLINE_LIMIT + 1), owner=owner) for owner in (OTHER, Owner("beta", "e1"))]
    await blobs.free(ONE)
    await blobs.free(ONE)
    for text in mine:
        with pytest.raises(Permanent, match="of bucket outputs isn't there: long texts end with their execution"):
            await blobs.read(text)
    assert {await blobs.read(text) for text in others} == {"a" * (INLINE_LIMIT + 1)}
    assert not await blobs.empty()


async def test_the_texts_of_a_team_go_together_and_no_others(blobs: Blobs) -> None:
    long = "a" * (INLINE_LIMIT + 1)
    *mine, other = [await blobs.keep(long, owner=owner) for owner in (ONE, OTHER, Owner("acme-2", "e1"))]
    for _ in range(2):
        await blobs.free_team("acme")
    for text in mine:
        with pytest.raises(Permanent, match="isn't there"):
            await blobs.read(text)
    assert await blobs.read(other) == long


async def test_the_chunks_that_each_team_keeps_are_counted(bus: Bus) -> None:
    owners = (ONE, OTHER, Owner("beta", "e1"))
    for owner in owners:
        await Blobs(bus).keep("a" * (2 * CHUNK + 1), owner=owner, inline_limit=0)
    assert await kept_texts(bus.jetstream) == {"acme": 6, "beta": 3}


async def test_old_texts_without_a_run_are_removed(blobs: Blobs) -> None:
    kept = [await blobs.keep("a" * (INLINE_LIMIT + 1), owner=owner) for owner in (ONE, OTHER)]

    async def is_kept(owner: Owner) -> bool:
        return owner == OTHER

    assert await blobs.free_strays(before=now() - timedelta(minutes=1), is_kept=is_kept) == 0
    assert await blobs.free_strays(before=now() + timedelta(minutes=1), is_kept=is_kept) == 1
    with pytest.raises(Permanent):
        await blobs.read(kept[0])
    assert await blobs.read(kept[1]) == "a" * (INLINE_LIMIT + 1)


async def test_a_text_that_was_stored_in_part_is_stored_again_as_a_whole(bus: Bus) -> None:
    text = "".join(f"{number:8}" for number in range(INLINE_LIMIT // 4))
    kept = await Blobs(bus).keep(text, owner=ONE)
    whole = await bus.jetstream.stream_info(STREAM)
    await bus.jetstream.delete_msg(STREAM, whole.state.first_seq + 1)  # as a writer that is killed leaves it
    assert await Blobs(bus).keep(text, owner=ONE) == kept
    assert await Blobs(bus).read(kept) == text
    assert (await bus.jetstream.stream_info(STREAM)).state.messages == whole.state.messages == 4


async def test_a_text_of_an_earlier_version_is_read_until_it_is_old(bus: Bus) -> None:
    raw = b"x" * (INLINE_LIMIT + 1)
    digest = hashlib.sha256(raw).hexdigest()
    await (await bus.jetstream.object_store(OUTPUTS_BUCKET)).put(digest, raw)
    text = Text(ref=BlobRef(bucket=OUTPUTS_BUCKET, name=digest, size=len(raw), sha256=digest))
    assert await Blobs(bus).read(text) == raw.decode()

    async def is_kept(owner: Owner) -> bool:
        return True

    assert await Blobs(bus).free_strays(before=now() + timedelta(minutes=1), is_kept=is_kept) == 2  # and its metadata
    assert await Blobs(bus).empty()


async def test_a_full_bucket_is_a_passing_failure(bus: Bus) -> None:
    info = (await bus.jetstream.stream_info(STREAM)).config
    await bus.jetstream.update_stream(info.evolve(max_bytes=1000))
    try:
        with pytest.raises(Transient, match="the bucket outputs doesn't take a text of .* bytes now"):
            await Blobs(bus).keep("z" * (INLINE_LIMIT + 1), owner=ONE)
    finally:
        await bus.jetstream.update_stream(info)


async def test_a_bucket_that_forgot_by_age_does_so_no_more(bus: Bus) -> None:
    info = (await bus.jetstream.stream_info(STREAM)).config
    await bus.jetstream.update_stream(info.evolve(max_age=100 * 86400))
    await topology.apply(bus.jetstream)
    assert not (await bus.jetstream.stream_info(STREAM)).config.max_age


async def test_changed_content_is_refused(blobs: Blobs, request: pytest.FixtureRequest) -> None:
    kept = await blobs.keep("x" * (INLINE_LIMIT + 1), owner=ONE)
    assert kept.ref is not None
    if isinstance(blobs, InMemoryBlobs):
        blobs.contents[kept.ref.name] = b"something else"
    else:
        bus: Bus = request.getfixturevalue("bus")
        subject = f"$O.{OUTPUTS_BUCKET}.C.{kept.ref.name}.0"
        await bus.jetstream.publish(subject, b"y" * (INLINE_LIMIT + 1), headers={"Nats-Rollup": "sub"})
    with pytest.raises(Permanent, match=f"object {kept.ref.name} of bucket outputs isn't what was stored there"):
        await blobs.read(kept)


def test_without_an_owner_a_text_is_named_by_its_content_alone() -> None:
    made = text_of("x" * 10, inline_limit=9)
    assert made.ref is not None
    assert made.ref.name == made.ref.sha256
