"""The forms of documents that a service has stored, and which of them this version can't read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rota_common.stores.mongo import Database, Document

REASON_LIMIT = 200


@dataclass(frozen=True)
class StoredForm:
    """How documents of a collection are read. `where`: those that have this form."""

    parse: Callable[[Document], Any]
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class UnreadableDocument:
    collection: str
    id: str
    reason: str


async def unreadable_documents(
    database: Database, forms: Mapping[str, StoredForm], *, newest: int
) -> list[UnreadableDocument]:
    """Of the newest so many of each collection, those that this version can't read. Nothing is written."""
    found = []
    for name, form in forms.items():
        async for document in database[name].find(dict(form.where)).sort("$natural", -1).limit(newest):
            try:
                form.parse(document)
            except Exception as error:  # whatever another version wrote
                reason = f"{type(error).__name__}: {error}"[:REASON_LIMIT]
                found.append(UnreadableDocument(name, str(document["_id"]), reason))
    return found
