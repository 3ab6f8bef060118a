"""Long texts in the object store: stored by their content, read back, checked by their digest."""

import pytest

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent
from rota_common.stores.blobs import Blobs
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
