"""Documents in older forms, on a real MongoDB: they get this version's while they are read and written."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest_asyncio

from rota.server.stored_forms import DATABASES
from rota.server.upgrade_check import check_older_forms
from rota_common.stores.migrations import BATCH, Migrated, migrate
from rota_common.stores.mongo import Collection, Database, Document, Mongo
from rota_common.stores.stored_forms import OlderForm, StoredForm
from tests.upgrade.stored import WRITTEN_BEFORE, stored_documents

MANY = 5 * BATCH + 1


@pytest_asyncio.fixture
async def database(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Database]:
    server = Mongo(mongo_url, f"{mongo_prefix}_migrations")
    yield server.database
    await server.close()


def as_text(document: Document) -> Document:
    return {"$set": {"n": str(document["n"])}}


NUMBERS = OlderForm("with numbers", {"n": {"$type": "int"}}, ("n",), as_text)


async def numbers(database: Database, given: Iterable[Any]) -> Collection:
    await database["numbers"].insert_many({"_id": number, "n": n} for number, n in enumerate(given))
    return database["numbers"]


async def test_each_older_form_becomes_what_this_version_writes(database: Database) -> None:  # F7
    stored = stored_documents()
    for (name, collection, what), written_before in WRITTEN_BEFORE.items():
        form, (document, *_) = DATABASES[name][collection], stored[name, collection]
        (older,) = (one for one in form.older if one.what == what)
        kept = database[f"{name}.{collection}"]
        await kept.replace_one({"_id": document["_id"]}, document, upsert=True)
        await kept.update_one({"_id": document["_id"]}, written_before(document))
        (before,) = await kept.find(older.where).to_list(2)
        assert before != document, what
        assert form.parse(before) == form.parse(document), f"both forms are read: {what}"
        assert await migrate(kept, older) == Migrated(1), what
        assert await kept.find_one({"_id": document["_id"]}) == document, what
        assert await migrate(kept, older) == Migrated(0), what


async def test_a_migration_that_is_cut_off_goes_on_where_it_was_and_may_run_twice_at_once(database: Database) -> None:
    collection = await numbers(database, range(MANY))
    cut_off = asyncio.Event()
    first = asyncio.create_task(migrate(collection, NUMBERS, show=lambda _: cut_off.set()))
    await cut_off.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    left = await collection.count_documents(NUMBERS.where)
    assert 0 < left < MANY
    both = await asyncio.gather(migrate(collection, NUMBERS), migrate(collection, NUMBERS))
    assert sum(one.changed for one in both) == left
    assert {one["n"] async for one in collection.find()} == {str(number) for number in range(MANY)}


async def test_what_a_service_writes_meanwhile_is_kept(database: Database) -> None:
    collection = await numbers(database, range(MANY))
    written = set[int]()

    def change(document: Document) -> Document:
        """While the batch is read, each tenth document gets another value."""
        if document["_id"] % 10 == 0 and document["_id"] not in written:
            written.add(document["_id"])
            collection.delegate.update_one({"_id": document["_id"]}, {"$set": {"n": -document["_id"] - 1}})
        return as_text(document)

    ended = await migrate(collection, OlderForm("with numbers", NUMBERS.where, ("n",), change))
    assert (ended, len(written)) == (Migrated(MANY), MANY // 10 + 1)
    found = {one["_id"]: one["n"] async for one in collection.find()}
    assert found == {number: str(-number - 1 if number % 10 == 0 else number) for number in range(MANY)}


async def test_what_can_not_be_migrated_stops_nothing_else(database: Database) -> None:
    collection = await numbers(database, [1, 0, 2, 0, 3])
    inverse = OlderForm("", NUMBERS.where, ("n",), lambda document: {"$set": {"n": str(1 / document["n"])}})
    ended = await migrate(collection, inverse)
    assert ended == Migrated(3, 2, "ZeroDivisionError: division by zero")
    assert [one["n"] async for one in collection.find().sort("_id")] == ["1.0", 0, "0.5", 0, str(1 / 3)]


async def test_documents_in_a_form_that_is_no_more_read_are_to_be_migrated_first(database: Database) -> None:
    await numbers(database, [1, 2])
    levels = {}
    for name, older in {"read": NUMBERS, "no more": OlderForm("with numbers", NUMBERS.where)}.items():
        (found,) = await check_older_forms(database, {"numbers": StoredForm(dict, older=[older])})
        levels[name] = found.level.value
        assert (found.part, found.found) == (f"{database.name}.numbers", "2 documents with numbers")
    assert levels == {"read": "note", "no more": "missing"}
    await migrate(database["numbers"], NUMBERS)
    assert await check_older_forms(database, {"numbers": StoredForm(dict, older=[NUMBERS])}) == []
