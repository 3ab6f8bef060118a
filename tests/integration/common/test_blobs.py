"""Long texts in the object store: stored by their content, read back, checked by their digest."""

import pytest

from rota_common import topology
from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_common.stores.blobs import Blobs, check_kept, text_of
from rota_common.testing.in_memory_stores import InMemoryBlobs
from rota_contracts.messages.text import INLINE_LIMIT
from rota_contracts.streams import OUTPUTS_BUCKET


@pytest.fixture(params=["memory", "nats"])
def blobs(request: pytest.FixtureRequest) -> Blobs:
    return Blobs(request.getfixturevalue("bus")) if request.param == "nats" else InMemoryBlobs()


async def test_long_texts_are_kept_by_reference_and_short_ones_inline(blobs: Blobs) -> None:
    short, long = "ö" * (INLINE_LIMIT // 2), "ö" * (INLINE_LIMIT // 2) + "x"
    kept = [await blobs.keep(text) for text in (short, long, long, "", "y" + long)]
    assert [text.ref is None for text in kept] == [True, False, False, True, False]
    assert kept[1] == kept[2]  # named by its content: stored once
    assert kept[1].ref is not None
    assert kept[1].ref.size == INLINE_LIMIT + 1
    assert [await blobs.read(text) for text in kept] == [short, long, long, "", "y" + long]
    tiny = await blobs.keep("abc", inline_limit=2)
    assert (tiny.inline, await blobs.read(tiny)) == (None, "abc")


async def test_a_text_is_as_long_as_it_is_in_a_message(blobs: Blobs) -> None:
    controls = await blobs.keep("\x01" * (INLINE_LIMIT // 3))  # six bytes each, as JSON
    assert controls.ref is not None
    assert (controls.ref.size, await blobs.read(controls)) == (INLINE_LIMIT // 3, "\x01" * (INLINE_LIMIT // 3))


async def test_a_text_that_is_not_kept_any_more_is_named(blobs: Blobs) -> None:
    with pytest.raises(Permanent, match="of bucket outputs isn't there: long texts end by age"):
        await blobs.read(text_of("never stored" * INLINE_LIMIT))


async def test_a_full_bucket_is_a_passing_failure(bus: Bus) -> None:
    info = (await bus.jetstream.stream_info("OBJ_outputs")).config
    await bus.jetstream.update_stream(info.evolve(max_bytes=1000))
    try:
        with pytest.raises(Transient, match="the bucket outputs doesn't take a text of .* bytes now"):
            await Blobs(bus).keep("z" * (INLINE_LIMIT + 1))
    finally:
        await bus.jetstream.update_stream(info)


async def test_a_bucket_that_forgets_before_the_executions_is_named(bus: Bus) -> None:
    await check_kept(bus, keep_days=90)
    with pytest.raises(ValueError, match="long texts for 101 days, as ROTA_KEEP_DAYS is 91, and it keeps them for 100"):
        await check_kept(bus, keep_days=91)
    before = (await bus.jetstream.stream_info("OBJ_outputs")).config
    try:
        await topology.apply(bus.jetstream, topology.Wanted(keep_days=91))
        await topology.apply(bus.jetstream)  # lowers nothing
        await check_kept(bus, keep_days=91)
        await topology.apply(bus.jetstream, topology.Wanted(force=True))
        with pytest.raises(ValueError, match="run python -m rota_common.topology --keep-days 91"):
            await check_kept(bus, keep_days=91)
    finally:
        await bus.jetstream.update_stream(before)


async def test_changed_content_is_refused(blobs: Blobs, request: pytest.FixtureRequest) -> None:
    kept = await blobs.keep("x" * (INLINE_LIMIT + 1))
    assert kept.ref is not None
    if isinstance(blobs, InMemoryBlobs):
        blobs.contents[kept.ref.name] = b"something else"
    else:
        bus: Bus = request.getfixturevalue("bus")
        store = await bus.jetstream.object_store(OUTPUTS_BUCKET)
        await store.put(kept.ref.name, b"something else")
    with pytest.raises(Permanent, match=f"object {kept.ref.name} of bucket outputs isn't what was stored there"):
        await blobs.read(kept)
