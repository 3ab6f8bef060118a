"""Documents that this version can't read: set aside with the reason, so that a walk goes on without them.

`unreadable_at`, `unreadable_reason` and `unreadable_by`, the versions that tried, stand beside the document's own
fields. Another version tries it once, and each version again when it starts.
"""

from collections.abc import AsyncIterator, Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from motor.motor_asyncio import AsyncIOMotorCollection

from rota_common.runtime import metrics
from rota_common.runtime.logs import logger
from rota_common.stores.mongo import Document
from rota_contracts.version import VERSION

T = TypeVar("T")

AT, REASON, BY = "unreadable_at", "unreadable_reason", "unreadable_by"
REASON_LIMIT = 1000


@cache
def build_of(service: str) -> str:
    """The version with a digest of the code that reads: two builds of one version may read differently."""
    digest = sha256()
    for package in ("rota_contracts", service.replace("-", "_")):
        folder = Path(str(import_module(package).__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:8]}"


class SetAside:
    """The unreadable documents of a collection. `reader` is the build that reads; default: this one of the service."""

    def __init__(
        self, collection: AsyncIOMotorCollection[Document], *, service: str, reader: str | None = None
    ) -> None:
        self._collection, self._service = collection, service
        self._reader = reader or build_of(service)

    async def prepare(self) -> None:
        """Make the index by which they are listed, and try again what this version set aside before."""
        await self._collection.create_index(AT, sparse=True)
        aside = {AT: {"$exists": True}}  # by the index, or each start would read the whole collection
        await self._collection.update_many({**aside, BY: self._reader}, {"$pull": {BY: self._reader}})
        await self._collection.update_many({**aside, BY: []}, {"$unset": {AT: "", REASON: "", BY: ""}})

    @property
    def readable(self) -> Document:
        """The condition that leaves them out of a query."""
        return {BY: {"$ne": self._reader}}

    async def read(self, document: Document, parse: Callable[[Document], T]) -> T | None:
        """The parsed document; None if it can't be read, and was set aside."""
        try:
            return parse(document)
        except Exception as error:  # whatever another version wrote must not end a walk
            await self._note(document["_id"], f"{type(error).__name__}: {error}"[:REASON_LIMIT])
            return None

    async def readable_of(self, found: AsyncIterator[Document], parse: Callable[[Document], T]) -> AsyncIterator[T]:
        async for document in found:
            if (parsed := await self.read(document, parse)) is not None:
                yield parsed

    async def _note(self, document_id: object, reason: str) -> None:
        """Logged and counted once."""
        noted = await self._collection.update_one(
            {"_id": document_id, **self.readable},
            [{"$set": {AT: "$$NOW", REASON: {"$literal": reason}, BY: _with(self._reader)}}],
        )
        if noted.modified_count:
            store = self._collection.name
            metrics.UNREADABLE.labels(self._service, store).inc()
            logger(service=self._service).warning("document set aside", store=store, id=document_id, reason=reason)


def _with(reader: str) -> Document:
    return {"$setUnion": [{"$ifNull": [f"${BY}", []]}, [reader]]}
