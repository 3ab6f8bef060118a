"""The forms of documents that a service has stored: which of them this version can't read, and which are older."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rota_common.stores.mongo import Database, Document

REASON_LIMIT = 200


@dataclass(frozen=True)
class OlderForm:
    """A form that documents have from an earlier version, and how a migration makes it this version's.

    `where` matches the documents that have it, and none that were migrated. `update` is MongoDB's, for the document
    that it is given; the version before must be able to read what comes of it. `reads` are the fields that the update
    is made of: a document in which one of them has changed meanwhile isn't written. Without an `update`, this version
    reads the form no more, and what is left of it keeps `rota upgrade --check` from saying Ready.
    """

    what: str
    where: Mapping[str, Any]
    reads: Sequence[str] = ()
    update: Callable[[Document], Document] | None = None


def as_object(what: str, place: str, *, text: Callable[[Any], str] = json.dumps) -> OlderForm:
    """The older form of documents that hold an object in `place`, `a.b` a field of an object; now it is JSON text."""

    def update(document: Document) -> Document:
        return {"$set": {place: text(field_of(document, place))}}

    return OlderForm(what, {place: {"$type": "object"}}, (place,), update)


@dataclass(frozen=True)
class StoredForm:
    """How documents of a collection are read. `where`: those that have this form. `older`: forms that it replaces."""

    parse: Callable[[Document], Any]
    where: Mapping[str, Any] = field(default_factory=dict)
    older: Sequence[OlderForm] = ()


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
                found.append(UnreadableDocument(name, str(document["_id"]), reason_of(error)))
    return found


def field_of(document: Document, name: str) -> Any:
    """A field's value, of `a.b` that of a field of an object; None if there is none, as MongoDB's `$eq` takes it."""
    value: Any = document
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def reason_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:REASON_LIMIT]
