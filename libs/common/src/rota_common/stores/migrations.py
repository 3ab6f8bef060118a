"""Migrations: documents in an older form are rewritten while services of this version and the one before run."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from pymongo import UpdateOne

from rota_common.stores.mongo import Collection, Database, Document
from rota_common.stores.stored_forms import OlderForm, StoredForm, field_of, reason_of

BATCH = 100


@dataclass(frozen=True)
class Migrated:
    """`left`: documents that are still in the older form, because their update can't be made, as `reason` says of one,
    or because they keep changing."""

    changed: int
    left: int = 0
    reason: str = ""

    def __str__(self) -> str:
        left = f", {self.left} left: {self.reason or 'they keep changing, run it again'}" if self.left else ""
        return f"{self.changed} migrated{left}"


async def migrate_all(
    database: Database, forms: Mapping[str, StoredForm], *, show: Callable[[str], None] = lambda line: None
) -> AsyncIterator[tuple[str, Migrated]]:
    """Each older form that this version migrates, by name, once it is. `show` gets a line after each batch."""
    for name, form in forms.items():
        for older in form.older:
            if older.update is not None:
                part = f"{database.name}.{name} {older.what}"

                def so_far(changed: int, part: str = part) -> None:
                    show(f"{part}: {changed} migrated so far")

                yield part, await migrate(database[name], older, show=so_far)


async def migrate(
    collection: Collection, older: OlderForm, *, show: Callable[[int], None] = lambda changed: None
) -> Migrated:
    """Rewrite what is in the older form; `show` gets the number so far after each batch. Raises the driver's errors.

    It may be ended and begun again at any time, and run twice at once: what is rewritten isn't in the older form any
    more. A document that changed after it was read is read again.
    """
    if older.update is None:
        raise ValueError(f"expected an update for {older.what}: this version doesn't migrate it")
    changed = 0
    while True:
        before, missed, failed, reason = changed, 0, 0, ""
        async for batch in _batches(collection, older):
            writes = []
            for document in batch:
                try:
                    writes.append(UpdateOne(_unchanged(document, older), older.update(document)))
                except Exception as error:  # whatever another version wrote; the others are migrated
                    failed, reason = failed + 1, reason_of(error)
            if writes:
                result = await collection.bulk_write(writes, ordered=False)
                changed, missed = changed + result.matched_count, missed + len(writes) - result.matched_count
            show(changed)
        if not missed or changed == before:
            return Migrated(changed, failed + missed, reason)


async def _batches(collection: Collection, older: OlderForm) -> AsyncIterator[list[Document]]:
    cursor = collection.find(dict(older.where)).batch_size(BATCH)
    while batch := await cursor.to_list(BATCH):
        yield batch


def _unchanged(document: Document, older: OlderForm) -> Document:
    read = [{name: {"$eq": field_of(document, name)}} for name in older.reads]
    return {"$and": [{"_id": document["_id"]}, dict(older.where), *read]}
