"""Long texts in the object store: kept by their content, read back, checked by their digest."""

import pytest

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent
from rota_common.stores.blobs import Blobs, text_of
from rota_common.testing.in_memory_stores import InMemoryBlobs

LONG = "ü" * 300_000


@pytest.fixture(params=["memory", "nats"])
def blobs(request: pytest.FixtureRequest) -> Blobs:
    return Blobs(request.getfixturevalue("bus")) if request.param == "nats" else InMemoryBlobs()


async def test_a_short_text_stays_inline_and_a_long_one_is_kept_under_its_digest(blobs: Blobs) -> None:
    assert (await blobs.keep("short")).inline == "short"
    for text, limit in ((LONG, 256 * 1024), ("short", 4)):
        kept = await blobs.keep(text, inline_limit=limit)
        assert kept == text_of(text, inline_limit=limit)
        assert kept.ref is not None
        assert kept.ref.size == len(text.encode())
        assert await blobs.read(kept) == text
        assert await blobs.keep(text, inline_limit=limit) == kept


async def test_content_with_another_digest_is_refused(blobs: Blobs) -> None:
    kept = await blobs.keep(LONG)
    assert kept.ref is not None
    other = kept.model_copy(update={"ref": kept.ref.model_copy(update={"sha256": "0" * 64})})
    with pytest.raises(Permanent, match="isn't what was stored"):
        await blobs.read(other)


async def test_two_texts_in_one_bucket_are_read_apart(bus: Bus) -> None:
    blobs = Blobs(bus)
    texts = [LONG, LONG[1:]]
    kept = [await blobs.keep(text) for text in texts]
    assert [await blobs.read(text) for text in kept] == texts
